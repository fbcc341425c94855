// Runner time and costs of jobs by day: what one chunk adds, and the possible queries. Pure.
import { branchClassOf, type BranchClass } from '../../../model/pipeline.ts'
import { computePurposeOf, computeSeconds, type ComputePurpose } from '../../../model/runner-time.ts'
import { day, trendJob } from './trends.ts'
import { plainText } from '../sql/plain-text.ts'
import type { FiguresQuery } from './project-scope.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { Millis } from '../../../model/instant.ts'

/** How a job's time was wasted: every purpose but `useful`. A run that passed is useful, also after a failure. */
export const wastedPurposes = ['retried', 'superseded', 'failed'] as const satisfies readonly ComputePurpose[]
export type WastedPurpose = Exclude<ComputePurpose, 'useful'>

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

/** The runner time of a job. */
export interface JobCost extends CostSum {
  readonly bucket: Millis
  readonly instance: string
  readonly projectId: number
  readonly project: string
  /** Empty if it has no name. */
  readonly job: string
  readonly branch: BranchClass
  readonly worker: string
  /** Undefined if it was not wasted. */
  readonly wasted: WastedPurpose | undefined
}

/** What those jobs of a chunk add that used a runner. */
export function costsOf(chunk: Chunk): JobCost[] {
  const { key, project, pipeline } = chunk
  const path = plainText(project.path ?? project.name ?? '')
  const branch = branchClassOf(pipeline.facts, project)
  const costs: JobCost[] = []
  for (const job of chunk.jobs) {
    const seconds = computeSeconds(job)
    if (seconds === undefined || job.end <= 0) continue
    const purpose = computePurposeOf(job, pipeline.superseded === true)
    costs.push({
      bucket: job.end - (job.end % day),
      instance: key.instance,
      projectId: project.id,
      project: path,
      job: trendJob(job.name ?? ''),
      branch,
      worker: plainText((job.runner?.type ?? '').slice(0, maxWorkerLength)),
      totalMs: Math.round(seconds * 1_000),
      cost: job.cost ?? 0,
      wasted: purpose === 'useful' ? undefined : purpose,
    })
  }
  return costs
}

/** UTF-16 units; the platform's types of runners are shorter. */
const maxWorkerLength = 50
