// The lists of `pipespan top`: one line for each pipeline, in aligned columns.
import { durationText } from '../../model/instant.ts'
import { groupNameOf } from '../../model/job.ts'
import { padded, plain, widthOf, type Paint, type Piece } from './fitted-text.ts'
import type { Overview } from '../../console/overview/overview-shape.ts'

interface Cells {
  readonly project: string
  readonly pipeline: string
  readonly took: string
  readonly usual: string
  readonly jobs: string
}

const marks: Readonly<Record<string, readonly [Paint, string]>> = {
  success: ['green', '✓'],
  failed: ['red', '✗'],
  canceled: ['yellow', '■'],
  running: ['blue', '▶'],
}
/** The maximum number of running or failed jobs that a line names. */
const maxNames = 3
/** A pipeline is slow if it takes longer than `slack` times the 95th percentile of at least `minRuns` runs. The web pages use the same rule. */
const [minRuns, slack] = [20, 1.1]
/** The number of columns that a line uses for its status mark and for the gaps between columns. */
const frameColumns = 4 + 4 * 2

/** Formats a line for each pipeline. `width` is the width of the screen; if it is Infinity, each column is as wide as its longest value. */
export function pipelineRows(
  pipelines: readonly LivePipeline[],
  { width, selected }: { readonly width: number; readonly selected?: string | undefined },
): (readonly Piece[])[] {
  const cells = pipelines.map(cellsOf)
  const widest = (column: keyof Cells): number => Math.max(0, ...cells.map(one => widthOf(one[column])))
  const [took, usual] = [widest('took'), widest('usual')]
  const room = Math.max(0, width - frameColumns - took - usual)
  const project = Math.min(widest('project'), Math.max(8, Math.floor(room * 0.35)))
  const pipeline = Math.min(widest('pipeline'), Math.max(8, Math.floor((room - project) * 0.5)))
  return pipelines.map((one, index) => {
    const cell = cells[index] ?? cellsOf(one)
    const texts: Piece[] = [
      ` ${padded(cell.project, project)}  ${padded(cell.pipeline, pipeline)}  `,
      [isSlow(one) ? 'yellow' : 'dim', cell.took.padStart(took)],
      ['dim', `  ${padded(cell.usual, usual)}  `],
      [one.failures.length > 0 ? 'red' : 'dim', cell.jobs],
    ]
    const isSelected = keyOf(one) === selected
    return [
      isSelected ? '> ' : '  ',
      marks[one.status] ?? ['dim', '·'],
      ...(isSelected ? texts.map((piece): Piece => ['inverse', typeof piece === 'string' ? piece : piece[1]]) : texts),
    ]
  })
}

function cellsOf(one: LivePipeline): Cells {
  const { project, name, ref = '', pipelineId, spentMs, usual } = one
  return {
    project: plain(project),
    pipeline: plain(`${name ?? ref} #${pipelineId}`),
    took: spentMs === undefined ? '' : durationText(spentMs),
    usual: usual?.p50 === undefined ? '' : `≈ ${durationText(usual.p50)}`,
    jobs: plain(jobsText(one)),
  }
}

/** Returns `3/12 build, unit tests +2` for a running pipeline, the failed jobs of a failed pipeline, or else the number of jobs. */
function jobsText({ jobs, failures, finishedAt }: LivePipeline): string {
  const own = jobs.filter(({ retried }) => !retried)
  const names = (some: readonly { readonly name: string }[]): string => {
    const all = [...new Set(some.map(({ name }) => groupNameOf(name)))]
    const more = all.length - maxNames
    return all.slice(0, maxNames).join(', ') + (more > 0 ? ` +${more}` : '')
  }
  if (failures.length > 0) return names(failures)
  if (finishedAt !== undefined) return `${own.length} ${own.length === 1 ? 'job' : 'jobs'}`
  const of = (...statuses: string[]) => own.filter(({ status }) => statuses.includes(status))
  const done = `${of('success', 'failed', 'canceled', 'skipped').length}/${own.length}`
  const [running, pending] = [of('running'), of('pending')]
  if (running.length > 0) return `${done} ${names(running)}`
  return pending.length > 0 ? `${done} waiting for a runner: ${names(pending)}` : done
}

function isSlow({ spentMs, usual }: LivePipeline): boolean {
  const { runs = 0, p95 } = usual ?? {}
  return spentMs !== undefined && p95 !== undefined && runs >= minRuns && spentMs > p95 * slack
}

// The state that `pipespan top` draws: the fields that it needs from `GET /api/overview`.
export type LiveState = Pick<
  Overview,
  'notices' | 'flow' | 'quarantined' | 'queues' | 'active' | 'running' | 'finished'
>
export type LivePipeline = LiveState['running'][number]
export type LiveJob = LivePipeline['jobs'][number]

/** Returns a key that identifies a pipeline even if its line moves. */
export function keyOf({ instance, pipelineId }: LivePipeline): string {
  return `${instance} ${pipelineId}`
}

/** Whether the pipeline's status or one of its names contains this string. Every pipeline matches an empty string. */
export function matches({ project, pipelineId, name, ref, status, jobs }: LivePipeline, text: string): boolean {
  const wanted = text.toLowerCase()
  const texts = [project, `#${pipelineId}`, name ?? '', ref ?? '', status, ...jobs.map(job => job.name)]
  return texts.some(one => one.toLowerCase().includes(wanted))
}
