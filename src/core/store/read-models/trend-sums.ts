// Figures over time of chunks that were read but not yet written, added up in memory so that each is written once for many
// chunks. Pure.
import { BinCounts } from '../../../lib/log-bins.ts'
import {
  day,
  hour,
  outcomesOf,
  type StoredTrendRow,
  type TrendFigures,
  type TrendOutcome,
  type TrendStep,
} from '../ports/trends.ts'
import { CostSums } from './cost-sums.ts'
import { SectionSums } from './section-sums.ts'
import { foldedName } from '../ports/pipeline-name.ts'
import type { Failures } from './earlier-failures.ts'
import type { Chunk } from '../../../model/chunk.ts'

// The names under which trends count the pipelines of a project. Their number is limited, as each makes rows of its own.

/** Names of one project. Pipelines with further names are counted without one. */
export const maxNames = 20
const maxProjects = 10_000

export class PipelineNames {
  readonly #known = new Map<string, Set<string>>()

  /** Empty for a pipeline without a name. */
  of({ key, project, pipeline }: Pick<Chunk, 'key' | 'project' | 'pipeline'>): string {
    const name = foldedName(pipeline.facts)
    if (name === '') return ''
    const its = `${key.instance} ${project.id}`
    let names = this.#known.get(its)
    if (names === undefined) {
      if (this.#known.size >= maxProjects) this.#known.clear()
      this.#known.set(its, (names = new Set()))
    }
    if (names.size < maxNames) names.add(name)
    return names.has(name) ? name : ''
  }
}

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

/** The sums of one project's hour and kind of pipelines, by job. */
interface Hour extends Pick<
  StoredTrendRow,
  'instance' | 'projectId' | 'bucket' | 'branch' | 'source' | 'pipelineName'
> {
  readonly sums: Map<string, Sum>
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
  readonly #names: Pick<PipelineNames, 'of'>

  constructor(names: Pick<PipelineNames, 'of'>) {
    this.#names = names
  }

  /** How many hourly rows there are to write. */
  get size(): number {
    return this.#size + this.costs.size + this.sections.size
  }

  /** `failedBefore`: in it and in the earlier chunks of the same run. */
  add(chunk: Chunk, failedBefore: Failures): void {
    const outcomes = outcomesOf(chunk, failedBefore, this.#names.of(chunk))
    for (const outcome of outcomes) this.count(outcome)
    this.costs.add(chunk)
  }

  count(outcome: TrendOutcome): void {
    count(this.#sumOf(outcome), outcome)
  }

  /** Hourly rows. */
  rows(): TrendSum[] {
    return [...this.#hours.values()].flatMap(({ sums }) => [...sums.values()])
  }

  additions(): Addition[] {
    const hours = this.rows()
    const days = new Map<string, Sum>()
    for (const row of hours) sumUp(days, row)
    const of = (step: TrendStep, rows: readonly TrendSum[]): Addition[] => rows.map(row => ({ step, row }))
    return [...of(hour, hours), ...of(day, [...days.values()])]
  }

  #sumOf(outcome: TrendOutcome): Sum {
    const { sums, ...its } = this.#hourOf(outcome)
    const known = sums.get(outcome.job)
    if (known !== undefined) return known
    const { project, job } = outcome
    const sum = {
      ...{ ...its, project, job },
      ...{ runs: 0, failed: 0, flaky: 0, totalMs: 0, durations: new BinCounts(), queues: new BinCounts() },
    }
    sums.set(job, sum)
    this.#size += 1
    return sum
  }

  #hourOf({ instance, projectId, branch, source, pipelineName, endedAt }: TrendOutcome): Hour {
    const bucket = endedAt - (endedAt % hour)
    const last = this.#last
    if (last?.projectId === projectId && last.bucket === bucket && last.instance === instance) {
      if (last.branch === branch && last.source === source && last.pipelineName === pipelineName) return last
    }
    const name = `${projectId} ${bucket} ${instance} ${branch} ${source}\n${pipelineName}`
    const its = { instance, projectId, bucket, branch, source, pipelineName }
    const found = this.#hours.get(name) ?? { ...its, sums: new Map<string, Sum>() }
    this.#hours.set(name, found)
    this.#last = found
    return found
  }
}

function count(sum: Sum, { project, failed, flaky, tookMs, queuedMs }: TrendOutcome): void {
  sum.project = project
  sum.runs += 1
  if (failed) sum.failed += 1
  if (flaky) sum.flaky += 1
  sum.totalMs += tookMs
  sum.durations.count(tookMs)
  if (queuedMs !== undefined) sum.queues.count(queuedMs)
}

/** Adds an hourly row to its day. */
function sumUp(sums: Map<string, Sum>, row: TrendSum): void {
  const bucket = row.bucket - (row.bucket % day)
  const name = `${row.projectId} ${bucket} ${row.instance} ${row.branch} ${row.source}\n${row.pipelineName}\n${row.job}`
  const sum = sums.get(name)
  if (sum === undefined) {
    sums.set(name, { ...row, bucket, durations: row.durations.copy(), queues: row.queues.copy() })
    return
  }
  sum.project = row.project
  addNumbers(sum, row)
  sum.durations.add(row.durations)
  sum.queues.add(row.queues)
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
  const sum = { runs: 0, failed: 0, flaky: 0, totalMs: 0, durations: new BinCounts(), queues: new BinCounts() }
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
