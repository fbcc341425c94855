// Trend sums that are counted but not stored yet, so that each row is written once for many chunks. The functions in this file are pure.
import { BinCounts } from '../../../lib/log-bins.ts'
import { CostSums } from '../cost/rows.ts'
import { day, hour, type StoredTrendRow, type TrendFigures, type TrendStep } from './figures.ts'
import type { CountedChunk, Ran } from './counted-chunk.ts'
import type { Millis } from '../../../model/instant.ts'

/** The names under which each project's pipelines are counted. Their number is limited, because each name has its own rows. */
export class PipelineNames {
  readonly #known = new Map<string, Set<string>>()

  /** Returns the name under which a pipeline is counted; empty if its project already has the maximum number of names. */
  of({ instance, projectId, pipelineName: name }: CountedChunk): string {
    if (name === '') return ''
    const its = `${instance} ${projectId}`
    let names = this.#known.get(its)
    if (names === undefined) {
      if (this.#known.size >= maxProjects) this.#known.clear()
      this.#known.set(its, (names = new Set()))
    }
    if (names.size < maxNames) names.add(name)
    return names.has(name) ? name : ''
  }
}

/** The maximum number of pipeline names per project. Pipelines with other names are counted without a name. */
export const maxNames = 20
const maxProjects = 10_000

/** The fields by which pipelines and jobs are grouped. */
type Group = Omit<StoredTrendRow, keyof TrendFigures | 'bucket'>
/** A pipeline or job that ended, with the group it is counted in. */
export interface Outcome extends Ran, Group {
  readonly endedAt: Millis
}

type Figures = { -readonly [Name in keyof Omit<TrendFigures, 'durations' | 'queues'>]: number } & {
  readonly durations: BinCounts
  readonly queues: BinCounts
}
/** A trend row that runs are still being added to. */
export type TrendSum = Group & { readonly bucket: Millis } & Figures

/** A row of sums to be added to the stored row. */
export interface Addition {
  readonly step: TrendStep
  readonly row: TrendSum
}

/**
 * Returns the outcomes in a chunk: one for each job that passed or failed, and two for its pipeline, one of which counts for the project and the
 * other for all pipelines together.
 */
export function outcomesOf({ pipeline, jobs, ...counted }: CountedChunk): Outcome[] {
  const { instance, projectId, project, branch, source, pipelineName } = counted
  const own = { instance, projectId, project, branch, source, pipelineName, job: '' }
  const ofAll = { ...own, instance: '', projectId: 0, project: '', pipelineName: '' }
  return [
    ...(pipeline === undefined ? [] : [own, ofAll].map(its => ({ ...its, ...pipeline }))),
    ...jobs.flatMap(({ name, endedAt, ran }) =>
      ran === undefined ? [] : { ...own, source: '', pipelineName: '', job: name, endedAt, ...ran },
    ),
  ]
}

export class TrendSums {
  /** The cost sums of the same chunks as the trend sums. */
  readonly costs = new CostSums()
  readonly #step: TrendStep
  readonly #rows = new Map<string, TrendSum>()

  constructor(step: TrendStep = hour) {
    this.#step = step
  }

  /** The number of rows to write, including cost rows. */
  get size(): number {
    return this.#rows.size + this.costs.size
  }

  add(counted: CountedChunk): void {
    for (const outcome of outcomesOf(counted)) this.count(outcome)
    this.costs.add(counted)
  }

  count({ endedAt, failed, flaky, tookMs, queuedMs, ...group }: Outcome): void {
    const sum = sumIn(this.#rows, group, endedAt - (endedAt % this.#step))
    sum.runs += 1
    if (failed) sum.failed += 1
    if (flaky === true) sum.flaky += 1
    sum.totalMs += tookMs
    sum.durations.count(tookMs)
    if (queuedMs !== undefined) sum.queues.count(queuedMs)
  }

  rows(): TrendSum[] {
    return [...this.#rows.values()]
  }

  /** Returns the hourly rows and the daily rows, which are sums of the hourly ones. */
  additions(): Addition[] {
    const days = new Map<string, TrendSum>()
    for (const { bucket, ...row } of this.#rows.values()) {
      const sum = sumIn(days, row, bucket - (bucket % day))
      addNumbers(sum, row)
      sum.durations.add(row.durations)
      sum.queues.add(row.queues)
    }
    const of = (step: TrendStep, rows: Iterable<TrendSum>): Addition[] => [...rows].map(row => ({ step, row }))
    return [...of(hour, this.rows()), ...of(day, days.values())]
  }
}

/** Returns the row of a group, with the project's latest path. */
function sumIn(rows: Map<string, TrendSum>, group: Group, bucket: Millis): TrendSum {
  const { instance, projectId, branch, source, pipelineName, job, project } = group
  const key = `${projectId} ${bucket} ${instance} ${branch} ${source}\n${pipelineName}\n${job}`
  const known = rows.get(key)
  if (known?.project === project) return known
  const its = { instance, projectId, branch, source, pipelineName, job, project, bucket }
  const sum = { ...(known ?? noFigures()), ...its }
  rows.set(key, sum)
  return sum
}

function noFigures(): Figures {
  return { runs: 0, failed: 0, flaky: 0, totalMs: 0, durations: new BinCounts(), queues: new BinCounts() }
}

/**
 * Returns the sum of several trend rows; all other fields are taken from the last row. It must be fast, because one page adds up thousands of rows.
 */
export function sumOf<Row extends TrendFigures>(rows: readonly Row[]): Row | undefined {
  const last = rows.at(-1)
  if (last === undefined || rows.length === 1) return last
  const sum = noFigures()
  for (const row of rows) addFigures(sum, row)
  return { ...last, ...sum, durations: sum.durations.bins(), queues: sum.queues.bins() }
}

export function addFigures(sum: Figures, more: TrendFigures): void {
  addNumbers(sum, more)
  sum.durations.addBins(more.durations)
  sum.queues.addBins(more.queues)
}

type Numbers = Omit<Figures, 'durations' | 'queues'>

function addNumbers(sum: Numbers, more: Readonly<Numbers>): void {
  sum.runs += more.runs
  sum.failed += more.failed
  sum.flaky += more.flaky
  sum.totalMs += more.totalMs
}
