// Splits runs so that those of one slice, with all their jobs, fit into memory: a run may have thousands of jobs, and a batch dozens of runs.
import { number } from '../sql/columns.ts'
import { runId } from './run-rows.ts'
import type { Session } from './database.ts'

/** A larger run is a slice by itself. */
const jobsAtOnce = 20_000
/** Bytes of a job in a chunk's content. One with the names of its fields (`chunk-text.ts`) counts as two. */
const bytesOfJob = 300

/** In the order of `items`. `runOf`: the run if all of its jobs are wanted, else undefined. */
export async function slicesOf<T>(
  session: Session,
  items: readonly T[],
  runOf: (item: T) => number | undefined,
): Promise<readonly (readonly T[])[]> {
  const ids = items.flatMap(item => runOf(item) ?? [])
  if (ids.length < 2) return items.length === 0 ? [] : [items]
  const counts = await session.query(
    `SELECT run_id, sum(jobs)::bigint AS jobs FROM (
       SELECT run_id, count(*) AS jobs FROM jobs WHERE run_id = ANY ($1::bigint[]) GROUP BY run_id
       UNION ALL
       SELECT run_id, sum(octet_length(content)) / ${bytesOfJob} FROM chunks
       WHERE run_id = ANY ($1::bigint[]) AND first_job IS NOT NULL GROUP BY run_id
     ) AS jobs_of_runs GROUP BY run_id`,
    [ids],
  )
  const jobsOf = new Map(counts.map(row => [runId(row), number('jobs')(row)]))
  return cut(items, item => jobsOf.get(runOf(item) ?? -1) ?? 0, jobsAtOnce)
}

/** Slices whose sizes add up to `most` at most; a larger item is a slice by itself. */
export function cut<T>(items: readonly T[], sizeOf: (item: T) => number, most: number): T[][] {
  const slices: T[][] = []
  let sum = Infinity
  for (const item of items) {
    const size = sizeOf(item)
    sum += size
    if (sum > most) {
      slices.push([])
      sum = size
    }
    slices.at(-1)?.push(item)
  }
  return slices
}
