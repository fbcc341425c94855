// The SQL of the queue of job reads, for both databases.
import { leasedQueue } from './leased-queue.ts'
import { jobReadables, type JobRead, type JobReadKey, type JobReads, type JobReadWish } from '../ports/job-reads.ts'
import { number, optional, record, word, type Row } from './columns.ts'
import { thoseIn } from './territory-sql.ts'
import { storedChunk } from './stored-json.ts'
import { forRows, type StepValue } from './steps.ts'
import type { Millis } from '../../model/instant.ts'
import type { Statements } from './statements.ts'

export function jobReads(sql: Statements): JobReads {
  const queue = leasedQueue(sql, 'job_reads', returning)
  const forget = async (key: JobReadKey): Promise<void> => {
    await sql.change(removeJobRead, readValues(key))
  }
  return {
    take: async (limit, leaseMs, which) => {
      const { rows, now } = await queue.take(limit, leaseMs, before => thoseIn(sql, runOfChunk, which, before))
      const reads: JobRead[] = []
      for (const row of rows.toSorted((a, b) => idOf(a) - idOf(b))) {
        const key = keyOf(row)
        const read = sql.damaged.orNothing(
          { chunk: key.chunkId },
          'nothing is read about the inside of its jobs',
          () => ({
            ...{ ...key, ...factsOf(row), takenAt: now },
            chunk: storedChunk(row.content),
          }),
        )
        if (read === undefined) await forget(key)
        else reads.push(read)
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

const returning = `id, chunk_id, job_id, what, tries, pending_since,
  (SELECT content FROM chunks WHERE chunks.id = chunk_id) AS content`
const runOfChunk = '(SELECT run_id FROM chunks WHERE chunks.id = chunk_id)'
const isKey = 'chunk_id = ?1 AND job_id = ?2 AND what = ?3'
const idOf = number('id')
const keyOf = record({ chunkId: number('chunk_id'), jobId: number('job_id'), what: word('what', jobReadables) })
const factsOf: (row: Row) => Pick<JobRead, 'tries' | 'pendingSince'> = record({
  tries: number('tries'),
  pendingSince: number('pending_since'),
})
const counts = record({ due: number('due'), later: number('later'), oldest: optional(number, 'oldest') })

/** Its values are `readValues`. */
export const removeJobRead = `DELETE FROM job_reads WHERE ${isKey}`

export function readValues({ chunkId, jobId, what }: JobReadKey): [number, number, string] {
  return [chunkId, jobId, what]
}

/** Its rows are `wishValues`, and twice the time. An existing entry stays. */
export const insertJobReads = forRows(
  ['bigint', 'bigint', 'text', 'bigint', 'bigint'],
  ({ rows }) => `INSERT INTO job_reads (chunk_id, job_id, what, pending_since, due_at) ${rows} ON CONFLICT DO NOTHING`,
)

export function wishValues(chunkId: number, { jobId, what }: JobReadWish, now: Millis): StepValue[] {
  return [chunkId, jobId, what, now, now]
}
