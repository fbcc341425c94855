// A deployment, as webhook events and the deploying job report it. It is identified by its job's id, whichever source reports it; a deployment
// without a job is identified by its own id. Merging reports is pure and commutative.
import { deploys } from '../../../model/job.ts'
import { globs } from '../../../lib/chooser.ts'
import type { Chunk } from '../../../model/chunk.ts'
import { isFinished, hasSucceeded } from '../../../model/status.ts'
import { canonical, either, knownOf, mergeVersioned, versioned, versionOf } from '../../../model/versioned.ts'
import type { Versioned } from '../../../model/versioned.ts'
import { later, second, type Millis } from '../../../model/instant.ts'
import type { ProjectFacts } from '../../../model/observation.ts'
import type { JobSpan } from '../../../model/trace-context.ts'

/** The fields of the newest webhook event about a deployment. */
export interface DeploymentEvent {
  /** The status of the deployment, as the platform names it. */
  readonly status: string
  readonly at: Millis
  /** When an event reported the deployment as running. */
  readonly beganAt?: Millis | undefined
  readonly environment?: string | undefined
  readonly tier?: string | undefined
  readonly revision?: string | undefined
  readonly user?: string | undefined
}

/** The fields of a deployment that come from the latest snapshot of its job. */
export interface DeploymentJob {
  readonly status: string
  readonly environment?: string | undefined
  readonly tier?: string | undefined
  readonly startedAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
  readonly user?: string | undefined
  readonly revision?: string | undefined
  readonly committedAt?: Millis | undefined
  readonly ref?: string | undefined
  readonly span: JobSpan
}

/** One report of a deployment, or all its reports merged. At least one of `jobId` and `deploymentId` is set. */
export interface Deployment {
  readonly instance: string
  readonly project: ProjectFacts
  readonly jobId?: number | undefined
  readonly deploymentId?: number | undefined
  readonly event?: Versioned<DeploymentEvent> | undefined
  readonly job?: DeploymentJob | undefined
}

/** The deployment in the form that all other code reads. */
export interface DeploymentView {
  readonly environment?: string | undefined
  readonly tier?: string | undefined
  /** The status of the deployment, as the platform names it. */
  readonly status: string
  /** Undefined while the deployment is in progress, and if it was canceled or skipped. */
  readonly outcome?: 'succeeded' | 'failed' | undefined
  readonly startedAt?: Millis | undefined
  /** Only set if the deployment succeeded or failed. */
  readonly finishedAt?: Millis | undefined
  readonly revision?: string | undefined
  readonly committedAt?: Millis | undefined
  readonly ref?: string | undefined
  readonly user?: string | undefined
}

const outcomes: Readonly<Record<string, DeploymentView['outcome']>> = { success: 'succeeded', failed: 'failed' }

/** Returns undefined if no event has reported the deployment and its job did not succeed: the job may have failed before the deployment began. */
export function viewDeployment({ event: reported, job }: Deployment): DeploymentView | undefined {
  const event = reported?.facts
  const hasDeployed = hasSucceeded(job?.status)
  if (event === undefined && !hasDeployed) return undefined
  // An event that reports the end of the deployment takes precedence over the deploying job. A job that succeeded counts as deployed even if the
  // event is late or lost.
  const isOver = event !== undefined && rankOf(event.status) === ended
  const status = isOver || !hasDeployed ? (event?.status ?? '') : 'success'
  const outcome = outcomes[status]
  const ofJob = outcome === outcomes[job?.status ?? ''] ? job?.finishedAt : undefined
  return {
    environment: event?.environment ?? job?.environment,
    tier: event?.tier ?? job?.tier,
    status,
    outcome,
    startedAt: job?.startedAt ?? event?.beganAt,
    finishedAt: outcome === undefined ? undefined : (ofJob ?? event?.at ?? job?.finishedAt),
    revision: longer(job?.revision, event?.revision),
    committedAt: job?.committedAt,
    ref: job?.ref,
    user: event?.user ?? job?.user,
  }
}

/** Merging is commutative, associative and idempotent, except for the project: a project may be renamed, so its last report wins. */
export function mergeDeployment(known: Deployment, reported: Deployment): Deployment {
  return knownOf({
    instance: known.instance,
    project: { ...known.project, ...reported.project },
    jobId: known.jobId ?? reported.jobId,
    deploymentId: known.deploymentId ?? reported.deploymentId,
    event: either(known.event, reported.event, mergeEvent),
    job: either(known.job, reported.job, laterJob),
  })
}

/** Returns the deployments made by the finished jobs of a chunk. */
export function deploymentsOfChunk(chunk: Chunk): Deployment[] {
  const { key, project, trace, pipeline, jobs } = chunk
  const { sha, committedAt, ref } = pipeline.facts
  return jobs
    .filter(job => deploys(job) && isFinished(job.status))
    .map(({ id, kind, name, salt, environment, status, startedAt, finishedAt, user }) => ({
      instance: key.instance,
      project,
      jobId: id,
      job: knownOf({
        ...{ status, startedAt, finishedAt, committedAt, ref },
        environment: environment?.name,
        tier: environment?.deploymentTier,
        user: user?.username,
        revision: sha,
        span: knownOf({ trace, pipelineId: key.pipelineId, jobId: id, kind, salt, name }),
      }),
    }))
}

export type IsProduction = (view: Pick<DeploymentView, 'environment' | 'tier'>) => boolean

/** Whether an environment is production. Its tier decides, or its name if the tier is unknown. */
export function isProduction({ environment = '', tier }: Parameters<IsProduction>[0]): boolean {
  return tier === undefined ? /^prod(?:uction)?$/i.test(environment) : tier === 'production'
}

const tierPrefix = 'tier:'

/**
 * Returns the predicate for production environments. `patterns` are globs that match environment names, or `tier:` followed by a glob that matches
 * tiers. Without patterns, the platform's tier decides, or the name if the tier is unknown.
 */
export function productionBy(patterns: readonly string[] | undefined): IsProduction {
  if (patterns === undefined) return isProduction
  const [tiers, names] = [true, false].map(ofTier => {
    const own = patterns.filter(pattern => pattern.toLowerCase().startsWith(tierPrefix) === ofTier)
    const texts = own.map(pattern => (ofTier ? pattern.slice(tierPrefix.length).trim() : pattern))
    // `tier:` without a glob matches no tier. It is filtered out here because picomatch throws on an empty glob.
    return globs(texts.filter(text => text !== ''))
  })
  return ({ environment, tier }) =>
    (tier !== undefined && tiers?.(tier) === true) || (environment !== undefined && names?.(environment) === true)
}

/**
 * Uses an event's time in whole seconds as its version, because some events have no finer resolution. If two events fall in the same second, the one
 * with the later stage is newer.
 */
export function observedEvent(facts: DeploymentEvent): Versioned<DeploymentEvent> {
  return versioned(versionOf(second(facts.at), rankOf(facts.status), Math.round(facts.at)), facts)
}

function mergeEvent(a: Versioned<DeploymentEvent>, b: Versioned<DeploymentEvent>): Versioned<DeploymentEvent> {
  return mergeVersioned(a, b, { beganAt: (one, other) => Number(one) <= Number(other) })
}

function laterJob(a: DeploymentJob, b: DeploymentJob): DeploymentJob {
  const isLater = later(a.finishedAt, b.finishedAt) === a.finishedAt && a.finishedAt !== b.finishedAt
  const isSame = a.finishedAt === b.finishedAt
  return isLater || (isSame && canonical(a) >= canonical(b)) ? a : b
}

const ended = 3
const ranks: Readonly<Record<string, number>> = { created: 0, blocked: 1, running: 2 }
const ends: ReadonlySet<string> = new Set(['success', 'failed', 'canceled', 'skipped'])

function rankOf(status: string): number {
  return ends.has(status) ? ended : (ranks[status] ?? 1)
}

/** Returns the longer of two revisions: events have short revisions, jobs have full ones. */
function longer(a: string | undefined, b: string | undefined): string | undefined {
  return (b?.length ?? 0) > (a?.length ?? 0) ? b : a
}
