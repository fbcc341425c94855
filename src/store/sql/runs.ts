// Changes runs, as steps of a transaction: loads them under a lock, decides their changes, and writes these.
import { addLateReads } from './late-reads.ts'
import { changesListing, insertListings, listingOf } from '../read-models/listing.ts'
import { each, forRows, type Steps, type StepValue, type Within } from './steps.ts'
import { enrichmentChange, writeTriggers } from './enrichment-queue.ts'
import { keyOf, storedRun } from './run-rows.ts'
import { loadJobs, type Recall } from './run-jobs.ts'
import { nameOf, writeJobsAndChunks, writeRuns, type Written, type WrittenChunk } from './run-writes.ts'
import { number, type Row } from './columns.ts'
import { ownerOfRun, type SeenOwner } from './owners.ts'
import { readValues, removeJobRead } from './job-reads.ts'
import { revive } from '../../model/tombstone.ts'
import { slicesOf } from './slices.ts'
import { takeTombstones, tombstoneOf } from './tombstone-text.ts'
import { withDeploymentIds } from './deployments.ts'
import { writeBeside, type BesideRuns } from './beside-runs.ts'
import type { Reports, RunWork } from '../ports/runs.ts'
import type { Run } from '../../model/run.ts'
import type { RunKey } from '../../model/observation.ts'
import type { WrittenEvent } from './waiting-events.ts'

/** What the only process of a store has in memory beside its rows. */
export interface RunMemory {
  readonly recall: Recall
  /** Within the transaction. */
  readonly wrote: (chunks: readonly (WrittenChunk | WrittenEvent)[]) => void
  /** A row was changed. */
  readonly changed: (id: number) => void
}

type Writable = { [Key in keyof BesideRuns]: BesideRuns[Key][number][] }

/** What is written at the end of the transaction. */
interface Last {
  readonly beside: Writable
  readonly owners: SeenOwner[]
}

export function* changeRuns(
  work: readonly RunWork[],
  reports: Reports | undefined,
  memory: RunMemory | undefined,
  within: Within,
): Steps<void> {
  const { deployments = [], changes = [], conditions = [] } = reports ?? {}
  const beside: Writable = {
    ...{ deployments: [...deployments], changes: [...changes], totals: [] },
    conditions: [...conditions],
  }
  const owners: SeenOwner[] = []
  // What is in memory is a run at a time where nobody waits for round trips.
  for (const wave of within.isShared ? waves(work) : work.map(one => [one]))
    yield* changeWave(wave, { beside, owners }, memory, within)
  const events = yield* writeBeside(reports, beside, owners, within)
  memory?.wrote(events)
}

/** Each wave has a run at most once, so that work on one run is done in its order, and work on different runs together. */
function waves(work: readonly RunWork[]): RunWork[][] {
  const found: RunWork[][] = []
  const seen = new Map<string, number>()
  for (const item of work) {
    const name = nameOf(item.key)
    const wave = seen.get(name) ?? 0
    seen.set(name, wave + 1)
    ;(found[wave] ??= []).push(item)
  }
  return found
}

function* changeWave(work: readonly RunWork[], last: Last, memory: RunMemory | undefined, within: Within): Steps<void> {
  const keys = work.map(({ key }) => key)
  const locked = yield each(selectRuns, keys.map(valuesOf))
  const byKey = new Map([...locked, ...(yield* reviveRuns(keys, locked, within))].map(row => [nameOf(keyOf(row)), row]))
  // Under the run's lock, like everything else.
  const left: RunWork[] = []
  for (const item of work) {
    const { read } = item
    if (read === undefined || (yield [`${removeJobRead} RETURNING 1`, readValues(read)]).length > 0) left.push(item)
  }
  const whole = ({ key, jobs }: RunWork): number | undefined => {
    const row = jobs === 'all' ? byKey.get(nameOf(key)) : undefined
    return row && idOf(row)
  }
  for (const slice of yield* slicesOf(left, whole)) yield* changeSlice(slice, byKey, last, memory, within)
}

// All replicas lock in the same order, so that there is no deadlock.
const selectRuns = forRows(
  ['text', 'bigint'],
  ({ among, forUpdate }) =>
    `SELECT * FROM runs WHERE ${among('instance', 'pipeline_id')} ORDER BY instance, pipeline_id ${forUpdate}`,
)
const idOf = number('id')

function valuesOf({ instance, pipelineId }: RunKey): [string, number] {
  return [instance, pipelineId]
}

/** Pruned runs that are observed again continue from their tombstones. */
function* reviveRuns(keys: readonly RunKey[], rows: readonly Row[], within: Within): Steps<readonly Row[]> {
  const known = new Set(rows.map(row => nameOf(keyOf(row))))
  const unknown = keys.filter(key => !known.has(nameOf(key)))
  const tombstones = (yield each(takeTombstones, unknown.map(valuesOf))).map(tombstoneOf)
  if (tombstones.length === 0) return []
  const changes = tombstones.map((tombstone): Written => {
    const run = revive(tombstone)
    const change = { run, jobs: [...run.jobs.values()], timing: { changedAt: tombstone.prunedAt } }
    return { id: undefined, known: undefined, change, firstSeenBy: {} }
  })
  yield* writeJobsAndChunks(changes, yield* writeRuns(changes), within)
  return yield each(
    selectRuns,
    tombstones.map(({ key }) => valuesOf(key)),
  )
}

/** Decides and writes the changes of some runs. */
function* changeSlice(
  work: readonly RunWork[],
  byKey: ReadonlyMap<string, Row>,
  { beside, owners }: Last,
  memory: RunMemory | undefined,
  within: Within,
): Steps<void> {
  const { now, damaged } = within
  const rows = work.map(({ key }) => byKey.get(nameOf(key)))
  const loaded = yield* loadJobs(
    work.flatMap(({ jobs }, at) => (rows[at] === undefined ? [] : [{ run: rows[at], jobs }])),
    memory?.recall,
  )
  const written: Written[] = []
  for (const [at, { source, decide }] of work.entries()) {
    const row = rows[at]
    const known = row && storedRun(row, loaded.jobs(row))
    const change = decide(known, now)
    const id = row && idOf(row)
    const firstSeenBy = { ...(source === undefined ? {} : { [source]: now }), ...known?.firstSeenBy }
    if (change !== undefined) {
      if (id !== undefined) memory?.changed(id)
      written.push({ id, known, change: yield* withDeploymentIds(change, beside.deployments), firstSeenBy })
    } else if (known !== undefined && source !== undefined && known.firstSeenBy[source] === undefined) {
      written.push({ id, known, change: { run: known.run, jobs: [], timing: known.timing }, firstSeenBy })
    }
  }
  const ids = yield* writeRuns(written)
  const changes = written.map(({ known, change }, at) => ({ id: ids[at] ?? 0, known, change }))
  const listed = changes.filter(({ known, change: { run } }) => changesListing(known?.run, run))
  yield each(
    insertListings,
    listed.flatMap(({ id, change }) => listingRow(id, change.run, now)),
  )
  for (const { known, change } of written) {
    const { run } = change
    if (known === undefined || known.run.project.facts.path !== run.project.facts.path) owners.push(ownerOfRun(run))
  }
  const chunks = yield* writeJobsAndChunks(written, ids, within)
  memory?.wrote(chunks)
  for (const { id, change } of changes) yield* addLateReads(id, change.lateReads ?? [], now, damaged)
  yield writeTriggers(
    changes.flatMap(({ id, change: { run, jobs } }) =>
      jobs.map(job => ({ runId: id, instance: run.key.instance, job })),
    ),
  )
  for (const { id, change } of changes)
    if (change.enrichment !== undefined) yield enrichmentChange(id, change.enrichment)
  for (const { change } of changes) {
    beside.deployments.push(...(change.deployments ?? []))
    beside.changes.push(...(change.changes ?? []))
    beside.totals.push(...(change.totals ?? []))
    beside.conditions.push(...(change.conditions ?? []))
  }
}

function listingRow(id: number, run: Run, now: number): StepValue[][] {
  const listing = listingOf(run, now)
  return listing === undefined ? [] : [[id, ...listing]]
}
