// Adds the newest deployment of each environment to a scrape.
import { createNewest, ownerOf } from './newest.ts'
import { gcpeEnvironmentMetrics, seconds, type GcpeEnvironment } from './table.ts'
import { latestDeployments, type ListedDeployment } from './sql/latest.ts'
import type { CountBehind } from './behind-counts.ts'
import type { GcpeFamilies } from './families.ts'
import type { LatestRun } from './latest-run.ts'
import type { NewestPipelines } from './pipelines.ts'
import type { ScrapeView } from '../../daemon/feature.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'
import type { ShownDeployment } from '../deployments/port.ts'

const rowsPerRead = 200

/**
 * Returns a function that adds the newest deployments to a scrape. Without `countBehind`, the number of commits behind is known only for environments
 * that are up to date (0).
 */
export function createNewestDeployments(
  store: Pick<SharedStore, 'on'>,
  { scope }: Pick<ScrapeView, 'scope'>,
  runOf: NewestPipelines['runOf'],
  countBehind: CountBehind | undefined,
): (families: GcpeFamilies) => Promise<void> {
  const latest = store.on(latestDeployments)
  const deployments = createNewest<ListedDeployment>({
    read: async (after, limit) => latest.after(after, limit),
    keysOf: ({ environment, ...row }) =>
      environment === undefined ? undefined : { owner: ownerOf(row), name: environment, counted: '' },
    rankOf: ({ at }) => at,
  })
  return async families => {
    await deployments.refresh()
    for (const [owner, rows] of deployments.all()) {
      for (let at = 0; at < rows.length; at += rowsPerRead) {
        const some = new Map(rows.slice(at, at + rowsPerRead).map(one => [one.row.id, one]))
        const found = await latest.byId([...some.keys()])
        for (const { name, row } of some.values())
          if (!found.some(({ id }) => id === row.id)) deployments.forget(owner, name)
        for (const one of found) {
          const counted = some.get(one.id)?.counts.get('') ?? 0
          const environment = environmentOf(one, counted, runOf(owner, one.view.ref ?? ''), countBehind)
          if (scope.sees({ instance: one.deployment.instance, path: environment.project }))
            families.add(gcpeEnvironmentMetrics, environment)
        }
      }
    }
  }
}

/** `run` is the newest run of the deployment's ref; its commit is the ref's newest known commit. */
function environmentOf(
  { deployment, view, at }: ShownDeployment,
  deployments: number,
  run: LatestRun | undefined,
  countBehind: CountBehind | undefined,
): GcpeEnvironment {
  const { environment = '', ref = '', revision = '', user = '', status, startedAt, finishedAt } = view
  const { instance, project, jobId = 0 } = deployment
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
