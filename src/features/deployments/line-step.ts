// What deployments, changes and incidents take from the line: the deployments that a snapshot's jobs made, the change that a pipeline is about, and
// what events report of all three. Pure.
import { changeOfEvent, deploymentOfEvent, incidentOfEvent } from './model/event-reports.ts'
import { changeOfRun, type Change } from './model/change.ts'
import { changeReporter } from './sql/changes.ts'
import { deploymentReporter } from './sql/deployments.ts'
import { deploymentsOfChunk, isProduction as byTier } from './model/deployment.ts'
import { jobSpanOf } from './sql/stored-deployment.ts'
import { incidentReporter } from './sql/incidents.ts'
import { reportsBy, type LineStep } from '../../core/store/ports/reporter.ts'
import type { Reports } from '../../core/store/ports/runs.ts'
import type { Reported } from './countable.ts'
import type { Run } from '../../model/run.ts'

/** How long after its report something is counted, ms. */
export interface CountIn {
  readonly afterEvent: number
  readonly afterSnapshot: number
  /** A change's first pipeline; undefined: changes are not counted. */
  readonly change?: number | undefined
}

export function countedStep({ afterEvent, afterSnapshot, change }: CountIn, isProduction = byTier): LineStep {
  const one = <Of>(report: Of | undefined, countIn: number): Reported<Of>[] =>
    report === undefined ? [] : [{ report, countIn }]
  return {
    onObserved:
      change === undefined
        ? undefined
        : (run, known) => reportsBy(changeReporter, one(changeAfter(run, known), change)),
    onSnapshot: chunk =>
      reportsBy(
        deploymentReporter,
        deploymentsOfChunk(chunk).map(report => ({ report, countIn: afterSnapshot })),
      ),
    attributesOf: ({ kind, attributes }) => {
      const environment = attributes['deployment.environment.name']?.toString()
      if (kind !== 'deployment' || environment === undefined) return {}
      const tier = attributes['platform.deployment.environment.tier']?.toString()
      return { 'platform.deployment.environment.production': String(isProduction({ environment, tier })) }
    },
    jobOf: event => {
      const jobId = deploymentOfEvent(event, 0)?.jobId
      return jobId === undefined ? undefined : { jobId, spanOf: jobSpanOf }
    },
    onEvent: (event, receivedAt): Reports[] => [
      ...reportsBy(deploymentReporter, one(deploymentOfEvent(event, receivedAt), afterEvent)),
      ...reportsBy(changeReporter, one(changeOfEvent(event, receivedAt), afterEvent)),
      ...reportsBy(incidentReporter, one(incidentOfEvent(event, receivedAt), afterEvent)),
    ],
  }
}

/** Reports the change once, although most observations of a pipeline name it. */
function changeAfter(run: Run, known: Run | undefined): Change | undefined {
  if (run.pipeline === known?.pipeline && run.mergeRequestEvent === known?.mergeRequestEvent) return undefined
  const change = changeOfRun(run)
  const before = known && changeOfRun(known)
  if (change === undefined || before === undefined || before.iid !== change.iid) return change
  // REST does not know that a change comes from a fork, and then names the pipeline's own project as its target. So another target counts only if it is
  // not that project.
  const namesTarget = change.project.id !== before.project.id && change.project.id !== run.project.facts.id
  const isSame = change.pipeline?.createdAt === before.pipeline?.createdAt && change.trainAt === before.trainAt
  return namesTarget || !isSame ? change : undefined
}
