// Writes runs, their jobs, chunks and messages, as steps of a transaction: one statement for each kind of row of all runs.
import { Again, each, forRows, type Steps, type StepValue, type Within } from './steps.ts'
import { chunkText } from './chunk-text.ts'
import { insertJobReads, wishValues } from './job-reads.ts'
import { jobWrites, keyOf, restorableRange, type JobWrites } from './run-rows.ts'
import { number, record } from './columns.ts'
import { writeMessages } from './messages.ts'
import { plainText } from './plain-text.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Job } from '../../model/job.ts'
import type { RunChange, StoredRun } from '../ports/runs.ts'
import type { RunKey } from '../../model/observation.ts'

/** The change of one run. `id`: of its row; undefined if it is new. */
export interface Written {
  readonly id: number | undefined
  readonly known: StoredRun | undefined
  readonly change: RunChange
  readonly firstSeenBy: StoredRun['firstSeenBy']
}

/** A written chunk. `size`: length of its text. `takes`: how often it will be read: once, for the figures over time. */
export interface WrittenChunk {
  readonly id: number
  readonly chunk: Chunk
  readonly size: number
  readonly takes: number
}

const runColumns = [
  ...['project_id', 'status', 'name', 'project', 'pipeline', 'attempts', 'first_seen_by'],
  ...['changed_at', 'ended_at', 'enriching_until', 'due_at'],
]
const runTypes = [
  ...(['bigint', 'text', 'text', 'text', 'text', 'text', 'text'] as const),
  ...(['bigint', 'bigint', 'bigint', 'bigint'] as const),
]

function runValues({ change: { run, timing }, firstSeenBy }: Written): StepValue[] {
  const { status, name } = run.pipeline?.record.facts ?? {}
  return [
    run.project.facts.id,
    status === undefined ? null : plainText(status),
    name === undefined ? null : plainText(name),
    JSON.stringify({
      ...run.project,
      listedMergeRequest: run.listedMergeRequest,
      listed: run.listed,
      mergeRequestEvent: run.mergeRequestEvent,
    }),
    run.pipeline === undefined ? null : JSON.stringify(run.pipeline),
    JSON.stringify(run.attempts),
    JSON.stringify(firstSeenBy),
    ...[timing.changedAt, timing.endedAt ?? null, timing.enrichingUntil ?? null, timing.dueAt ?? null],
  ]
}

const insertRuns = forRows(
  [...runTypes, 'text', 'bigint'],
  ({ rows }) => `
  INSERT INTO runs (${runColumns.join(', ')}, instance, pipeline_id) ${rows}
  ON CONFLICT (instance, pipeline_id) DO NOTHING RETURNING id, instance, pipeline_id`,
)
const updateRuns = forRows(
  [...runTypes, 'bigint'],
  ({ rows }) => `
  WITH v (${runColumns.join(', ')}, id) AS (${rows})
  UPDATE runs SET ${runColumns.map(name => `${name} = v.${name}`).join(', ')} FROM v WHERE runs.id = v.id`,
  `UPDATE runs SET ${runColumns.map((name, at) => `${name} = ?${at + 1}`).join(', ')} WHERE id = ?${runColumns.length + 1}`,
)

/** Returns the ids of their rows. */
export function* writeRuns(changes: readonly Written[]): Steps<number[]> {
  const fresh = changes.filter(({ id }) => id === undefined)
  const inserted = yield each(
    insertRuns,
    fresh.map(one => [...runValues(one), one.change.run.key.instance, one.change.run.key.pipelineId]),
  )
  // Another replica has just created one of them: decide everything again, with its row locked.
  if (inserted.length < fresh.length) throw new Again()
  yield each(
    updateRuns,
    changes.flatMap(one => (one.id === undefined ? [] : [[...runValues(one), one.id]])),
  )
  const ids = new Map(inserted.map(row => [nameOf(keyOf(row)), idOf(row)]))
  return changes.map(({ id, change }) => id ?? ids.get(nameOf(change.run.key)) ?? 0)
}

export function nameOf(key: RunKey): string {
  return `${key.instance}\n${key.pipelineId}`
}

const insertJobs = forRows(
  ['bigint', 'bigint', 'json', 'json', 'json'],
  ({ rows }) => `
  INSERT INTO jobs (run_id, job_id, record, times, snapshot) ${rows}
  ON CONFLICT (run_id, job_id) DO UPDATE SET record = excluded.record, times = excluded.times, snapshot = excluded.snapshot`,
)
const setSnapshots = forRows(
  ['bigint', 'bigint', 'json'],
  ({ rows }) => `
  WITH v (run_id, job_id, snapshot) AS (${rows})
  UPDATE jobs SET snapshot = v.snapshot FROM v WHERE jobs.run_id = v.run_id AND jobs.job_id = v.job_id`,
)

/** Writes jobs, chunks with their messages, and the entries of the queue of job reads. Returns the chunks. `ids`: of the runs' rows. */
export function* writeJobsAndChunks(
  changes: readonly Written[],
  ids: readonly number[],
  within: Within,
): Steps<WrittenChunk[]> {
  const { now } = within
  const all = changes.map((one, at) => ({
    run: ids[at] ?? 0,
    change: one.change,
    jobs: jobWrites(one.change, one.known),
  }))
  yield each(
    insertJobs,
    all.flatMap(({ run, jobs }) => jobs.rows.map(job => jobValues(run, job))),
  )
  yield each(
    setSnapshots,
    all.flatMap(({ run, jobs }) => jobs.snapshots.map(({ id, snapshot }) => [run, id, jsonOf(snapshot)])),
  )
  const pending = all.flatMap(({ run, change, jobs }) =>
    (change.pending ?? []).map(one => ({ ...one, run, jobs, content: chunkText(one.chunk) })),
  )
  const rows = yield each(
    insertChunks,
    pending.map(({ run, chunk, jobs, content }) => chunkValues(run, chunk, jobs, now, content)),
  )
  const idByPlace = new Map(rows.map(row => [nameOfPlace(placeOf(row)), idOf(row)]))
  const written = pending.map(({ run, chunk, content, to, reads = [] }) => {
    const id = idByPlace.get(nameOfPlace({ run, attempt: chunk.attempt, number: chunk.number })) ?? 0
    return { id, chunk, size: content.length, takes: 1, to, reads }
  })
  yield* writeMessages(
    written.map(({ chunk, to }) => ({ chunk, to, dueAt: now })),
    within,
  )
  yield each(
    insertJobReads,
    written.flatMap(({ id, reads }) => reads.map(wish => wishValues(id, wish, now))),
  )
  return written.map(({ id, chunk, size, takes }) => ({ id, chunk, size, takes }))
}

function jobValues(run: number, { id, record, times, snapshot }: Job): StepValue[] {
  return [run, id, JSON.stringify(record), JSON.stringify(times), jsonOf(snapshot)]
}

function jsonOf(snapshot: Job['snapshot']): string | null {
  return snapshot === undefined ? null : JSON.stringify(snapshot)
}

function chunkValues(run: number, chunk: Chunk, { inChunks }: JobWrites, now: number, content: string): StepValue[] {
  const [first, last] = restorableRange(chunk, inChunks) ?? [null, null]
  return [run, chunk.attempt, chunk.number, first, last, chunk.inside?.job.id ?? null, now, content]
}

const insertChunks = forRows(
  ['bigint', 'int', 'int', 'bigint', 'bigint', 'bigint', 'bigint', 'json'],
  ({ rows }) => `
  INSERT INTO chunks (run_id, attempt, number, first_job, last_job, inside, snapshot_at, content) ${rows}
  RETURNING id, run_id, attempt, number`,
)
const idOf = number('id')
const placeOf = record({ run: number('run_id'), attempt: number('attempt'), number: number('number') })

function nameOfPlace({ run, attempt, number: chunk }: ReturnType<typeof placeOf>): string {
  return `${run} ${attempt} ${chunk}`
}
