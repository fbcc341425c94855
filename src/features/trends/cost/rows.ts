// The runner time and cost of jobs by day: stored rows, sums not yet stored, and queries. The functions in this file are pure.
import { day } from '../counting/figures.ts'
import type { BranchClass } from '../../../model/pipeline.ts'
import type { CostLine, CostSum, RetainedCosts } from './shape.ts'
import type { FiguresQuery } from '../../../core/store/ports/project-scope.ts'
import type { Millis } from '../../../model/instant.ts'
import type { CountedChunk, Used, WastedPurpose } from '../counting/counted-chunk.ts'

/** The kinds of waste, in the order in which the cost tables show them. */
export const wastedPurposes = ['retried', 'superseded', 'failed'] as const satisfies readonly WastedPurpose[]

/** The costs of one day, either of one job or (job '') of all jobs of a project with the same branch class and runner type. */
export interface CostRow {
  /** The start of the row's day, UTC. */
  readonly bucket: Millis
  readonly projectId: number
  readonly job: string
  readonly instance: string
  /** The branch class; empty in a row for one job, which covers all branches and runners. */
  readonly branch: BranchClass | ''
  /** The runner type; empty if unknown, and in a row for one job. */
  readonly worker: string
  /** The latest known full path of the project. */
  readonly project: string
  readonly runs: number
  /** The total job time, whole ms. */
  readonly totalMs: number
  /** The cost in the price table's currency; 0 without a price. */
  readonly cost: number
  readonly wasted: Readonly<Record<WastedPurpose, CostSum>>
}

/** The fields by which cost sums can be grouped. `place` is a project and a branch class. */
export const costGroups = ['total', 'project', 'place', 'job', 'branch', 'worker', 'day'] as const
export type CostGroup = (typeof costGroups)[number]

export interface CostQuery extends FiguresQuery {
  /** The ID of the project; undefined for all projects. */
  readonly projectId?: number | undefined
  /** Limits the costs to one instance, because projects of several instances may have the same id. */
  readonly instance?: string | undefined
}

/** A cost query by exact branch or by runner. Only the stored runs can answer it, because the daily sums contain neither. */
export interface RetainedCostQuery extends CostQuery {
  /** The maximum number of rows in each cost list. */
  readonly limit: number
  /** The maximum number of pipelines to read; 5,000 by default, which takes a fifth of a second. */
  readonly max?: number | undefined
}

export interface CostReads {
  /** Returns cost rows, the most expensive first or, without prices, the longest first. Daily rows are in chronological order. */
  lines(by: CostGroup, query: CostQuery, limit: number): Promise<readonly CostLine[]>
  /** Adds up the jobs of stored pipelines that ended on the whole days of the period. It reads a limited number of pipelines, the newest first. */
  retained(query: RetainedCostQuery): Promise<RetainedCosts>
}

type Changing<T> = { -readonly [Name in keyof T]: T[Name] }
/** The sums over the jobs that one cost row covers. */
export type CostTotal = Changing<Pick<CostRow, 'runs' | 'totalMs' | 'cost'>> & {
  readonly wasted: Readonly<Record<WastedPurpose, Changing<CostSum>>>
}
type Sum = Omit<CostRow, keyof CostTotal> & CostTotal

/** Cost sums over many chunks, so that each row is written once for all of them. */
export class CostSums {
  readonly #rows = new Map<string, Sum>()

  get size(): number {
    return this.#rows.size
  }

  /** Adds each job's time to its project's row and, if the job has a name, to its own row. */
  add({ jobs, instance, projectId, project, branch }: CountedChunk): void {
    for (const { name, endedAt, used } of jobs) {
      if (used === undefined) continue
      const its = { bucket: dayOf(endedAt), projectId, instance, project }
      this.#count({ ...its, job: '', branch, worker: used.worker }, used)
      if (name !== '') this.#count({ ...its, job: name, branch: '', worker: '' }, used)
    }
  }

  rows(): CostRow[] {
    return [...this.#rows.values()]
  }

  #count(group: Omit<CostRow, keyof CostTotal>, used: Used): void {
    const { bucket, projectId, instance, branch, worker, job } = group
    const key = `${projectId} ${bucket} ${instance} ${branch} ${worker}\n${job}`
    const known = this.#rows.get(key)
    const sum = known?.project === group.project ? known : { ...(known ?? noCosts()), ...group }
    if (sum !== known) this.#rows.set(key, sum)
    countCost(sum, used)
  }
}

/** Returns the start of the day (UTC) that contains the given time. */
export function dayOf(at: Millis): Millis {
  return at - (at % day)
}

export function countCost(sum: CostTotal, { totalMs, cost = 0, wasted }: Used): void {
  sum.runs += 1
  for (const one of wasted === undefined ? [sum] : [sum, sum.wasted[wasted]]) {
    one.totalMs += totalMs
    one.cost += cost
  }
}

export function noCosts(): CostTotal {
  const none = (): Changing<CostSum> => ({ totalMs: 0, cost: 0 })
  return { ...none(), runs: 0, wasted: { retried: none(), superseded: none(), failed: none() } }
}
