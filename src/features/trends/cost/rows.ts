// Runner time and costs of jobs by day: the rows that are stored, and what may be asked of them.
import type { BranchClass } from '../../../model/pipeline.ts'
import type { FiguresQuery } from '../../../core/store/ports/project-scope.ts'
import type { Millis } from '../../../model/instant.ts'
import type { WastedPurpose } from '../counting/counted-chunk.ts'

/** In the order of the tables. */
export const wastedPurposes = ['retried', 'superseded', 'failed'] as const satisfies readonly WastedPurpose[]

/** The sum of a day: of all jobs of a project (job '') by class of branch and type of runner, or of one job. */
export interface CostRow {
  /** Start of the day, UTC. */
  readonly bucket: Millis
  readonly projectId: number
  readonly job: string
  readonly instance: string
  /** Empty in the row of one job, which covers all branches and runners. */
  readonly branch: BranchClass | ''
  /** The type of the runner; empty if unknown, and in the row of one job. */
  readonly worker: string
  /** Full path, as last known. */
  readonly project: string
  readonly runs: number
  /** Whole ms. */
  readonly totalMs: number
  /** In the currency of the price table; 0 without a price. */
  readonly cost: number
  /** How much of that was wasted. */
  readonly wasted: Readonly<Record<WastedPurpose, CostSum>>
}

/** What sums are grouped by. `place`: project and class of branch. */
export const costGroups = ['total', 'project', 'place', 'job', 'branch', 'worker', 'day'] as const
export type CostGroup = (typeof costGroups)[number]

export interface CostQuery extends FiguresQuery {
  /** Undefined: all projects. */
  readonly projectId?: number | undefined
}

export interface CostSum {
  readonly totalMs: number
  readonly cost: number
}

/** The sum of one group. */
export interface CostLine extends CostSum {
  readonly projectId?: number | undefined
  /** Full path; empty if the group is over several projects. */
  readonly project: string
  /** Job, branch class or runner type. */
  readonly name: string
  readonly bucket?: Millis | undefined
  readonly runs: number
  readonly wasted: Readonly<Record<WastedPurpose, CostSum>>
}

/** A query that only the stored runs can answer, because daily sums have neither exact branches nor runners. */
export interface RetainedCostQuery extends CostQuery {
  /** Of each list. */
  readonly limit: number
  /** Pipelines that are read; undefined: 5,000, which takes a fifth of a second. */
  readonly max?: number | undefined
}

/** The sum of one runner: `name` is its description. Several projects may share it: `project` is empty. */
export interface RunnerCostLine extends CostLine {
  /** Undefined: jobs of which no runner is known. */
  readonly runnerId?: number | undefined
  /** The type of the runner; empty if unknown. */
  readonly worker: string
}

export interface RetainedCosts {
  /** By project and exact branch or tag, which is the `name`; the most expensive first, or without prices the longest. */
  readonly branches: readonly CostLine[]
  /** In the same order. */
  readonly runners: readonly RunnerCostLine[]
  /** The sum of all counted jobs, also of those in neither list. */
  readonly total: Omit<CostLine, 'projectId' | 'project' | 'name' | 'bucket'>
  /** How many pipelines were counted. */
  readonly pipelines: number
  /** The creation of the oldest pipeline that is stored, of any project; undefined if none is. */
  readonly storedSince?: Millis | undefined
  /** Set if there were too many: only pipelines created since then were counted. */
  readonly backTo?: Millis | undefined
}

export interface CostReads {
  /** The most expensive first, or without prices the longest; days in their order. */
  lines(by: CostGroup, query: CostQuery, limit: number): Promise<readonly CostLine[]>
  /** Adds up the jobs of stored pipelines that ended in whole days of this time; a limited number of pipelines, the newest first. */
  retained(query: RetainedCostQuery): Promise<RetainedCosts>
}
