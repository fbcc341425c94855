// Trends computed from the stored runs: by branch or runner, which the stored figures do not distinguish.
import { countedOf } from '../counting/counted-chunk.ts'
import { foldedName } from '../../../core/store/ports/pipeline-name.ts'
import { outcomesOf, TrendSums, type Outcome, type TrendSum } from '../counting/sums.ts'
import { readRetained, type CountChunk } from './stored-runs.ts'
import { trendsOfRows } from './in-memory.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { Reading } from '../../../core/store/sql/reading.ts'
import type { RetainedFigures, RetainedQuery, StoredTrendRow } from '../counting/figures.ts'

/** Runs read for one answer: a tenth of a second. */
const max = 2_000

export function retainedOn(reading: Reading): (query: RetainedQuery) => Promise<RetainedFigures> {
  return async query => {
    const sums = new TrendSums()
    const { runs, backTo } = await readRetained(reading, { ...query, max }, countInto(sums, query))
    const rows = sums.rows().map(withBins)
    return { figures: trendsOfRows(rows, query.runner !== undefined), pipelines: runs, backTo }
  }
}

function withBins(row: TrendSum): StoredTrendRow {
  return { ...row, durations: row.durations.bins(), queues: row.queues.bins() }
}

function countInto(sums: TrendSums, query: RetainedQuery): CountChunk {
  return (chunk, failures) => {
    const { facts } = chunk.pipeline
    if (query.pipelineName !== undefined && foldedName(facts) !== query.pipelineName) return
    if (query.source !== undefined && facts.source !== query.source) return
    const counted = countedOf(ofRunner(chunk, query.runner), failures)
    for (const outcome of counted === undefined ? [] : outcomesOf(counted)) {
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

function matches(outcome: Outcome, { branch, runner }: RetainedQuery): boolean {
  if (runner !== undefined && outcome.job === '') return false
  return branch === undefined || outcome.branch === branch
}
