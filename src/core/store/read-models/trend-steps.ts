// Updates figures over time, as steps of a transaction: adds up chunks that are not yet counted, and adds the sums to the stored figures.
//
// A row is written with each chunk, in its transaction, and deleted in the one that writes the sums: so each counts exactly once, whatever ends between.
// Most chunks are added up in memory meanwhile (`gathered-figures.ts`). The runs of others are read: those of an earlier process, those of replicas, and
// those of later attempts and of large pipelines.
import { addCosts, costValues, pruneCosts } from './costs-sql.ts'
import { chunksOf } from '../../../model/run-chunks.ts'
import { cut } from '../sql/cut.ts'
import { day, hour, hoursStoredFor } from '../ports/trends.ts'
import { each, forRows, type Steps, type Within, type StepValue } from '../sql/steps.ts'
import { EarlierFailures } from './earlier-failures.ts'
import {
  knownSections,
  pruneSections,
  sectionDayKey,
  sectionsForgottenBefore,
  sectionValues,
  writeSections,
} from './section-figures-sql.ts'
import { number, record, type Row } from '../sql/columns.ts'
import { readPages } from '../sql/job-pages.ts'
import { storedChunk } from '../sql/stored-json.ts'
import type { DamagedRows } from '../sql/damaged-rows.ts'
import { storedRun } from '../sql/run-rows.ts'
import { TrendSums, plus, type PipelineNames, type Addition } from './trend-sums.ts'
import { figuresOf } from './trend-reads.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { Gathered } from './gathered-figures.ts'

// The SQL that updates figures over time (`trend-steps.ts`). `trend-reads.ts` reads them.

/**
 * Hourly rows and rows of costs in memory before they are written; at most as many daily rows are written with them. A row takes some
 * 800 bytes in memory and 8 µs to write, so a few thousand block the event loop for some tens of milliseconds. With 1,000, a load of 40
 * projects whose jobs have 1,300 names was written twenty times as often, for half of the main thread's time. One chunk may add more:
 * each job of a pipeline of 40,000 may be another row.
 */
const rowsInMemory = 4_000

const keyTypes = ['bigint', 'bigint', 'text', 'bigint', 'text', 'text', 'text', 'text'] as const
const key = 'step, project_id, job, bucket, instance, branch, source, pipeline_name'

/** Its rows are a number, and a key (`rowKey`). */
const knownTrends = forRows(
  ['bigint', ...keyTypes],
  ({ rows }) => `
  WITH k (nth, ${key}) AS (${rows})
  SELECT k.nth, t.runs, t.failed, t.flaky, t.total_ms, t.durations, t.queues FROM k JOIN trends t USING (${key})`,
)

/** Writes rows (`rowValues`) in the place of those with their keys. */
const writeTrends = forRows(
  [...keyTypes, ...(['text', 'bigint', 'bigint', 'bigint', 'bigint', 'json', 'json'] as const)],
  ({ rows }) => `
  INSERT INTO trends (${key}, project, runs, failed, flaky, total_ms, durations, queues) ${rows}
  ON CONFLICT (${key}) DO UPDATE SET
    project = excluded.project, runs = excluded.runs, failed = excluded.failed, flaky = excluded.flaky,
    total_ms = excluded.total_ms, durations = excluded.durations, queues = excluded.queues`,
)

function rowKey({ step, row }: Addition): StepValue[] {
  const { projectId, job, bucket, instance, branch, source, pipelineName } = row
  return [step, projectId, job, bucket, instance, branch, source, pipelineName]
}

/** The values of `writeTrends`. */
function rowValues(addition: Addition, before: Row | undefined, damaged: DamagedRows): StepValue[] {
  const { row, step } = addition
  const { projectId, job, bucket } = row
  // Damaged figures begin anew.
  const known = damaged.row('trends', before, figuresOf, { step, project_id: projectId, job, bucket })
  const sum = known === undefined ? row : plus(known, row)
  return [
    ...rowKey(addition),
    row.project,
    sum.runs,
    sum.failed,
    sum.flaky,
    sum.totalMs,
    sum.durations.json(),
    sum.queues.json(),
  ]
}

/** Its rows are a run, an attempt and the number of a chunk that is to be counted, its project, and the memory that counts it. */
export const insertUncounted = forRows(
  ['bigint', 'int', 'int', 'bigint', 'bigint'],
  ({ rows }) => `INSERT INTO uncounted_chunks (run_id, attempt, number, project_id, kept_by) ${rows}`,
)

/** Replicas count past each other. Pipelines of one project share their rows. */
const selectUncounted = (skipLocked: string): string => `
  SELECT run_id, attempt, number FROM uncounted_chunks WHERE kept_by < ?1 OR kept_by > ?1
  ORDER BY project_id, run_id, attempt, number LIMIT ?2 ${skipLocked}`

/** One, if there is any that is not in this memory. */
export const selectSomeUncounted = 'SELECT 1 AS some FROM uncounted_chunks WHERE kept_by < ?1 OR kept_by > ?1 LIMIT 1'

const deleteGathered = forRows(
  ['bigint', 'bigint'],
  ({ among }) => `DELETE FROM uncounted_chunks WHERE ${among('kept_by', 'project_id')} RETURNING project_id`,
)

const deleteUncounted = forRows(
  ['bigint', 'int', 'int'],
  ({ among }) => `DELETE FROM uncounted_chunks WHERE ${among('run_id', 'attempt', 'number')}`,
)

const selectInsides = forRows(
  ['bigint', 'int', 'int'],
  ({ among }) => `SELECT id, content FROM chunks WHERE ${among('run_id', 'attempt', 'number')}`,
)

const placeOf = record({ run: number('run_id'), attempt: number('attempt'), number: number('number') })

/**
 * Adds at most `limit` chunks that are in no memory to the stored figures, at least one if there is one; returns how many. A damaged run or inside is
 * skipped, because it would be found again for ever. `mark`: of this process's memory.
 */
export function* takeUncounted(limit: number, mark: number, names: PipelineNames, within: Within): Steps<number> {
  const found = (yield [selectUncounted(within.isShared ? 'FOR UPDATE SKIP LOCKED' : ''), [mark, limit]]).map(placeOf)
  const sums = new TrendSums(names)
  let count = 0
  for (const [id, places] of Map.groupBy(found, ({ run }) => run)) {
    if (count > 0 && sums.size >= rowsInMemory) break
    const done = yield* addRun(sums, id, places, within)
    yield each(
      deleteUncounted,
      done.map(({ run, attempt, number }) => [run, attempt, number]),
    )
    count += done.length
  }
  if (count > 0) yield* writeSums(sums, within.damaged)
  return count
}

/** Adds what this memory has gathered to the stored figures. Throws a NotGathered if a row is gone, as when a run was pruned. */
export function* storeGathered(gathered: readonly Gathered[], mark: number, { damaged }: Within): Steps<void> {
  const rows = yield each(
    deleteGathered,
    gathered.map(({ projectId }) => [mark, projectId]),
  )
  if (rows.length !== gathered.reduce((sum, { chunks }) => sum + chunks, 0)) throw new NotGathered()
  for (const { sums } of gathered) yield* writeSums(sums, damaged)
}

/** What is in memory are not the sums of the chunks that are to be counted. */
export class NotGathered extends Error {}

/** They are counted from their runs. */
export function* giveUpGathered(gathered: readonly Gathered[], mark: number): Steps<void> {
  for (const { projectId } of gathered)
    yield ['UPDATE uncounted_chunks SET kept_by = 0 WHERE kept_by = ?1 AND project_id = ?2', [mark, projectId]]
}

type Place = ReturnType<typeof placeOf>

/** Adds these chunks of a run, or as many as the memory is for; returns those. */
function* addRun(sums: TrendSums, id: number, places: readonly Place[], within: Within): Steps<readonly Place[]> {
  const { damaged } = within
  const chunks = yield* readChunks(id, damaged)
  const left = new Map(places.map(place => [nameOf(place), place]))
  const done: Place[] = []
  const failures = new EarlierFailures()
  for (const chunk of chunks) {
    failures.add(chunk)
    const place = left.get(nameOf(chunk))
    if (place === undefined) continue
    if (done.length > 0 && sums.size >= rowsInMemory) return done
    sums.add(chunk, failures.upTo(chunk.attempt))
    left.delete(nameOf(chunk))
    done.push(place)
  }
  // What is left was read inside of jobs.
  const insides = yield each(
    selectInsides,
    [...left.values()].map(place => [id, place.attempt, place.number]),
  )
  for (const chunk of damaged.rows('chunks', insides, ({ content }) => storedChunk(content))) sums.sections.add(chunk)
  return places
}

function* readChunks(id: number, damaged: DamagedRows): Steps<readonly Chunk[]> {
  const [row] = yield ['SELECT * FROM runs WHERE id = ?1', [id]]
  if (row === undefined) return []
  const pages = yield* readPages([{ row, jobs: 'all' }])
  const stored = storedRun(damaged, row, pages.get(id) ?? [])
  return stored === undefined ? [] : chunksOf(stored.run)
}

function nameOf({ attempt, number }: Pick<Place, 'attempt' | 'number'>): string {
  return `${attempt} ${number}`
}

/** Rows that one statement reads or writes. */
const rowsAtOnce = 1_000

function* writeSums(sums: TrendSums, damaged: DamagedRows): Steps<void> {
  for (const some of cut(sums.additions(), () => 1, rowsAtOnce)) {
    const known = yield each(
      knownTrends,
      some.map((one, at) => [at, ...rowKey(one)]),
    )
    const before = new Map(known.map(row => [nth(row), row]))
    yield each(
      writeTrends,
      some.map((one, at) => rowValues(one, before.get(at), damaged)),
    )
  }
  for (const some of cut(sums.costs.rows(), () => 1, rowsAtOnce)) yield each(addCosts, some.map(costValues))
  const days = [...sums.sections.days()]
  const sections = Map.groupBy(
    yield each(
      knownSections,
      days.map((one, at) => [at, ...sectionDayKey(one)]),
    ),
    nth,
  )
  yield each(
    writeSections,
    days.flatMap((one, at) => sectionValues(one, sections.get(at) ?? [], damaged)),
  )
}

/** Returns how many rows were deleted. `keep`: how long daily rows are stored, ms. */
export function* pruneFigures(keep: number, { now }: Within): Steps<number> {
  let gone = (yield [pruneCosts, [now - keep]]).length
  gone += (yield [pruneSections, [sectionsForgottenBefore(now, keep)]]).length
  for (const [step, stored] of [
    [hour, Math.min(hoursStoredFor, keep)],
    [day, keep],
  ] as const)
    gone += (yield ['DELETE FROM trends WHERE step = ?1 AND bucket < ?2 RETURNING 1', [step, now - stored]]).length
  return gone
}

const nth = number('nth')
