// Sums of what was counted and is not yet stored, so that each row is written once for many chunks. Pure.
import { BinCounts } from '../../../lib/log-bins.ts'
import { CostSums } from '../cost/sums.ts'
import { day, hour, type StoredTrendRow, type TrendFigures, type TrendStep } from './figures.ts'
import { SectionSums } from '../sections/sums.ts'
import type { CountedChunk, Ran } from './counted-chunk.ts'
import type { Millis } from '../../../model/instant.ts'

/** The names under which the pipelines of each project are counted. Their number is limited, as each makes rows of its own. */
export class PipelineNames {
  readonly #known = new Map<string, Set<string>>()

  /** Empty beyond the limit. */
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

/** Names of one project. Pipelines with further names are counted without one. */
export const maxNames = 20
const maxProjects = 10_000

/** A row whose bins are still being counted. */
export interface TrendSum extends Omit<StoredTrendRow, 'durations' | 'queues'> {
  readonly durations: BinCounts
  readonly queues: BinCounts
}

/** A figure to be added to the stored one. */
export interface Addition {
  readonly step: TrendStep
  readonly row: TrendSum
}

type Sum = { -readonly [Name in keyof TrendSum]: TrendSum[Name] }
/** What pipelines and jobs are grouped by. */
type Group = Omit<StoredTrendRow, keyof TrendFigures | 'bucket'>
/** One pipeline or job that ended. */
export interface Outcome extends Ran, Group {
  readonly endedAt: Millis
}
/** The sums of one project's hour and kind of pipelines, by job. */
type Hour = Pick<StoredTrendRow, 'bucket'> & Omit<Group, 'job' | 'project'> & { readonly sums: Map<string, Sum> }

/** The pipeline, once for its project and once for all pipelines, and the jobs. */
export function outcomesOf({ pipeline, jobs = [], ...counted }: CountedChunk): Outcome[] {
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
  /** Of the same chunks. */
  readonly costs = new CostSums()
  /** The sums of the insides of jobs. */
  readonly sections = new SectionSums()
  /** Daily figures are sums of hourly ones. */
  readonly #hours = new Map<string, Hour>()
  /** The jobs of one chunk mostly belong to one hour. */
  #last: Hour | undefined
  #size = 0

  /** How many hourly rows, rows of costs and of sections there are to write. */
  get size(): number {
    return this.#size + this.costs.size + this.sections.size
  }

  add(counted: CountedChunk): void {
    for (const outcome of outcomesOf(counted)) this.count(outcome)
    this.costs.add(counted)
    this.sections.add(counted)
  }

  count(outcome: Outcome): void {
    const { project, job, failed, flaky, tookMs, queuedMs } = outcome
    const { sums, ...its } = this.#hourOf(outcome)
    let sum = sums.get(job)
    if (sum === undefined) {
      sum = { ...its, project, job, ...noFigures() }
      sums.set(job, sum)
      this.#size += 1
    }
    sum.project = project
    sum.runs += 1
    if (failed) sum.failed += 1
    if (flaky === true) sum.flaky += 1
    sum.totalMs += tookMs
    sum.durations.count(tookMs)
    if (queuedMs !== undefined) sum.queues.count(queuedMs)
  }

  /** Hourly rows. */
  rows(): TrendSum[] {
    return [...this.#hours.values()].flatMap(({ sums }) => [...sums.values()])
  }

  additions(): Addition[] {
    const hours = this.rows()
    const days = new Map<string, Sum>()
    for (const row of hours) {
      const bucket = row.bucket - (row.bucket % day)
      const name = `${nameOf({ ...row, bucket })}\n${row.job}`
      const sum = days.get(name) ?? { ...row, bucket, ...noFigures() }
      days.set(name, sum)
      sum.project = row.project
      addNumbers(sum, row)
      sum.durations.add(row.durations)
      sum.queues.add(row.queues)
    }
    const of = (step: TrendStep, rows: Iterable<TrendSum>): Addition[] => [...rows].map(row => ({ step, row }))
    return [...of(hour, hours), ...of(day, days.values())]
  }

  #hourOf({ instance, projectId, branch, source, pipelineName, endedAt }: Outcome): Hour {
    const bucket = endedAt - (endedAt % hour)
    const last = this.#last
    if (last?.projectId === projectId && last.bucket === bucket && last.instance === instance) {
      if (last.branch === branch && last.source === source && last.pipelineName === pipelineName) return last
    }
    const its = { instance, projectId, bucket, branch, source, pipelineName }
    const name = nameOf(its)
    const found = this.#hours.get(name) ?? { ...its, sums: new Map<string, Sum>() }
    this.#hours.set(name, found)
    this.#last = found
    return found
  }
}

function nameOf({ projectId, bucket, instance, branch, source, pipelineName }: Omit<Hour, 'sums'>): string {
  return `${projectId} ${bucket} ${instance} ${branch} ${source}\n${pipelineName}`
}

function noFigures() {
  return { runs: 0, failed: 0, flaky: 0, totalMs: 0, durations: new BinCounts(), queues: new BinCounts() }
}

/** The sum of a stored figure and an increment. */
export function plus(known: TrendFigures, more: TrendSum): TrendSum {
  const sum = { ...more, durations: more.durations.copy(), queues: more.queues.copy() }
  addBoth(sum, known)
  return sum
}

/** The sum of the figures of several rows, with the other fields of the last one. One page adds up thousands. */
export function sumOf<Row extends TrendFigures>(rows: readonly Row[]): Row | undefined {
  const last = rows.at(-1)
  if (last === undefined || rows.length === 1) return last
  const sum = noFigures()
  for (const row of rows) addBoth(sum, row)
  return { ...last, ...sum, durations: sum.durations.bins(), queues: sum.queues.bins() }
}

type Numbers = Pick<Sum, 'runs' | 'failed' | 'flaky' | 'totalMs'>

function addBoth(sum: Numbers & Pick<TrendSum, 'durations' | 'queues'>, more: TrendFigures): void {
  addNumbers(sum, more)
  sum.durations.addBins(more.durations)
  sum.queues.addBins(more.queues)
}

function addNumbers(sum: Numbers, more: Readonly<Numbers>): void {
  sum.runs += more.runs
  sum.failed += more.failed
  sum.flaky += more.flaky
  sum.totalMs += more.totalMs
}
