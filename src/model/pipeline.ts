// A pipeline's own fields: which observation of them is the newest, which source owns the fields that sources spell differently, and the kind of ref
// that it ran for.
import { knownOf, mergeVersioned, versioned, versionOf, type Owner, type Version, type Versioned } from './versioned.ts'
import { later, latest, second } from './instant.ts'
import { isTerminal } from './status.ts'
import type { MergeRequest, Observation, PipelineFacts, PipelineTimes, ProjectFacts } from './observation.ts'

export interface Pipeline {
  readonly record: Versioned<PipelineFacts>
  readonly times: PipelineTimes
}

/** REST reports such a ref for a merge request pipeline, where webhooks report the source branch. */
const mergeRequestRefs = 'refs/merge-requests/'

/**
 * Fields that sources spell differently, with the rule which value wins. Of all others the newest observation wins, and of the
 * same second that of REST.
 */
const fieldOwners: Readonly<Partial<Record<keyof PipelineFacts, Owner>>> = {
  /** The source branch, where it is known. */
  ref: (a, b) => {
    const aIsBranch = !String(a).startsWith(mergeRequestRefs)
    const bIsBranch = !String(b).startsWith(mergeRequestRefs)
    return aIsBranch === bIsBranch ? undefined : aIsBranch
  },
  /** Webhooks report it whole, the cross-project list its title, and a pipeline's ref only the iid. */
  mergeRequest: (a, b) => {
    const [ofA, ofB] = [completeness(a), completeness(b)]
    return ofA === ofB ? undefined : ofA > ofB
  },
}

function completeness(mergeRequest: unknown): number {
  const { id, title } = mergeRequest as MergeRequest
  return id !== undefined ? 2 : title !== undefined ? 1 : 0
}

const refOfMergeRequest = /^refs\/merge-requests\/([1-9]\d*)\/(head|merge|train)$/

/** The iid in a ref such as `refs/merge-requests/7/head`, `/merge` or `/train`. */
export function mergeRequestOfRef(ref: string | undefined): MergeRequest | undefined {
  const iid = Number(refOfMergeRequest.exec(ref ?? '')?.[1])
  return Number.isSafeInteger(iid) ? { iid } : undefined
}

/** The kind of the pipeline that such a ref names, in the platform's words. */
export function mergeRequestEventOfRef(ref: string | undefined): string | undefined {
  const kind = refOfMergeRequest.exec(ref ?? '')?.[2]
  return kind === undefined ? undefined : mergeRequestEvents[kind]
}

/** The platform's word for a pipeline in a merge train. */
export const inMergeTrain = 'merge_train'

const mergeRequestEvents: Readonly<Record<string, string>> = {
  head: 'detached',
  merge: 'merged_result',
  train: inMergeTrain,
}

/**
 * The newest observation is the one with the latest time, of the pipeline or of one of its jobs. Of the same second: the terminal
 * one, then that of REST, then by the name of the status.
 */
export function observedPipeline(observation: Observation): Pipeline | undefined {
  const { pipeline, origin } = observation
  if (pipeline === undefined) return undefined
  const { facts, times } = pipeline
  const isRest = origin === 'rest' ? 1 : 0
  const version = versionOf(newestSecond(observation), isTerminal(facts.status) ? 1 : 0, isRest, facts.status)
  return { record: versioned(version, facts), times: knownOf(times) }
}

function newestSecond({ pipeline, origin, jobs }: Observation): number {
  const { createdAt, finishedAt, updatedAt } = pipeline?.times ?? {}
  let newest = latest([createdAt, finishedAt, origin === 'rest' ? updatedAt : undefined])
  for (const { times } of jobs) newest = later(newest, later(times.createdAt, later(times.startedAt, times.finishedAt)))
  return second(newest)
}

/** True if the newest observation of a pipeline is an answer of REST. */
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
  return isKnown ? a : knownOf({ createdAt, finishedAt, updatedAt })
}

/** Name and path are those of the newest observation: a renamed project gets its latest path. */
export function observedProject(observation: Observation): Versioned<ProjectFacts> {
  // A pipeline's payload has the full name of the project, a job's may have "Owner / project".
  const hasPipeline = observation.pipeline === undefined ? 0 : 1
  return versioned(versionOf(hasPipeline, newestSecond(observation)), observation.project)
}

export const branchClasses = ['default', 'merge_request', 'tag', 'other'] as const
export type BranchClass = (typeof branchClasses)[number]

/** Branch classes for people. */
export const branchNames: Readonly<Record<string, string>> = {
  default: 'default branch',
  merge_request: 'merge requests',
  tag: 'tags',
  other: 'other branches',
}

/** `other`: any other branch, and every branch of a project whose default branch is unknown. */
export function branchClassOf(
  { ref = '', source, tag, mergeRequest }: Pick<PipelineFacts, 'ref' | 'source' | 'tag' | 'mergeRequest'>,
  { defaultBranch }: Pick<ProjectFacts, 'defaultBranch'>,
): BranchClass {
  if (source === 'merge_request_event' || mergeRequest !== undefined || ref.startsWith('refs/merge-requests/')) {
    return 'merge_request'
  }
  if (tag === true) return 'tag'
  return ref !== '' && ref === defaultBranch ? 'default' : 'other'
}
