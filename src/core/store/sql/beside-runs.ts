// The last steps of a transaction of runs: writes what deliveries report besides runs, and what snapshots add.
import { changeTable } from './changes.ts'
import { incidentTable } from './incidents.ts'
import { lockNames, type Steps, type Within } from './steps.ts'
import { writeConditions } from './conditions.ts'
import { addTotals } from './totals.ts'
import { nameOf, writeReported } from './counted.ts'
import { namesOfDeployment, nameOfJob, writeDeployments } from './deployments.ts'
import { writeEvent } from './events.ts'
import { ownerOfReport, writeOwners, type SeenOwner } from './owners.ts'
import type { Reports, RunChange } from '../ports/runs.ts'

export type BesideRuns = Required<
  Pick<{ [Key in keyof RunChange]-?: NonNullable<RunChange[Key]> }, 'deployments' | 'changes' | 'totals' | 'conditions'>
>

/** After everything that locks rows of runs. */
export function* writeBeside(
  reports: Reports | undefined,
  { deployments, changes, totals, conditions }: BesideRuns,
  owners: readonly SeenOwner[],
  within: Within,
): Steps<void> {
  const { events = [], incidents = [] } = reports ?? {}
  const names = [
    ...events.map(({ event }) => event.object),
    ...events.flatMap(({ chunk, waits }) => (waits === undefined ? [] : [nameOfJob(chunk.key.instance, waits.jobId)])),
    ...deployments.flatMap(({ report }) => namesOfDeployment(report)),
    ...changes.map(({ report }) => nameOf(changeTable, report)),
    ...incidents.map(({ report }) => nameOf(incidentTable, report)),
  ]
  yield* lockNames(names, within)
  for (const event of events) yield* writeEvent(event, within)
  yield* writeDeployments(deployments, within)
  yield* writeReported(changeTable, changes, within)
  yield* writeReported(incidentTable, incidents, within)
  yield* addTotals(totals, within)
  yield* writeConditions(conditions, within)
  yield writeOwners([
    ...owners,
    ...events.map(({ chunk: { key, project, group, at } }) => ({ instance: key.instance, project, group, at })),
    ...[...deployments, ...changes, ...incidents].map(({ report }) => ownerOfReport(report)),
  ])
}
