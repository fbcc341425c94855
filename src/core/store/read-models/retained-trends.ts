// Trends computed from the stored runs: by branch or runner, which the stored figures do not distinguish.
import { foldedName } from '../ports/pipeline-name.ts'
import { readRetained } from './retained-runs.ts'
import {
  outcomesOf,
  type RetainedFigures,
  type RetainedQuery,
  type StoredTrendRow,
  type TrendOutcome,
} from '../ports/trends.ts'
import { trendsIn } from './trends-in-memory.ts'
import { TrendSums, type TrendSum } from './trend-sums.ts'
import type { Reading } from '../sql/reading.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { CountChunk } from './retained-runs.ts'

/** Runs read for one answer: a tenth of a second. */
const max = 2_000

export function retainedOn(reading: Reading): (query: RetainedQuery) => Promise<RetainedFigures> {
  return async query => {
    const sums = new TrendSums({ of: ({ pipeline }) => foldedName(pipeline.facts) })
    const { runs, backTo } = await readRetained(reading, { ...query, max }, countInto(sums, query))
    const rows = sums.rows().map(withBins)
    return { figures: trendsIn(rows, query.runner !== undefined), pipelines: runs, backTo }
  }
}

function withBins(row: TrendSum): StoredTrendRow {
  return { ...row, durations: row.durations.bins(), queues: row.queues.bins() }
}

function countInto(sums: TrendSums, query: RetainedQuery): CountChunk {
  return (chunk, failedBefore) => {
    const { facts } = chunk.pipeline
    const name = foldedName(facts)
    if (query.pipelineName !== undefined && name !== query.pipelineName) return
    if (query.source !== undefined && facts.source !== query.source) return
    for (const outcome of outcomesOf(ofRunner(chunk, query.runner), failedBefore, name)) {
      if (!matches(outcome, query)) continue
      // Counted by the period itself: hourly figures are not needed to add up its days.
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
