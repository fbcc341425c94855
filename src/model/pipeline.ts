// A pipeline's own fields as known so far: which observation is the newest, and which source owns the fields that sources spell differently.
import { mergeVersioned, versioned, versionOf, type Owner, type Version, type Versioned } from './versioned.ts'
import { later, latest, second } from './instant.ts'
import { isTerminal } from './status.ts'
import type { MergeRequest, Observation, PipelineFacts, PipelineTimes, ProjectFacts } from './observation.ts'

export interface Pipeline {
  readonly record: Versioned<PipelineFacts>
  readonly times: PipelineTimes
}

/** How REST names a merge request pipeline's ref, where webhooks name the source branch. */
const mergeRequestRefs = 'refs/merge-requests/'

/**
 * Fields that sources spell differently, and who owns them. All others, `detailedStatus` and `duration` among them, belong
 * to the newest observation, where REST stands above a webhook of the same second.
 */
export const fieldOwners: Readonly<Partial<Record<keyof PipelineFacts, Owner>>> = {
  /** The source branch, where known. */
  ref: (a, b) => {
    const aIsBranch = !String(a).startsWith(mergeRequestRefs)
    const bIsBranch = !String(b).startsWith(mergeRequestRefs)
    return aIsBranch === bIsBranch ? undefined : aIsBranch
  },
  /** REST has no more than the iid, which its ref names. */
  mergeRequest: (a, b) => {
    const aIsWhole = isWhole(a)
    return aIsWhole === isWhole(b) ? undefined : aIsWhole
  },
}

function isWhole(mergeRequest: unknown): boolean {
  return Object.keys(mergeRequest as MergeRequest).length > 1
}

/** The iid in a ref such as `refs/merge-requests/7/head`, `/merge` or `/train`. */
export function mergeRequestOfRef(ref: string | undefined): MergeRequest | undefined {
  const iid = Number(/^refs\/merge-requests\/([1-9]\d*)\/(?:head|merge|train)$/.exec(ref ?? '')?.[1])
  return Number.isSafeInteger(iid) ? { iid } : undefined
}

/**
 * The newest observation is the one that names the latest time, of the pipeline or of one of its jobs (from REST also
 * `updated_at`). Ties: terminal, then REST, then the status by name.
 */
export function observedPipeline(observation: Observation): Pipeline | undefined {
  const { pipeline, origin: origin, jobs } = observation
  if (pipeline === undefined) return undefined
  const { facts, times } = pipeline
  const newest = second(
    latest([
      times.createdAt,
      times.finishedAt,
      origin === 'rest' ? times.updatedAt : undefined,
      ...jobs.flatMap(job => [job.times.createdAt, job.times.startedAt, job.times.finishedAt]),
    ]),
  )
  const version = versionOf(newest, isTerminal(facts.status) ? 1 : 0, origin === 'rest' ? 1 : 0, facts.status)
  return { record: versioned(version, facts), times: known(times) }
}

/** True where the newest observation of a pipeline's record is an answer of REST. */
export function isFromRest(version: Version): boolean {
  return Number(version.split(':')[2]) === 1
}

/** Commutative, associative, idempotent. Returns `a` itself when `b` adds nothing. */
export function mergePipeline(a: Pipeline | undefined, b: Pipeline | undefined): Pipeline | undefined {
  if (a === undefined) return b
  if (b === undefined) return a
  const record = mergeVersioned(a.record, b.record, fieldOwners)
  const times = mergeTimes(a.times, b.times)
  return record === a.record && times === a.times ? a : { record, times }
}

function mergeTimes(a: PipelineTimes, b: PipelineTimes): PipelineTimes {
  const createdAt = later(a.createdAt, b.createdAt)
  const finishedAt = later(a.finishedAt, b.finishedAt)
  const updatedAt = later(a.updatedAt, b.updatedAt)
  const isKnown = createdAt === a.createdAt && finishedAt === a.finishedAt && updatedAt === a.updatedAt
  return isKnown ? a : known({ createdAt, finishedAt, updatedAt })
}

/** A project's name and path follow the newest observation that names them: a renamed project shows its latest path. */
export function observedProject(observation: Observation): Versioned<ProjectFacts> {
  const { pipeline, jobs } = observation
  const newest = second(
    latest([
      pipeline?.times.createdAt,
      pipeline?.times.finishedAt,
      pipeline?.times.updatedAt,
      ...jobs.flatMap(job => [job.times.createdAt, job.times.startedAt, job.times.finishedAt]),
    ]),
  )
  // A pipeline's payload spells the project out; a job's may not ("Owner / project").
  return versioned(versionOf(pipeline === undefined ? 0 : 1, newest), observation.project)
}

function known(times: PipelineTimes): PipelineTimes {
  return Object.fromEntries(Object.entries(times).filter(([, time]) => time !== undefined))
}
