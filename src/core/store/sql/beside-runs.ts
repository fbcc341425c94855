// The last steps of a transaction of runs: writes the events that came with them, what features report, and what snapshots add to totals.
import { addTotals } from './totals.ts'
import { byReporter } from '../ports/reporter.ts'
import type { Reports, SeenOwner, Beside } from '../ports/runs.ts'
import { lockNames, type Steps, type Within } from './steps.ts'
import { nameOfJob, writeEvent } from './events.ts'
import { writeOwners } from './owners.ts'
import type { ProjectIncrements } from '../../../model/totals.ts'

/** After everything that locks rows of runs. */
export function* writeBeside(
  { events = [], reports = [] }: Beside,
  totals: readonly ProjectIncrements[],
  owners: readonly SeenOwner[],
  within: Within,
): Steps<void> {
  const grouped = byReporter(reports)
  const names = [
    ...events.map(({ event }) => event.object),
    ...events.flatMap(({ chunk, waits }) => (waits === undefined ? [] : [nameOfJob(chunk.key.instance, waits.jobId)])),
    ...grouped.flatMap(([by, all]) => all.flatMap(one => by.locks?.(one) ?? [])),
  ]
  yield* lockNames(names, within)
  for (const event of events) yield* writeEvent(event, within)
  yield* writeReports(reports, totals, within)
  yield writeOwners([
    ...owners,
    ...events.map(({ chunk: { key, project, group, at } }) => ({ instance: key.instance, project, group, at })),
    ...grouped.flatMap(([by, all]) => all.flatMap(one => by.owner?.(one) ?? [])),
  ])
}

/** Totals before what is written last, such as conditions: whatever locks those locks nothing later. */
export function* writeReports(
  reports: readonly Reports[],
  totals: readonly ProjectIncrements[],
  within: Within,
): Steps<void> {
  let isAdded = false
  for (const [by, all] of byReporter(reports)) {
    if (by.order > orderOfTotals && !isAdded) {
      isAdded = true
      yield* addTotals(totals, within)
    }
    yield* by.write(all, within)
  }
  if (!isAdded) yield* addTotals(totals, within)
}

const orderOfTotals = 100
