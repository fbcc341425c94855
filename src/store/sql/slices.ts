// Splits runs so that those of one slice, with all their jobs, fit into memory: a run may have thousands of jobs, and a batch dozens of runs.
import { number } from './columns.ts'
import { each, forRows, type Steps } from './steps.ts'

/** A larger run is a slice by itself. */
const jobsAtOnce = 20_000
/** Bytes of a job in a chunk's content (`chunk-text.ts`). */
const bytesOfJob = 300

/** In the order of `items`. `runOf`: the run if all of its jobs are wanted, else undefined. */
export function* slicesOf<T>(
  items: readonly T[],
  runOf: (item: T) => number | undefined,
): Steps<readonly (readonly T[])[]> {
  const ids = items.flatMap(item => runOf(item) ?? [])
  if (ids.length < 2) return items.length === 0 ? [] : [items]
  const counts = yield each(
    countJobs,
    ids.map(id => [id]),
  )
  const jobsOf = new Map(counts.map(row => [runId(row), number('jobs')(row)]))
  return cut(items, item => jobsOf.get(runOf(item) ?? -1) ?? 0, jobsAtOnce)
}

const countJobs = forRows(
  ['bigint'],
  ({ rows }) => `
  WITH r (run_id) AS (${rows})
  SELECT run_id, CAST(sum(jobs) AS bigint) AS jobs FROM (
    SELECT run_id, count(*) AS jobs FROM jobs WHERE run_id IN (SELECT run_id FROM r) GROUP BY run_id
    UNION ALL
    SELECT run_id, sum(octet_length(content)) / ${bytesOfJob} FROM chunks
    WHERE run_id IN (SELECT run_id FROM r) AND first_job IS NOT NULL GROUP BY run_id
  ) AS jobs_of_runs GROUP BY run_id`,
)
const runId = number('run_id')

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
