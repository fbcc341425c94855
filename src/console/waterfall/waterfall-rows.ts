// The rows of a waterfall chart: the pipelines, stages and jobs of a family in order, with their times. The functions in this file are pure.
import { hasFailed, isRunning } from '../../model/status.ts'
import { criticalPath, type CriticalPath, type Ran } from '../../model/critical-path.ts'
import { earliest, latest, type Millis } from '../../model/instant.ts'
import { everyJob, shownJobs, type JobFilter } from '../pipelines/job-filter.ts'
import { startOf } from '../pipelines/run-card.ts'
import { byStart, statusOf } from '../pipelines/job-card.ts'
import type { FamilyMember } from '../pipelines/pipeline-detail.ts'
import type { RunCard } from '../pipelines/run-card.ts'
import type { JobCard } from '../pipelines/job-card.ts'
import type { WaterfallRow } from './waterfall-row.ts'

// Chooses which rows of a very large family are drawn: its pipelines, and the most important jobs with their stages.

/** The maximum number of rows. Only failed jobs are drawn in addition to this number. */
const maxRows = 1_000

/** Returns each job's stage. A child pipeline may appear between two jobs of a stage; its own stages are at a deeper level. */
function stagesOf(rows: readonly WaterfallRow[]): ReadonlyMap<WaterfallRow, WaterfallRow> {
  const stages = new Map<WaterfallRow, WaterfallRow>()
  const lastAt = new Map<number, WaterfallRow>()
  for (const row of rows) {
    if (row.kind === 'stage') lastAt.set(row.depth, row)
    const stage = row.kind === 'job' ? lastAt.get(row.depth - 1) : undefined
    if (stage !== undefined) stages.set(row, stage)
  }
  return stages
}

/** Returns the selected rows in order, including all failed jobs. Each stage has a note with the number of jobs omitted from it. */
function drawnRows(rows: readonly WaterfallRow[]): readonly WaterfallRow[] {
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

/** Returns a row's importance, in this order: failed, running, on the critical path, failed but retried, others. */
function weight(row: WaterfallRow): number {
  const { status, critical, retried } = row
  if (isFailure(row)) return retried ? 3 : 0
  if (isRunning(status)) return 1
  return critical ? 2 : 4
}

function took({ start, end }: WaterfallRow): number {
  return start === undefined || end === undefined ? 0 : end - start
}

export interface Waterfall {
  readonly rows: readonly WaterfallRow[]
  readonly from: Millis
  readonly to: Millis
  /** The critical path of the pipeline shown on this page. */
  readonly path: CriticalPath
  /** The number of omitted jobs (out of `ofJobs`) and omitted pipelines. */
  readonly left: { readonly jobs: number; readonly ofJobs: number; readonly pipelines: number }
}

/** Computes the rows of a waterfall chart. `filter` selects which jobs get rows. The time axis is the same with and without a filter. */
export function waterfallOf(root: FamilyMember, asked: number, now: Millis, filter = everyJob): Waterfall {
  const rows: WaterfallRow[] = []
  addPipeline(root, 0, true, rows)
  const times = rows.flatMap(row => [row.queued, row.start, row.end])
  const first = earliest(times)
  const from = first ?? now
  const to = first === undefined ? now + 1 : (latest([first + 1_000, ...times]) ?? now)
  const card = find(root, asked)?.card
  const path = criticalPath(card === undefined ? [] : ranOf(card.jobs))
  const wanted = filteredRows(rows, filter)
  const drawn = drawnRows(wanted)
  const jobsOf = (some: readonly WaterfallRow[]): number => some.filter(({ kind }) => kind === 'job').length
  const ofJobs = jobsOf(wanted)
  return { rows: drawn, from, to, path, left: { jobs: ofJobs - jobsOf(drawn), ofJobs, pipelines: leftOut(root) } }
}

/** Returns the rows of all pipelines, of the jobs that match the filter, and of the stages that contain such a job. */
function filteredRows(rows: readonly WaterfallRow[], filter: JobFilter): readonly WaterfallRow[] {
  const stages = stagesOf(rows)
  const jobs = [...stages].map(([{ id, label, status, critical, start, end }, its]) => ({
    ...{ id, name: label, stage: its.label, status, isCritical: critical },
    ranMs: start === undefined || end === undefined ? undefined : end - start,
  }))
  const shown = shownJobs(filter, jobs)
  if (shown === undefined) return rows
  const kept = new Set([...stages].filter(([{ id }]) => shown.has(id)).map(([, its]) => its))
  return rows.filter(row => (row.kind === 'job' ? shown.has(row.id) : row.kind !== 'stage' || kept.has(row)))
}

function leftOut({ left, children }: FamilyMember): number {
  return children.reduce((sum, child) => sum + leftOut(child), left)
}

function find(member: FamilyMember, id: number): FamilyMember | undefined {
  if (member.card.pipelineId === id) return member
  for (const child of member.children) {
    const found = find(child, id)
    if (found !== undefined) return found
  }
  return undefined
}

function addPipeline(member: FamilyMember, depth: number, critical: boolean, rows: WaterfallRow[]): void {
  const { card, children } = member
  const { projectId, pipelineId } = card
  const path = new Set(critical ? criticalPath(ranOf(card.jobs)).ids : [])
  const base = { projectId, pipelineId, retried: false, critical: false }
  rows.push({
    ...base,
    ...spanOf(card),
    kind: 'pipeline',
    id: pipelineId,
    label: card.name ?? card.project,
    note: `${card.name === undefined ? '' : `${card.project.slice(card.project.lastIndexOf('/') + 1)} `}#${pipelineId}`,
    status: card.status,
    depth,
  })
  const placed = new Set<FamilyMember>()
  for (const [stage, jobs] of Map.groupBy(card.jobs, job => job.stage)) {
    rows.push({
      ...base,
      ...around(jobs),
      kind: 'stage',
      id: jobs[0]?.id ?? 0,
      label: stage || 'no stage',
      status: '',
      depth: depth + 1,
    })
    for (const job of jobs.toSorted(byStart)) {
      rows.push(jobRow(job, card, depth + 2, path.has(job.id)))
      for (const child of children.filter(
        one => one.triggeredBy === job.id || job.downstreamId === one.card.pipelineId,
      )) {
        if (placed.has(child)) continue
        placed.add(child)
        addPipeline(child, depth + 3, path.has(job.id), rows)
      }
    }
  }
  for (const child of children) if (!placed.has(child)) addPipeline(child, depth + 2, false, rows)
}

function jobRow(job: JobCard, { projectId, pipelineId }: RunCard, depth: number, critical: boolean): WaterfallRow {
  const { startedAt, queuedMs, ranMs } = job
  const queued = startedAt === undefined || queuedMs === undefined ? undefined : startedAt - queuedMs
  return {
    kind: 'job',
    id: job.id,
    label: job.name,
    note: noteOf(job),
    status: statusOf(job),
    depth,
    queued,
    start: startedAt,
    end: startedAt === undefined || ranMs === undefined ? undefined : startedAt + ranMs,
    critical,
    retried: job.retried,
    projectId,
    pipelineId,
  }
}

function noteOf(job: JobCard): string | undefined {
  if (job.retried) return 'retried'
  if (job.kind === 'bridge') return 'bridge'
  return hasFailed(job.status) && job.allowFailure ? 'allowed to fail' : undefined
}

/** Returns the jobs that ran or are running. Running jobs end at the current time. */
export function ranOf(jobs: readonly JobCard[]): Ran[] {
  return jobs.flatMap(({ id, startedAt, ranMs }) =>
    startedAt === undefined || ranMs === undefined ? [] : [{ id, start: startedAt, end: startedAt + ranMs }],
  )
}

/** Returns the start and end of a run. They are chosen so that the length of its bar matches the elapsed time shown on other pages. */
function spanOf(card: RunCard): Pick<WaterfallRow, 'start' | 'end'> {
  const start = startOf(card)
  if (start === undefined) return {}
  return { start, end: card.spentMs === undefined ? (around(card.jobs).end ?? start) : start + card.spentMs }
}

function around(jobs: readonly JobCard[]): Pick<WaterfallRow, 'start' | 'end'> {
  const ran = ranOf(jobs)
  return { start: earliest(ran.map(job => job.start)), end: latest(ran.map(job => job.end)) }
}
