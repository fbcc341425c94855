// What a transaction writes of runs on PostgreSQL: each kind of row in one statement for all of them.
import { Again, type Session } from './database.ts'
import { jobWrites, keyOf, restorableRange, type JobWrites } from '../sql/run-rows.ts'
import { nameOf } from './run-rows.ts'
import { textList, textsOf } from './text-lists.ts'
import type { RunChange, StoredRun } from '../ports/runs.ts'

/** One run's change, and what of its jobs is to be written. */
export interface Written {
  readonly id: number | undefined
  readonly known: StoredRun | undefined
  readonly change: RunChange
  readonly firstSeenBy: StoredRun['firstSeenBy']
  readonly jobs: JobWrites
}

export function writtenOf(
  id: number | undefined,
  known: StoredRun | undefined,
  change: RunChange,
  firstSeenBy: StoredRun['firstSeenBy'],
): Written {
  return { id, known, change, firstSeenBy, jobs: jobWrites(change, known) }
}

/** Answers their ids. */
export async function writeRuns(session: Session, changes: readonly Written[]): Promise<number[]> {
  const columns = (some: readonly Written[]): unknown[] => [
    some.map(({ change }) => change.run.project.facts.id),
    some.map(({ change }) => plain(change.run.pipeline?.record.facts.status)),
    some.map(({ change }) => JSON.stringify(change.run.project)),
    some.map(({ change }) => (change.run.pipeline === undefined ? null : JSON.stringify(change.run.pipeline))),
    some.map(({ change }) => JSON.stringify(change.run.attempts)),
    some.map(({ firstSeenBy }) => JSON.stringify(firstSeenBy)),
    some.map(({ change }) => change.timing.changedAt),
    some.map(({ change }) => change.timing.endedAt ?? null),
    some.map(({ change }) => change.timing.enrichingUntil ?? null),
    some.map(({ change }) => change.timing.dueAt ?? null),
    some.map(({ change }) => plain(change.run.pipeline?.record.facts.name)),
  ]
  const arrays = `$1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[]`
  const names =
    'project_id, status, project, pipeline, attempts, first_seen_by, changed_at, ended_at, enriching_until, due_at, name'
  const fresh = changes.filter(({ id }) => id === undefined)
  const known = changes.filter(({ id }) => id !== undefined)
  const idOf = new Map<string, number>()
  if (fresh.length > 0) {
    const rows = await session.query(
      `INSERT INTO runs (${names}, instance, pipeline_id)
       SELECT * FROM unnest(${arrays}, $12::text[], $13::bigint[])
       ON CONFLICT (instance, pipeline_id) DO NOTHING RETURNING id, instance, pipeline_id`,
      [
        ...columns(fresh),
        fresh.map(({ change }) => change.run.key.instance),
        fresh.map(({ change }) => change.run.key.pipelineId),
      ],
    )
    // Another replica observed one of them at the same moment: everything is decided anew, with its row locked.
    if (rows.length < fresh.length) throw new Again()
    for (const row of rows) idOf.set(nameOf(keyOf(row)), row.id as number)
  }
  if (known.length > 0) {
    const set = names
      .split(', ')
      .map(name => `${name} = v.${name}`)
      .join(', ')
    await session.query(
      `UPDATE runs r SET ${set} FROM unnest(${arrays}, $12::bigint[]) AS v (${names}, id) WHERE r.id = v.id`,
      [...columns(known), known.map(({ id }) => id)],
    )
  }
  return changes.map(({ id, change }) => id ?? idOf.get(nameOf(change.run.key)) ?? 0)
}

export async function writeJobs(session: Session, changes: readonly Written[], ids: readonly number[]): Promise<void> {
  const jobs = changes.flatMap(({ jobs: { rows, marks } }, index) =>
    [...rows, ...marks].map(job => ({ run: ids[index], job })),
  )
  if (jobs.length === 0) return
  await session.query(
    `INSERT INTO jobs (run_id, job_id, record, times, snapshot)
     SELECT r, j, record, times, nullif(snapshot, '')
     FROM unnest($1::bigint[], $2::bigint[], ${textsOf('$3')}, ${textsOf('$4')}, ${textsOf('$5')}) AS w (r, j, record, times, snapshot)
     ON CONFLICT (run_id, job_id) DO UPDATE SET record = excluded.record, times = excluded.times, snapshot = excluded.snapshot`,
    [
      jobs.map(({ run }) => run),
      jobs.map(({ job }) => job.id),
      textList(jobs.map(({ job }) => JSON.stringify(job.record))),
      textList(jobs.map(({ job }) => JSON.stringify(job.times))),
      textList(jobs.map(({ job }) => (job.snapshot === undefined ? null : JSON.stringify(job.snapshot)))),
    ],
  )
}

/** Chunks, and their entries in the outbox. */
export async function writeChunks(
  session: Session,
  changes: readonly Written[],
  ids: readonly number[],
  now: number,
): Promise<void> {
  const pending = changes.flatMap(({ change, jobs: { inChunks } }, index) =>
    (change.pending ?? []).map(one => ({ run: ids[index], ...one, range: restorableRange(one.chunk, inChunks) })),
  )
  if (pending.length === 0) return
  const rows = await session.query(
    `INSERT INTO chunks (run_id, attempt, number, content, first_job, last_job, snapshot_at)
     SELECT *, $7::bigint FROM unnest($1::bigint[], $2::int[], $3::int[], ${textsOf('$4')}, $5::bigint[], $6::bigint[])
     RETURNING id, run_id, attempt, number`,
    [
      pending.map(({ run }) => run),
      pending.map(({ chunk }) => chunk.attempt),
      pending.map(({ chunk }) => chunk.number),
      textList(pending.map(({ chunk }) => JSON.stringify(chunk))),
      pending.map(({ range }) => range?.[0] ?? null),
      pending.map(({ range }) => range?.[1] ?? null),
      now,
    ],
  )
  const nameOfChunk = (run: unknown, attempt: unknown, chunk: unknown): string => JSON.stringify([run, attempt, chunk])
  const idOf = new Map(rows.map(row => [nameOfChunk(row.run_id, row.attempt, row.number), row.id as number]))
  const queues = pending.flatMap(({ run, chunk, to }) =>
    to.map(queue => ({ id: idOf.get(nameOfChunk(run, chunk.attempt, chunk.number)), ...queue })),
  )
  await session.query(
    `INSERT INTO outbox (chunk_id, signal, destination, state, pending_since, due_at)
     SELECT p, s, d, 'pending', $4::bigint, $4::bigint FROM unnest($1::bigint[], $2::text[], $3::text[]) AS o (p, s, d)`,
    [queues.map(({ id }) => id), queues.map(({ signal }) => signal), queues.map(({ destination }) => destination), now],
  )
}

/** PostgreSQL's text holds no NUL; in JSON it is escaped, in a plain column it must go. */
function plain(text: string | undefined): string | null {
  return text?.replaceAll('\u0000', '') ?? null
}
