// Trends computed from the stored runs: by branch or runner, which the stored figures do not distinguish.
import { EarlierFailures } from './earlier-failures.ts'
import { foldedName } from '../ports/pipeline-name.ts'
import { number, record, text, type Row } from '../sql/columns.ts'
import {
  outcomesOf,
  type RetainedFigures,
  type RetainedQuery,
  type StoredTrendRow,
  type TrendOutcome,
} from '../ports/trends.ts'
import { places, type Value } from '../sql/statements.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import { storedChunk, type DamagedRows } from '../sql/stored-json.ts'
import { trendsIn } from './trends-in-memory.ts'
import { TrendSums, type TrendSum } from './trend-sums.ts'
import type { Ask } from './ask.ts'
import type { Chunk } from '../../model/chunk.ts'

/** Runs read for one answer, and UTF-16 units of their chunks: a tenth of a second or two. */
const most = { runs: 2_000, text: 24 * 1024 * 1024 }
/** How many are read before the event loop gets its turn. */
const runsAtOnce = 50

const listed = record({ id: number('run_id'), createdAt: number('created_at') })
const stored = record({ id: number('id'), run: number('run_id'), content: text('content') })

export function retainedOn(ask: Ask, damaged: DamagedRows): (query: RetainedQuery) => Promise<RetainedFigures> {
  return async query => {
    const runs = (await ask(...walk(query))).map(listed)
    const sums = new TrendSums({ of: ({ pipeline }) => foldedName(pipeline.facts) })
    let read = 0
    let characters = 0
    for (; read < runs.length && characters < most.text; read += runsAtOnce) {
      const ids = runs.slice(read, read + runsAtOnce).map(({ id }) => id)
      const rows = await ask(
        `SELECT id, run_id, content FROM chunks WHERE run_id IN (${places(ids)}) AND inside IS NULL ORDER BY run_id, id`,
        ids,
      )
      characters += rows.reduce((sum, row) => sum + String(row.content).length, 0)
      for (const [, its] of Map.groupBy(rows, row => number('run_id')(row))) count(its, query, sums, damaged)
      await breathe()
    }
    const rows = sums.rows().map(withBins)
    const isCut = read < runs.length || runs.length === most.runs
    const pipelines = Math.min(read, runs.length)
    return {
      figures: trendsIn(rows, query.runner !== undefined),
      pipelines,
      backTo: isCut ? runs[pipelines - 1]?.createdAt : undefined,
    }
  }
}

function withBins(row: TrendSum): StoredTrendRow {
  return { ...row, durations: row.durations.bins(), queues: row.queues.bins() }
}

/** The newest first, through the index of the ref, of the source, or of time. */
function walk({ since, until, projectId, ref, source }: RetainedQuery): [string, Value[]] {
  const values: Value[] = [since, until]
  const also = [
    ref === undefined ? undefined : `ref = ?${values.push(ref)}`,
    ref === undefined && source !== undefined ? `source = ?${values.push(source)}` : undefined,
    // `+ 0` keeps the database from using an index of projects.
    projectId === undefined ? undefined : `project_id + 0 = ?${values.push(projectId)}`,
  ].filter(one => one !== undefined)
  return [
    `SELECT run_id, created_at FROM listed_runs WHERE created_at >= ?1 AND created_at < ?2
       ${also.map(one => `AND ${one}`).join(' ')} ORDER BY created_at DESC, run_id DESC LIMIT ${most.runs}`,
    values,
  ]
}

/** The chunks of one run. */
function count(rows: readonly Row[], query: RetainedQuery, sums: TrendSums, damaged: DamagedRows): void {
  const failures = new EarlierFailures()
  for (const row of rows) {
    const { id, run } = stored(row)
    const chunk = damaged.orNothing({ chunk: id }, 'it is not among the figures', () => storedChunk(row.content))
    if (chunk === undefined) continue
    failures.isMissing(run, chunk)
    failures.add(chunk)
    const { facts } = chunk.pipeline
    const name = foldedName(facts)
    if (query.pipelineName !== undefined && name !== query.pipelineName) continue
    if (query.source !== undefined && facts.source !== query.source) continue
    for (const outcome of outcomesOf(ofRunner(chunk, query.runner), failures.upTo(chunk.attempt), name)) {
      if (!matches(outcome, query)) continue
      // Counted by the step itself: nobody asks for the hours of which its days would be added up.
      sums.count({ ...outcome, endedAt: outcome.endedAt - (outcome.endedAt % query.step) })
    }
  }
}

/** The chunk with the jobs that ran on this runner. */
function ofRunner(chunk: Chunk, runner: string | undefined): Chunk {
  return runner === undefined ? chunk : { ...chunk, jobs: chunk.jobs.filter(job => job.runner?.description === runner) }
}

function matches(outcome: TrendOutcome, { branch, runner }: RetainedQuery): boolean {
  if (runner !== undefined && outcome.job === '') return false
  return branch === undefined || outcome.branch === branch
}
