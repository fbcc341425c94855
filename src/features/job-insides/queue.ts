// The queue of job logs and reports to read. An entry is written in the same transaction as the chunk with the job's span. It is removed in the
// transaction that writes the result, so no result is put into the outbox twice, even after a crash.
import { allReportTypes, type ReportType } from '../../model/job-reports.ts'
import { chunksOf } from '../../model/run-chunks.ts'
import { each, forRows, type StepOf } from '../../core/store/sql/steps.ts'
import { leasedQueue } from '../../core/store/sql/leased-queue.ts'
import { loadRuns } from '../../core/store/sql/run-reads.ts'
import { number, optional, record, oneOf, type Row } from '../../core/store/sql/columns.ts'
import { thoseIn, type Which } from '../../core/store/ports/enrichment-queue.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'
import type { Reporter } from '../../core/store/ports/runs.ts'
import type { RunKey } from '../../model/observation.ts'
import type { Statements } from '../../core/store/sql/statements.ts'

/** The kinds of data that can be read about a job. Each kind has its own queue entry, so that a failure affects only that kind. */
export type JobReadable = 'log' | 'tests' | 'spans' | ReportType
export const jobReadables: readonly JobReadable[] = ['log', 'tests', 'spans', ...allReportTypes]

interface ReadOfJob {
  readonly attempt: number
  /** The number of the chunk that has the job's span. */
  readonly number: number
  readonly jobId: number
  readonly what: JobReadable
}

/** A queue entry to write. `key` identifies the run. */
export interface WantedRead extends ReadOfJob {
  readonly key: RunKey
}

export interface JobReadKey extends ReadOfJob {
  /** The id of the run's row. */
  readonly run: number
}

export interface JobRead extends JobReadKey {
  /** The number of failed attempts to read this entry. */
  readonly tries: number
  readonly pendingSince: Millis
  /** When the entry was leased, by the store's clock. */
  readonly takenAt: Millis
  readonly chunk: Chunk
}

export interface JobReads {
  /** Leases due entries, earliest due first. Removes damaged entries. */
  take(limit: number, leaseMs: number, which?: Which): Promise<readonly JobRead[]>
  /** Extends the leases of these entries to `leaseMs` from now. If `leaseMs` is 0, the entries are due at once. */
  extend(keys: readonly JobReadKey[], leaseMs: number): Promise<void>
  /** Releases a leased entry and makes it due again in `ms`. If `counted` is true, this counts as a failed attempt. */
  defer(key: JobReadKey, ms: number, counted: boolean): Promise<void>
  drop(key: JobReadKey): Promise<void>
  /** Counts the entries that are due or leased, and the entries that are due later. `oldest` is when the oldest entry became pending. */
  count(): Promise<{ readonly due: number; readonly later: number; readonly oldest: Millis | undefined }>
}

/** Writes entries one by one in the given order, which a join would not preserve. An existing entry is not changed. */
export const jobReadReporter: Reporter<WantedRead> = {
  order: 40,
  *write(reads, { now }) {
    yield each(
      insertJobReads,
      reads.map(({ key: { instance, pipelineId }, attempt, number, jobId, what }) => [
        ...[instance, pipelineId, attempt, number, jobId, what, now],
      ]),
    )
  },
}

const insertJobReads = forRows(
  ['text', 'bigint', 'int', 'int', 'bigint', 'text', 'bigint'],
  ({ rows }) => `
  WITH v (instance, pipeline_id, attempt, number, job_id, what, at) AS (${rows})
  INSERT INTO job_reads (run_id, attempt, number, job_id, what, pending_since, due_at)
  SELECT (SELECT r.id FROM runs r WHERE r.instance = v.instance AND r.pipeline_id = v.pipeline_id),
         v.attempt, v.number, v.job_id, v.what, v.at, v.at
  FROM v WHERE true ON CONFLICT DO NOTHING`,
)

export function jobReads(sql: Statements): JobReads {
  const queue = leasedQueue(sql, 'job_reads', returning)
  const drop = async (key: JobReadKey): Promise<void> => {
    await sql.change(`DELETE FROM job_reads WHERE ${isKey}`, valuesOf(key))
  }
  return {
    take: async (limit, leaseMs, which) => {
      const { rows, now } = await queue.take(limit, leaseMs, before => thoseIn(sql, 'run_id', which, before))
      const keys = rows.toSorted((a, b) => idOf(a) - idOf(b)).map(readOf)
      const runs = await loadRuns(sql.all, sql.damaged, [...new Set(keys.map(({ run }) => run))])
      const chunks = new Map([...runs].map(([id, { run }]) => [id, chunksOf(run)]))
      const reads: JobRead[] = []
      for (const key of keys) {
        const chunk = chunks.get(key.run)?.find(one => one.attempt === key.attempt && one.number === key.number)
        if (chunk === undefined) await drop(key)
        else reads.push({ ...key, takenAt: now, chunk })
      }
      return reads
    },
    extend: async (keys, leaseMs) => {
      for (const key of keys) await queue.extend([isKey, valuesOf(key)], leaseMs)
    },
    defer: async (key, ms, counted) => queue.defer([isKey, valuesOf(key)], ms, counted),
    drop,
    count: async () => {
      const rows = await sql.all(
        `SELECT count(*) FILTER (WHERE due_at <= ?1 OR leased = 1) AS due,
                count(*) FILTER (WHERE due_at > ?1 AND leased = 0) AS later, min(pending_since) AS oldest FROM job_reads`,
        [await sql.now()],
      )
      return rows.map(counts)[0] ?? { due: 0, later: 0, oldest: undefined }
    },
  }
}

/** Returns the step that removes an entry in the transaction that stores its result. */
export function claimOf(key: JobReadKey): StepOf {
  return [`DELETE FROM job_reads WHERE ${isKey} RETURNING 1`, valuesOf(key)]
}

const returning = 'id, run_id, attempt, number, job_id, what, tries, pending_since'
const isKey = 'run_id = ?1 AND attempt = ?2 AND number = ?3 AND job_id = ?4 AND what = ?5'
const idOf = number('id')
const readOf: (row: Row) => Omit<JobRead, 'takenAt' | 'chunk'> = record({
  run: number('run_id'),
  attempt: number('attempt'),
  number: number('number'),
  jobId: number('job_id'),
  what: oneOf('what', jobReadables),
  tries: number('tries'),
  pendingSince: number('pending_since'),
})
const counts = record({ due: number('due'), later: number('later'), oldest: optional(number, 'oldest') })

function valuesOf({ run, attempt, number, jobId, what }: JobReadKey): [number, number, number, number, string] {
  return [run, attempt, number, jobId, what]
}
