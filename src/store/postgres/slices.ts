// Runs with all their jobs, so many at a time as fit into memory: a run may have thousands of jobs, and a batch dozens of runs.
import { number } from '../sql/columns.ts'
import { runId } from './run-rows.ts'
import type { Session } from './database.ts'

/** Jobs in memory at once; a single larger run still goes, alone. */
const jobsAtOnce = 20_000
/** What a job takes of a chunk's content. */
const bytesOfJob = 600

/** In the order they came. `runOf`: the run whose jobs are all wanted, if they are. */
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

/** Into slices whose sizes add up to no more than `most`; a larger item is a slice by itself. */
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
