// Writes runs, chunks and messages, as steps of a transaction. For each kind, one statement writes the rows of all runs.
import { Again, each, forRows, type Steps, type StepValue, type Within } from './steps.ts'
import { nameOf, runDocument } from './run-rows.ts'
import { keyOf } from './columns.ts'
import { number, type Row, plainText } from './columns.ts'
import { placeJobs, writePages, type Placed } from './job-pages.ts'
import { writeMessages } from './messages.ts'
import type { Job } from '../../../model/job.ts'
import type { PendingChunk, RunChange, StoredRun } from '../ports/runs.ts'

/** A run before and after its changes. */
export interface Written {
  /** The run's row as it was read. Undefined for a new run. */
  readonly row: Row | undefined
  readonly pages: readonly Row[]
  readonly before: StoredRun | undefined
  readonly after: StoredRun
  readonly changes: readonly RunChange[]
}

/** Returns the jobs that are new or have changed. */
export function changedJobs({ before, after }: Pick<Written, 'before' | 'after'>): Job[] {
  return [...after.run.jobs.values()].filter(job => before?.run.jobs.get(job.id) !== job)
}

const runColumns = [
  ...['project_id', 'status', 'name', 'project', 'document', 'jobs', 'attempts', 'first_seen_by'],
  ...['changed_at', 'ended_at', 'enriching_until', 'due_at'],
]
const runTypes = [
  ...(['bigint', 'text', 'text', 'text', 'bytea', 'int', 'int', 'text'] as const),
  ...(['bigint', 'bigint', 'bigint', 'bigint'] as const),
]

function runValues({ row, before, after }: Written, { inRow, count }: Placed): StepValue[] {
  const { run, timing, firstSeenBy } = after
  const { status, name } = run.pipeline?.record.facts ?? {}
  return [
    run.project.facts.id,
    status === undefined ? null : plainText(status),
    name === undefined ? null : plainText(name),
    JSON.stringify(run.project),
    row !== undefined && run === before?.run ? (row.document as Uint8Array) : runDocument(run, inRow),
    count,
    run.attempts.length,
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

/** Writes the rows of runs and their job pages. Returns the ids of the rows. */
export function* writeRuns(all: readonly Written[]): Steps<number[]> {
  const placed = all.map(one => {
    const known = one.before?.run.jobs ?? new Map<number, Job>()
    return { one, at: placeJobs(one.row, one.pages, known, changedJobs(one)) }
  })
  const fresh = placed.filter(({ one }) => one.row === undefined)
  const inserted = yield each(
    insertRuns,
    fresh.map(({ one, at }) => {
      const { instance, pipelineId } = one.after.run.key
      return [...runValues(one, at), instance, pipelineId]
    }),
  )
  // Another replica has just created one of these runs. Decide again, with that run's row locked.
  if (inserted.length < fresh.length) throw new Again()
  yield each(
    updateRuns,
    placed.flatMap(({ one, at }) => (one.row === undefined ? [] : [[...runValues(one, at), idOf(one.row)]])),
  )
  const byName = new Map(inserted.map(row => [nameOf(keyOf(row)), idOf(row)]))
  const ids = all.map(({ row, after }) => (row === undefined ? (byName.get(nameOf(after.run.key)) ?? 0) : idOf(row)))
  yield each(
    writePages,
    placed.flatMap(({ at }, index) => at.pages.map(page => [ids[index] ?? 0, ...page])),
  )
  return ids
}

/** Writes the chunks of snapshots with their messages, and the chunks with job internals (such as log sections). `run`: the id of the run's row. */
export function* writeChunks(
  chunks: readonly (PendingChunk & { readonly run: number })[],
  within: Within,
): Steps<void> {
  const { now } = within
  yield each(
    insertInsides,
    chunks.flatMap(({ run, chunk }) =>
      chunk.inside === undefined
        ? []
        : [[run, chunk.attempt, chunk.number, chunk.inside.job.id, now, JSON.stringify(chunk)]],
    ),
  )
  yield* writeMessages(
    chunks.map(({ chunk, to }) => ({ chunk, to, dueAt: now })),
    within,
  )
}

const insertInsides = forRows(
  ['bigint', 'int', 'int', 'bigint', 'bigint', 'json'],
  ({ rows }) => `INSERT INTO chunks (run_id, attempt, number, inside, snapshot_at, content) ${rows}`,
)
const idOf = number('id')
