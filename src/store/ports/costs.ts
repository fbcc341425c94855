// What jobs took of their runners and what that cost, by day: what one chunk adds, and what is asked. Pure; the SQL is beside.
import { branchClassOf, type BranchClass } from '../../model/branch-class.ts'
import { computePurposeOf } from '../../model/compute-purpose.ts'
import { computeSeconds } from '../../model/durations.ts'
import { day, trendJob } from './trends.ts'
import { plainText } from '../sql/plain-text.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Failures } from '../read-models/earlier-failures.ts'
import type { Millis } from '../../model/instant.ts'

/** What of a job's time nobody wanted; `flaky`: it failed, and passed when it ran again for the same commit: the time of that. */
export const lostPurposes = ['retried', 'superseded', 'failed', 'flaky'] as const
export type LostPurpose = (typeof lostPurposes)[number]

/** A day's sum, of a project's jobs (job '') by class of branch and type of runner, or of one of its jobs. */
export interface CostRow {
  /** Start of the day, UTC. */
  readonly bucket: Millis
  readonly projectId: number
  readonly job: string
  readonly instance: string
  /** Empty of one job: its sum is of all. */
  readonly branch: BranchClass | ''
  /** The type of the runner; empty where that is not known, and of one job. */
  readonly worker: string
  /** Full path, as last known. */
  readonly project: string
  readonly runs: number
  /** Whole ms. */
  readonly totalMs: number
  /** In the unit of the price table; 0 without a price. */
  readonly cost: number
  /** What of that nobody wanted. */
  readonly lost: Readonly<Record<LostPurpose, CostSum>>
}

/** What sums are made by: of all, of each project, job, class of branch, type of runner, or day. */
export const costGroups = ['total', 'project', 'job', 'branch', 'worker', 'day'] as const
export type CostGroup = (typeof costGroups)[number]

export interface CostQuery {
  readonly since: Millis
  readonly until: Millis
  /** Undefined: of all projects. */
  readonly projectId?: number | undefined
}

export interface CostSum {
  readonly totalMs: number
  readonly cost: number
}

/** A sum of a group; what the group is not by is empty or absent. */
export interface CostLine extends CostSum {
  readonly projectId?: number | undefined
  /** Full path; empty where it is of several projects. */
  readonly project: string
  /** Job, branch class or runner type. */
  readonly name: string
  readonly bucket?: Millis | undefined
  readonly runs: number
  readonly lost: Readonly<Record<LostPurpose, CostSum>>
}

export interface CostReads {
  /** The most costly first, where there are prices, else those that took most time; days in their order. */
  lines(by: CostGroup, query: CostQuery, limit: number): Promise<readonly CostLine[]>
}

/** What a job took of its runner. */
export interface JobCost extends CostSum {
  readonly bucket: Millis
  readonly instance: string
  readonly projectId: number
  readonly project: string
  /** Empty where it has no name. */
  readonly job: string
  readonly branch: BranchClass
  readonly worker: string
  /** Undefined where somebody wanted it. */
  readonly lost: LostPurpose | undefined
}

/** What each job of a chunk adds, of those that took a runner's time. `failedBefore`: as with trends. */
export function costsOf(chunk: Chunk, failedBefore: Failures): JobCost[] {
  const { key, project, pipeline } = chunk
  const path = plainText(project.path ?? project.name ?? '')
  const branch = branchClassOf(pipeline.facts, project)
  const costs: JobCost[] = []
  for (const job of chunk.jobs) {
    const seconds = computeSeconds(job)
    if (seconds === undefined || job.end <= 0) continue
    const isFlaky = job.status === 'success' && (failedBefore.get(job.name ?? '') ?? Infinity) < job.id
    const purpose = computePurposeOf(job, pipeline.superseded === true)
    costs.push({
      bucket: job.end - (job.end % day),
      instance: key.instance,
      projectId: project.id,
      project: path,
      job: trendJob(job.name ?? ''),
      branch,
      worker: plainText((job.runner?.type ?? '').slice(0, longestWorker)),
      totalMs: Math.round(seconds * 1_000),
      cost: job.cost ?? 0,
      lost: purpose === 'useful' ? (isFlaky ? 'flaky' : undefined) : purpose,
    })
  }
  return costs
}

/** The platform's words are shorter, UTF-16 units. */
const longestWorker = 50
