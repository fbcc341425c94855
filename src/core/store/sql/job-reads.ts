// The SQL of the queue of job reads, for both databases.
import { leasedQueue } from './leased-queue.ts'
import { jobReadables, type JobRead, type JobReadKey, type JobReads } from '../ports/job-reads.ts'
import { number, optional, record, word, type Row } from './columns.ts'
import { thoseIn } from './territory-sql.ts'
import { chunksOf } from '../../../model/run-chunks.ts'
import { loadRuns } from './run-reads.ts'
import { forRows, type StepValue } from './steps.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Statements } from './statements.ts'

export function jobReads(sql: Statements): JobReads {
  const queue = leasedQueue(sql, 'job_reads', returning)
  const forget = async (key: JobReadKey): Promise<void> => {
    await sql.change(removeJobRead, readValues(key))
  }
  return {
    take: async (limit, leaseMs, which) => {
      const { rows, now } = await queue.take(limit, leaseMs, before => thoseIn(sql, 'run_id', which, before))
      const reads: JobRead[] = []
      const keys = rows.toSorted((a, b) => idOf(a) - idOf(b)).map(row => ({ ...keyOf(row), ...factsOf(row) }))
      const runs = await loadRuns(sql.all, sql.damaged, [...new Set(keys.map(({ run }) => run))])
      const chunks = new Map([...runs].map(([id, { run }]) => [id, chunksOf(run)]))
      for (const key of keys) {
        const chunk = chunks
          .get(key.run)
          ?.find(({ attempt, number }) => attempt === key.attempt && number === key.number)
        if (chunk === undefined) await forget(key)
        else reads.push({ ...key, takenAt: now, chunk })
      }
      return reads
    },
    extend: async (keys, leaseMs) => {
      for (const key of keys) await queue.extend([isKey, readValues(key)], leaseMs)
    },
    defer: async (key, ms, counted) => queue.defer([isKey, readValues(key)], ms, counted),
    drop: forget,
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

const returning = 'id, run_id, attempt, number, job_id, what, tries, pending_since'
const isKey = 'run_id = ?1 AND attempt = ?2 AND number = ?3 AND job_id = ?4 AND what = ?5'
const idOf = number('id')
const keyOf: (row: Row) => JobReadKey = record({
  run: number('run_id'),
  attempt: number('attempt'),
  number: number('number'),
  jobId: number('job_id'),
  what: word('what', jobReadables),
})
const factsOf: (row: Row) => Pick<JobRead, 'tries' | 'pendingSince'> = record({
  tries: number('tries'),
  pendingSince: number('pending_since'),
})
const counts = record({ due: number('due'), later: number('later'), oldest: optional(number, 'oldest') })

/** Its values are `readValues`. */
export const removeJobRead = `DELETE FROM job_reads WHERE ${isKey}`

export function readValues({
  run,
  attempt,
  number,
  jobId,
  what,
}: JobReadKey): [number, number, number, number, string] {
  return [run, attempt, number, jobId, what]
}

/** Its rows are `wishValues`. An existing entry stays. */
export const insertJobReads = forRows(
  ['bigint', 'int', 'int', 'bigint', 'text', 'bigint', 'bigint'],
  ({ rows }) =>
    `INSERT INTO job_reads (run_id, attempt, number, job_id, what, pending_since, due_at) ${rows} ON CONFLICT DO NOTHING`,
)

export function wishValues(key: JobReadKey, now: Millis): StepValue[] {
  return [...readValues(key), now, now]
}
