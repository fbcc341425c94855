// Reads the snapshots of stored runs and computes trends from them, for trends that are not stored by day: trends by exact branch or by runner. It
// reads a limited number of runs, the newest first. The SQL is the same for both databases.
import { countedOf, failuresIn, type Failures } from '../counting/counted-chunk.ts'
import { foldedName } from '../../../core/store/ports/pipeline-name.ts'
import { outcomesOf, TrendSums, type Outcome } from '../counting/sums.ts'
import { trendsOfRows } from './in-memory.ts'
import { number, record, text } from '../../../core/store/sql/columns.ts'
import { isInScope } from '../../../core/store/ports/project-scope.ts'
import { chunksOf } from '../../../model/run-chunks.ts'
import { loadRuns } from '../../../core/store/sql/run-reads.ts'
import type { Value } from '../../../core/store/sql/statements.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import type { Reading, ScopedSql } from '../../../core/store/sql/reading.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { Run } from '../../../model/run.ts'
import type { Millis } from '../../../model/instant.ts'
import type { RetainedFigures, RetainedQuery } from '../counting/figures.ts'

/** The maximum number of jobs in the runs that are read for one response. Reading that many takes a few tenths of a second. */
const maxJobs = 40_000
/**
 * How many runs and jobs are read before yielding to the event loop; this takes a few milliseconds. Runs may be large, so the first read covers only
 * a few.
 */
const atOnce = { first: 20, runs: 100, jobs: 1_000 }

/** The selection of runs to read. `since` and `until` limit their creation time. */
export interface RetainedRuns extends Pick<
  RetainedQuery,
  'since' | 'until' | 'group' | 'instance' | 'projectId' | 'ref' | 'source'
> {
  /** Runs that finished before this time are left out. */
  readonly finishedSince?: Millis | undefined
  /** The full paths that the project has had, if known. With these, an index finds the project's runs. */
  readonly paths?: readonly string[] | undefined
  /** The maximum number of runs to read. */
  readonly max: number
}

/** Counts one chunk. `failures` are the failures of the chunk's run. */
export type CountChunk = (chunk: Chunk, failures: Failures) => void

export interface ReadRuns {
  /** The number of runs that were read. */
  readonly runs: number
  /** The creation time of the oldest run that was read; set only if there were too many runs to read them all. */
  readonly backTo?: Millis | undefined
}

const listed = record({ id: number('run_id'), createdAt: number('created_at'), project: text('project') })

export async function readRetained(
  { ask, byRow, damaged }: Reading,
  query: RetainedRuns,
  count: CountChunk,
): Promise<ReadRuns> {
  const { group, max, paths } = query
  const found = await Promise.all((paths ?? [undefined]).map(async path => ask(...walk(query, path))))
  const newest = found.flat().map(listed)
  if (found.length > 1) newest.sort((a, b) => b.createdAt - a.createdAt)
  const walked = newest.slice(0, max)
  const runs = walked.filter(({ project }) => isInScope(project, group))
  let read = 0
  let jobs = 0
  while (read < runs.length && jobs < maxJobs) {
    const fitting = read === 0 ? atOnce.first : Math.floor((atOnce.jobs * read) / Math.max(1, jobs))
    const ids = runs.slice(read, read + Math.min(atOnce.runs, Math.max(1, fitting))).map(({ id }) => id)
    const loaded = await loadRuns(byRow, damaged, ids)
    read += ids.length
    for (const { run } of loaded.values()) {
      jobs += run.jobs.size
      countRun(run, count)
    }
    await breathe()
  }
  if (read < runs.length) return { runs: read, backTo: runs[read - 1]?.createdAt }
  return { runs: runs.length, backTo: newest.length > max ? walked.at(-1)?.createdAt : undefined }
}

/** Returns the statement that lists runs, newest first. It uses the index on paths, refs, sources or times. */
function walk(
  { since, until, finishedSince, instance, projectId, ref, source, max }: RetainedRuns,
  path: string | undefined,
): [ScopedSql, Value[]] {
  const values: Value[] = [since, until]
  const also = [
    finishedSince === undefined
      ? undefined
      : `(finished_at IS NULL OR finished_at + 0 >= ?${values.push(finishedSince)})`,
    path === undefined ? undefined : `project = ?${values.push(path)}`,
    ref === undefined ? undefined : `ref = ?${values.push(ref)}`,
    ref === undefined && source !== undefined ? `source = ?${values.push(source)}` : undefined,
    // `+ 0` keeps the database from using an index on `project_id` for this condition; `finished_at + 0` does the same for finish times.
    projectId === undefined ? undefined : `project_id + 0 = ?${values.push(projectId)}`,
    instance === undefined ? undefined : `instance = ?${values.push(instance)}`,
  ].filter(one => one !== undefined)
  return [
    `SELECT run_id, created_at, project FROM listed_runs WHERE created_at >= ?1 AND created_at < ?2 AND {visible}
       ${also.map(one => `AND ${one}`).join(' ')} ORDER BY created_at DESC, run_id DESC LIMIT ${max + 1}`,
    values,
  ]
}

function countRun(run: Run, count: CountChunk): void {
  const failures = failuresIn(run)
  for (const chunk of chunksOf(run)) count(chunk, failures)
}

/** The maximum number of runs that are read to compute trends for one response. Reading that many takes a tenth of a second. */
const maxRuns = 2_000

export function retainedOn(reading: Reading): (query: RetainedQuery) => Promise<RetainedFigures> {
  return async query => {
    const sums = new TrendSums(query.step)
    const { runs, backTo } = await readRetained(reading, { ...query, max: maxRuns }, countInto(sums, query))
    const rows = sums.rows().map(row => ({ ...row, durations: row.durations.bins(), queues: row.queues.bins() }))
    return { figures: trendsOfRows(rows, query.runner !== undefined), pipelines: runs, backTo }
  }
}

function countInto(sums: TrendSums, { pipelineName, source, branch, runner }: RetainedQuery): CountChunk {
  const matches = ({ job, branch: its }: Outcome): boolean =>
    (runner === undefined || job !== '') && (branch === undefined || its === branch)
  return (chunk, failures) => {
    const { facts } = chunk.pipeline
    if (pipelineName !== undefined && foldedName(facts) !== pipelineName) return
    if (source !== undefined && facts.source !== source) return
    const jobs = chunk.jobs.filter(job => runner === undefined || job.runner?.description === runner)
    const counted = countedOf({ ...chunk, jobs }, failures)
    for (const outcome of counted === undefined ? [] : outcomesOf(counted)) if (matches(outcome)) sums.count(outcome)
  }
}
