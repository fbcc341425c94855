// Stores the jobs of a large run in pages, so that a change to one job reads and writes only one page (decision 116). A small run stores its jobs in
// its own row.
//
// The pages of a run do not overlap. A page contains the jobs from its `first_job` up to the `first_job` of the next page. The first page starts at
// 0, so that every job id belongs to a page before the job is known. A page that grows too large is split. Pages are never merged, because a run
// never loses jobs.
import { bytes, number, type Row } from './columns.ts'
import { documentBytes, documentOf } from './stored-json.ts'
import { each, forRows, type Steps, type StepValue } from './steps.ts'
import type { Job } from '../../../model/job.ts'
import type { RunWork } from '../ports/runs.ts'

/** The maximum number of jobs in one page, or in a run's own row. */
export const maxJobs = 50

/**
 * The maximum number of jobs in memory at once, across all runs, on a database where each statement is a round trip. A run with more jobs is loaded
 * alone.
 */
export const maxJobsAtOnce = 20_000

/** A run's row, and the jobs to read from that run. */
export interface Wanted {
  readonly row: Row
  readonly jobs: RunWork['jobs']
}

/** Reads the pages that contain the wanted jobs. Returns the pages by run id. */
export function* readPages(wanted: readonly Wanted[]): Steps<ReadonlyMap<number, readonly Row[]>> {
  const paged = wanted.filter(({ row }) => jobCount(row) > maxJobs)
  const [whole, some] = [paged.filter(readsAll), paged.filter(one => !readsAll(one))]
  const rows = [
    ...(yield each(
      selectAll,
      whole.map(({ row }) => [idOf(row)]),
    )),
    ...(yield each(
      selectSome,
      some.flatMap(({ row, jobs }) => (jobs === 'all' ? [] : jobs.map(job => [idOf(row), job]))),
    )),
  ]
  const pages = new Map(rows.map(row => [`${runId(row)} ${firstJob(row)}`, row]))
  return Map.groupBy(
    [...pages.values()].sort((a, b) => firstJob(a) - firstJob(b)),
    runId,
  )
}

/** Whether so many jobs are needed that nearly every page contains one. */
function readsAll({ jobs }: Wanted): boolean {
  return jobs === 'all' || jobs.length > maxJobs
}

export const selectPages = 'SELECT run_id, first_job, content FROM job_pages'
const selectAll = forRows(['bigint'], ({ among }) => `${selectPages} WHERE ${among('run_id')}`)
const selectSome = forRows(
  ['bigint', 'bigint'],
  ({ rows }) => `
  WITH w (run_id, job) AS (${rows})
  SELECT p.run_id, p.first_job, p.content FROM job_pages p JOIN (
    SELECT DISTINCT run_id, (SELECT max(first_job) FROM job_pages WHERE job_pages.run_id = w.run_id AND first_job <= w.job) AS first_job
    FROM w) AS own ON own.run_id = p.run_id AND own.first_job = p.first_job`,
)

/** Decodes the jobs of a page. Throws DataError if the page is damaged. */
export function jobsOfPage(page: Row): readonly Job[] {
  return documentOf<readonly Job[]>(content(page))
}

/** The division of a run's jobs between its row and its pages. */
export interface Placed {
  readonly inRow: readonly Job[]
  /** The input rows for `writePages`, without the run's id. */
  readonly pages: readonly StepValue[][]
  /** How many jobs the run has. */
  readonly count: number
}

/**
 * Divides the jobs of a run between its row and its pages. `pages`: the pages that were read. `known`: the jobs of the row and of these pages.
 * `changed`: the jobs to write.
 */
export function placeJobs(
  row: Row | undefined,
  pages: readonly Row[],
  known: ReadonlyMap<number, Job>,
  changed: readonly Job[],
): Placed {
  const before = row === undefined ? 0 : jobCount(row)
  const fresh = changed.filter(({ id }) => !known.has(id)).length
  const count = before + fresh
  const after = new Map(known)
  for (const job of changed) after.set(job.id, job)
  const jobs = [...after.values()].sort((a, b) => a.id - b.id)
  if (count <= maxJobs) return { inRow: jobs, pages: [], count }
  const firsts = before > maxJobs ? pages.map(firstJob) : [0]
  const pageOf = ({ id }: Job): number => firsts.findLast(first => first <= id) ?? 0
  const touched = new Set(before > maxJobs ? changed.map(pageOf) : [0])
  const parts = [...Map.groupBy(jobs, pageOf)].filter(([first]) => touched.has(first))
  return { inRow: [], pages: parts.flatMap(([first, own]) => pagesFrom(first, own)), count }
}

function pagesFrom(first: number, jobs: readonly Job[]): StepValue[][] {
  return cut(jobs, () => 1, maxJobs).map((part, at) => [at === 0 ? first : (part[0]?.id ?? 0), documentBytes(part)])
}

/** Writes pages of jobs. Each input row is a run's id followed by the values of one page (`Placed`). */
export const writePages = forRows(
  ['bigint', 'bigint', 'bytea'],
  ({ rows }) => `
  INSERT INTO job_pages (run_id, first_job, content) ${rows}
  ON CONFLICT (run_id, first_job) DO UPDATE SET content = excluded.content`,
)

const idOf = number('id')
const runId = number('run_id')
const firstJob = number('first_job')
const content = bytes('content')
/** The number of all jobs of the run. */
export const jobCount = number('jobs')

// Cuts a list into slices of limited size.

/** Returns slices whose sizes each add up to at most `max`. An item that exceeds `max` becomes a slice of its own. */
export function cut<T>(items: readonly T[], sizeOf: (item: T) => number, max: number): T[][] {
  const slices: T[][] = []
  let sum = Infinity
  for (const item of items) {
    const size = sizeOf(item)
    sum += size
    if (sum > max) {
      slices.push([])
      sum = size
    }
    slices.at(-1)?.push(item)
  }
  return slices
}
