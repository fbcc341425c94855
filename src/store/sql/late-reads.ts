// Adds to the queue of job reads for jobs of earlier chunks, as steps of a transaction: finds the chunk with each job's span.
import { insertJobReads, wishValues } from './job-reads.ts'
import { number } from './columns.ts'
import { storedChunk, type DamagedRows } from './stored-json.ts'
import type { LateJobRead } from '../ports/job-reads.ts'
import type { Millis } from '../../model/instant.ts'
import { each, type Steps } from './steps.ts'

/** `run`: the id of its row. Skips jobs whose chunk is deleted or damaged. */
export function* addLateReads(
  run: number,
  reads: readonly LateJobRead[],
  now: Millis,
  damaged: DamagedRows,
): Steps<void> {
  for (const [attempt, wishes] of Map.groupBy(reads, one => one.attempt)) {
    let left = wishes
    // The latest chunk first: it has the last span of a job that ran again. One at a time, as an attempt may have many.
    for (const row of yield [chunksOfAttempt, [run, attempt]]) {
      if (left.length === 0) break
      const id = idOf(row)
      const [stored] = yield ['SELECT content FROM chunks WHERE id = ?1', [id]]
      const read = (): Set<number> => new Set(storedChunk(stored?.content).jobs.map(job => job.id))
      const jobs = damaged.orNothing({ chunk: id }, 'nothing more is read about the inside of its jobs', read)
      const found = left.filter(({ jobId }) => jobs?.has(jobId))
      yield each(
        insertJobReads,
        found.map(wish => wishValues(id, wish, now)),
      )
      left = left.filter(({ jobId }) => jobs?.has(jobId) !== true)
    }
  }
}

const idOf = number('id')
const chunksOfAttempt =
  'SELECT id FROM chunks WHERE run_id = ?1 AND attempt = ?2 AND inside IS NULL ORDER BY number DESC'
