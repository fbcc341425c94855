// Runner time and costs of jobs by day: the stored rows, the sums that are not stored yet, and the queries. These functions are pure.
import { day } from '../counting/figures.ts'
import type { BranchClass } from '../../../model/pipeline.ts'
import type { CostLine, CostSum, RetainedCosts } from './shape.ts'
import type { FiguresQuery } from '../../../core/store/ports/project-scope.ts'
import type { Millis } from '../../../model/instant.ts'
import type { CountedChunk, Used, WastedPurpose } from '../counting/counted-chunk.ts'

/** The wasted purposes, in the order of the tables. */
export const wastedPurposes = ['retried', 'superseded', 'failed'] as const satisfies readonly WastedPurpose[]

/** The costs of one day. They cover either one job, or (job '') all jobs of a project with the same class of branch and type of runner. */
export interface CostRow {
  /** The start of the row's day, UTC. */
  readonly bucket: Millis
  readonly projectId: number
  readonly job: string
  readonly instance: string
  /** The class of branches; empty in the row of one job, which covers all branches and runners. */
  readonly branch: BranchClass | ''
  /** The type of the runner; empty if it is unknown, and in the row of one job. */
  readonly worker: string
  /** The project's latest known full path. */
  readonly project: string
  readonly runs: number
  /** The sum of the job time, whole ms. */
  readonly totalMs: number
  /** The cost in the currency of the price table; 0 without a price. */
  readonly cost: number
  /** The wasted part of the time and cost, by purpose. */
  readonly wasted: Readonly<Record<WastedPurpose, CostSum>>
}

/** The fields by which cost sums can be grouped. `place` is a project and a class of branch. */
export const costGroups = ['total', 'project', 'place', 'job', 'branch', 'worker', 'day'] as const
export type CostGroup = (typeof costGroups)[number]

export interface CostQuery extends FiguresQuery {
  /** The id of the project; undefined for all projects. */
  readonly projectId?: number | undefined
}

/** A query of costs that only the stored runs can answer, because daily sums have neither exact branches nor runners. */
export interface RetainedCostQuery extends CostQuery {
  /** The maximum number of lines in each list of costs. */
  readonly limit: number
  /** The maximum number of pipelines that are read. If undefined, it is 5,000: reading them takes a fifth of a second. */
  readonly max?: number | undefined
}

export interface CostReads {
  /** Returns lines of costs, the most expensive first or, without prices, the longest first. Lines of days are in order of time. */
  lines(by: CostGroup, query: CostQuery, limit: number): Promise<readonly CostLine[]>
  /** Adds up the jobs of stored pipelines that ended on the whole days of the period. It reads a limited number of pipelines, the newest first. */
  retained(query: RetainedCostQuery): Promise<RetainedCosts>
}

type Changing<T> = { -readonly [Name in keyof T]: T[Name] }
/** The sums over the jobs that one row of costs covers. */
export type CostTotal = Changing<Pick<CostRow, 'runs' | 'totalMs' | 'cost'>> & {
  readonly wasted: Readonly<Record<WastedPurpose, Changing<CostSum>>>
}
type Sum = Omit<CostRow, keyof CostTotal> & CostTotal

/** Sums of costs over many chunks, so that each row is written once for all of them. */
export class CostSums {
  readonly #rows = new Map<string, Sum>()

  get size(): number {
    return this.#rows.size
  }

  /** Adds the time of each job to the row of its project and, if the job has a name, to its own row. */
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

/** Returns the start of the day (UTC) that contains this time. */
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
