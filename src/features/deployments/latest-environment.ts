// The newest deployment of an environment as the metrics of gcpe show it.
import { seconds, type GcpeEnvironment } from '../../core/telemetry/mapping/gcpe.ts'
import type { LatestRun } from '../../core/send/latest-run.ts'
import type { ShownDeployment } from './ports/deployments.ts'

/** How many commits `to` has that `from` has not; undefined if that is not known (yet). */
export type CountBehind = (of: {
  readonly instance: string
  /** The full path of the project, if it is known. */
  readonly path?: string | undefined
  readonly projectId: number
  readonly from: string
  readonly to: string
}) => number | undefined

/** `runOf`: the newest run of a branch or tag. The newest commit that is known is the one of that run. */
export function environmentOf(
  { deployment, view, at }: ShownDeployment,
  deployments: number,
  runOf: (ref: string) => LatestRun | undefined,
  countBehind: CountBehind | undefined,
): GcpeEnvironment {
  const { environment = '', ref = '', revision = '', user = '', status, startedAt, finishedAt } = view
  const { instance, project, jobId = 0 } = deployment
  const run = runOf(ref)
  const beganAt = startedAt ?? at
  return {
    ...{ project: project.path ?? project.name ?? '', environment, ref, user, status, jobId, deployments },
    kind: run?.pipeline.kind ?? 'branch',
    revision,
    latestRevision: run?.revision ?? '',
    beganAt: seconds(beganAt),
    duration: startedAt === undefined || finishedAt === undefined ? 0 : Math.max(0, finishedAt - startedAt) / 1_000,
    ...behind(),
  }

  function behind(): Pick<GcpeEnvironment, 'behindCommits' | 'behindSeconds'> {
    if (run === undefined || run.revision === '' || revision === '') return {}
    const isNewest = run.revision.startsWith(revision) || revision.startsWith(run.revision)
    if (isNewest) return { behindCommits: 0, behindSeconds: 0 }
    return {
      behindCommits: countBehind?.({
        instance,
        path: project.path,
        projectId: project.id,
        from: revision,
        to: run.revision,
      }),
      behindSeconds: run.committedAt && Math.max(0, seconds(run.committedAt) - seconds(beganAt)),
    }
  }
}
