// Changes runs, as steps of a transaction: loads the runs under a lock, decides on their changes, and writes them.
//
// All runs of the transaction are locked at once, in the order of their keys, so that replicas do not deadlock. Then all decisions about a run are
// made one after another, and the run is written once.
import { changedJobs, writeChunks, writeRuns, type Written } from './run-writes.ts'
import { changesListing, insertListings, listingOf } from '../read-models/listing.ts'
import { cut, jobCount, maxJobsAtOnce, readPages } from './job-pages.ts'
import { damagedRun, nameOf, storedRun } from './run-rows.ts'
import { each, forRows, type Steps, type StepValue, type Within, lockNames } from './steps.ts'
import { enrichmentChange, writeTriggers } from '../ports/enrichment-queue.ts'
import { number, type Row, keyOf } from './columns.ts'
import { ownerOfRun, writeOwners } from './owners.ts'
import { revivedRun, takeTombstones } from './tombstone-text.ts'
import { byReporter } from '../ports/reporter.ts'
import type { Reports, SeenOwner, Beside, RunChange, RunWork, StoredRun } from '../ports/runs.ts'
import type { ProjectIncrements } from '../../../model/totals.ts'
import type { Run } from '../../../model/run.ts'
import type { RunKey } from '../../../model/observation.ts'
import { addTotals } from '../ports/totals.ts'
import { nameOfJob, writeEvent } from './events.ts'

/** Called with the id of a run whose row was changed. Used on SQLite, where the only process keeps the leases in memory. */
export type OnChanged = (id: number) => void

/** The rows that are written at the end of the transaction. */
interface Last {
  readonly reports: Reports[]
  readonly totals: ProjectIncrements[]
  readonly owners: SeenOwner[]
}

export function* changeRuns(
  work: readonly RunWork[],
  { events, reports = [] }: Beside,
  changed: OnChanged | undefined,
  within: Within,
): Steps<void> {
  const last: Last = { reports: [...reports], totals: [], owners: [] }
  const rows = yield* lockRuns(
    work.map(({ key }) => key),
    within,
  )
  const left: RunWork[] = []
  for (const item of work) {
    if (item.claim === undefined || (yield item.claim).length > 0) left.push(item)
  }
  const ofRuns = [...Map.groupBy(left, ({ key }) => nameOf(key)).values()].map(works => ({
    works,
    row: works[0] && rows.get(nameOf(works[0].key)),
  }))
  // On SQLite only one run at a time is in memory. On PostgreSQL, where each statement is a round trip, several runs are changed at once.
  const atOnce = within.isShared ? maxJobsAtOnce : 0
  for (const slice of cut(ofRuns, ({ row }) => (row === undefined ? 1 : jobCount(row)), atOnce))
    yield* changeSlice(slice, last, changed, within)
  yield* writeBeside({ events, reports: last.reports }, last.totals, last.owners, within)
}

/** Locks runs and returns their rows by the names of their keys. If a pruned run is observed again, it is restored from its tombstone. */
function* lockRuns(keys: readonly RunKey[], within: Within): Steps<Map<string, Row>> {
  const values = new Map(keys.map(key => [nameOf(key), [key.instance, key.pipelineId]]))
  const locked = yield each(selectRuns, [...values.values()])
  const rows = new Map(locked.map(row => [nameOf(keyOf(row)), row]))
  const unknown = [...values].flatMap(([name, value]) => (rows.has(name) ? [] : [value]))
  const tombstones = yield each(takeTombstones, unknown)
  if (tombstones.length === 0) return rows
  yield* writeRuns(
    tombstones.map(tombstone => {
      const after = revivedRun(within.damaged, tombstone)
      if (after === undefined) throw damagedRun(keyOf(tombstone))
      return { row: undefined, pages: [], before: undefined, after, changes: [] }
    }),
  )
  const revived = yield each(
    selectRuns,
    tombstones.map(row => [keyOf(row).instance, keyOf(row).pipelineId]),
  )
  for (const row of revived) rows.set(nameOf(keyOf(row)), row)
  return rows
}

const selectRuns = forRows(
  ['text', 'bigint'],
  ({ among, forUpdate }) =>
    `SELECT * FROM runs WHERE ${among('instance', 'pipeline_id')} ORDER BY instance, pipeline_id ${forUpdate}`,
)

/** A run's row, and all work on the run, in order. */
interface WorkOnRun {
  readonly works: readonly RunWork[]
  readonly row: Row | undefined
}

/** Decides on and writes the changes to a slice of the runs. */
function* changeSlice(
  slice: readonly WorkOnRun[],
  last: Last,
  changed: OnChanged | undefined,
  within: Within,
): Steps<void> {
  const { now, damaged } = within
  const pages = yield* readPages(
    slice.flatMap(({ works, row }) => (row === undefined ? [] : [{ row, jobs: jobsOf(works) }])),
  )
  const written: Written[] = []
  for (const { works, row } of slice) {
    const own = (row && pages.get(idOf(row))) ?? []
    const before = storedRun(damaged, row, own)
    if (row !== undefined && before === undefined) throw damagedRun(keyOf(row))
    const { after, changes } = yield* decideAll(works, before, last.reports, now)
    if (after === undefined || after === before) continue
    if (row !== undefined && changes.length > 0) changed?.(idOf(row))
    written.push({ row, pages: own, before, after, changes })
  }
  const ids = yield* writeRuns(written)
  const all = written.map((one, at) => ({ ...one, id: ids[at] ?? 0 }))
  yield each(
    insertListings,
    all.flatMap(({ id, before, after }) =>
      changesListing(before?.run, after.run) ? listingRow(id, after.run, now) : [],
    ),
  )
  for (const { before, after } of all)
    if (before?.run.project.facts.path !== after.run.project.facts.path || before === undefined)
      last.owners.push(ownerOfRun(after.run))
  const changes = all.flatMap(({ id, changes: its }) => its.map(change => ({ id, change })))
  const chunks = changes.flatMap(({ id, change }) => (change.pending ?? []).map(one => ({ ...one, run: id })))
  yield* writeChunks(chunks, within)
  yield writeTriggers(
    all.flatMap(one => changedJobs(one).map(job => ({ runId: one.id, instance: one.after.run.key.instance, job }))),
  )
  for (const { id, change } of changes)
    if (change.enrichment !== undefined) yield enrichmentChange(id, change.enrichment)
  for (const { change } of changes) {
    last.reports.push(...(change.reports ?? []))
    last.totals.push(...(change.totals ?? []))
  }
}

function jobsOf(works: readonly RunWork[]): RunWork['jobs'] {
  const some: number[] = []
  for (const { jobs } of works) {
    if (jobs === 'all') return 'all'
    some.push(...jobs)
  }
  return some
}

/** Makes all decisions about a run. Each decision receives the result of the previous one. */
function* decideAll(
  works: readonly RunWork[],
  before: StoredRun | undefined,
  earlier: readonly Reports[],
  now: number,
): Steps<{ readonly after: StoredRun | undefined; readonly changes: readonly RunChange[] }> {
  let after = before
  const changes: RunChange[] = []
  for (const { source, decide } of works) {
    const decided = decide(after, now)
    const firstSeenBy: StoredRun['firstSeenBy'] = {
      ...(source === undefined ? {} : { [source]: now }),
      ...after?.firstSeenBy,
    }
    if (decided !== undefined) {
      const change = yield* completed(decided, earlier)
      changes.push(change)
      after = { run: change.run, timing: change.timing, firstSeenBy }
    } else if (after !== undefined && source !== undefined && after.firstSeenBy[source] === undefined) {
      after = { ...after, firstSeenBy }
    }
  }
  return { after, changes }
}

/** Lets each reporter complete the change to a run, based on its own reports. */
function* completed(decided: RunChange, earlier: readonly Reports[]): Steps<RunChange> {
  let change = decided
  const before = new Map(byReporter(earlier))
  for (const [by, reports] of byReporter(decided.reports ?? []))
    if (by.complete !== undefined) change = yield* by.complete(change, reports, before.get(by) ?? [])
  return change
}

function listingRow(id: number, run: Run, now: number): StepValue[][] {
  const listing = listingOf(run, now)
  return listing === undefined ? [] : [[id, ...listing]]
}

const idOf = number('id')

// The last steps of a transaction that changes runs. They write the events that arrived with the runs, the reports of features, and the increments of
// totals.

/** Writes the last rows of a transaction. It must be called after all steps that lock rows of runs. */
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

/**
 * Writes the reports of features. Totals are written before the rows that must be written last, such as conditions: a transaction that has locked
 * those rows locks nothing else.
 */
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
