// Chooses the rows that are drawn of a very large family: its pipelines, and the most important jobs with their stages. Pure.
import { hasFailed, isRunning } from '../../model/status.ts'
import type { WaterfallRow } from './waterfall-row.ts'

/** Beyond this many rows only failed jobs are drawn. */
const maxRows = 1_000

/** The stage of each job. Between jobs of one stage there may be a child pipeline with stages of its own, which are deeper. */
export function stagesOf(rows: readonly WaterfallRow[]): ReadonlyMap<WaterfallRow, WaterfallRow> {
  const stages = new Map<WaterfallRow, WaterfallRow>()
  const lastAt = new Map<number, WaterfallRow>()
  for (const row of rows) {
    if (row.kind === 'stage') lastAt.set(row.depth, row)
    const stage = row.kind === 'job' ? lastAt.get(row.depth - 1) : undefined
    if (stage !== undefined) stages.set(row, stage)
  }
  return stages
}

/** The chosen rows in their order, including all failed ones. A stage says how many of its jobs are left out. */
export function drawnRows(rows: readonly WaterfallRow[]): readonly WaterfallRow[] {
  if (rows.length <= maxRows) return rows
  const stageOf = stagesOf(rows)
  const drawn = new Set(rows.filter(row => row.kind === 'pipeline').slice(0, maxRows))
  const jobs = rows.filter(row => row.kind === 'job').sort((a, b) => weight(a) - weight(b) || took(b) - took(a))
  for (const job of jobs) {
    const its = stageOf.get(job)
    const more = [job, ...(its === undefined || drawn.has(its) ? [] : [its])]
    if (isFailure(job) || drawn.size + more.length <= maxRows) for (const row of more) drawn.add(row)
  }
  const left = Map.groupBy(
    jobs.filter(job => !drawn.has(job)),
    job => stageOf.get(job),
  )
  return rows
    .filter(row => drawn.has(row))
    .map(row => (left.has(row) ? { ...row, note: `${left.get(row)?.length} more not drawn` } : row))
}

function isFailure({ status }: WaterfallRow): boolean {
  return hasFailed(status) || status === 'warning'
}

/** The order of importance: failed, running, on the critical path, failed but retried, others. */
function weight(row: WaterfallRow): number {
  const { status, critical, retried } = row
  if (isFailure(row)) return retried ? 3 : 0
  if (isRunning(status)) return 1
  return critical ? 2 : 4
}

function took({ start, end }: WaterfallRow): number {
  return start === undefined || end === undefined ? 0 : end - start
}
