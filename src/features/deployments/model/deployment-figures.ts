// The metrics of a deployment: its duration, the lead times of its commits, and whether it is a rollback or a recovery. Rollbacks and recoveries are
// detected by comparing the deployment with previous ones in its environment. The functions are pure.
import type { DeploymentView, IsProduction } from './deployment.ts'
import { knownOf } from '../../../model/versioned.ts'
import type { Millis } from '../../../model/instant.ts'

/** The event at which a commit's lead time begins: when it was committed, authored, or merged (first-parent commits only). */
export type LeadTimeDefinition = 'commit' | 'authored' | 'merge'

/** The metrics of one deployment. All durations are in ms. */
export interface DeploymentFigures {
  readonly environment: string
  readonly tier?: string | undefined
  /** Whether the environment was production, as configured when the deployment was counted; undefined in figures written by earlier versions. */
  readonly isProduction?: boolean | undefined
  readonly outcome: 'succeeded' | 'failed'
  readonly finishedAt: Millis
  /** The time from the start of the deployment's job to its end. */
  readonly duration?: Millis | undefined
  /** True if the deployment's revision had been deployed before, or is older than the one that it replaced. */
  readonly isRollback?: true | undefined
  /**
   * Time to recovery, measured from the first failure after the last success. For a rollback, it is measured from the deployment that was reverted.
   */
  readonly recovery?: Millis | undefined
  /** The lead time of each commit since the previous deployment. Absent if the commits were not requested. */
  readonly leadTimes?: readonly Millis[] | undefined
  readonly definition?: LeadTimeDefinition | undefined
}

/** The other deployments in the same environment, ordered by end time. */
export interface Neighbours {
  /** The last successful deployment before this one. */
  readonly previous?: PreviousDeployment | undefined
  /** The time of the first failed deployment between `previous` and this one. */
  readonly failedAt?: Millis | undefined
  /** True if the revision had been deployed successfully before `previous`. */
  readonly isKnownRevision: boolean
  /** True if a deployment that ended later has already been counted. Then this one is not compared with others. */
  readonly isLate: boolean
}

export interface PreviousDeployment {
  readonly id: number
  readonly finishedAt: Millis
  readonly revision?: string | undefined
  readonly committedAt?: Millis | undefined
}

/** The commits of a deployment, as listed by the platform. `times`: when their lead times begin, according to the configured definition. */
export interface DeployedCommits {
  readonly definition: LeadTimeDefinition
  readonly times: readonly Millis[]
}

export interface CountedView extends DeploymentView {
  readonly environment: string
  readonly outcome: 'succeeded' | 'failed'
  readonly finishedAt: Millis
}

/** True for a deployment that succeeded or failed, in a known environment. */
export function isCounted(view: DeploymentView | undefined): view is CountedView {
  return view?.environment !== undefined && view.outcome !== undefined && view.finishedAt !== undefined
}

/**
 * Returns the revisions between which the deployment's commits are requested; undefined for environments that are not production. The commits are
 * requested even if the revision had been deployed before: a deployment after a rollback brings back commits that were not in production in between.
 */
export function commitRange(
  view: DeploymentView,
  around: Neighbours,
  isProduction: IsProduction,
): { from: string; to: string } | undefined {
  const from = around.previous?.revision
  const to = view.revision
  if (!isProduction(view) || view.outcome !== 'succeeded' || around.isLate) return undefined
  return from === undefined || to === undefined || from === to ? undefined : { from, to }
}

export function figuresOf(
  view: CountedView,
  around: Neighbours,
  commits: DeployedCommits | undefined,
  isProduction: IsProduction,
): DeploymentFigures {
  const { environment, tier, outcome, startedAt, finishedAt } = view
  const isCompared = outcome === 'succeeded' && !around.isLate
  const isRollback = isCompared && takesBack(view, around, commits)
  const brokenAt = isRollback ? around.previous?.finishedAt : around.failedAt
  return knownOf({
    ...{ environment, tier, outcome, finishedAt },
    isProduction: isProduction(view),
    duration: startedAt === undefined ? undefined : Math.max(0, finishedAt - startedAt),
    isRollback: isRollback || undefined,
    recovery: isCompared && brokenAt !== undefined ? Math.max(0, finishedAt - brokenAt) : undefined,
    leadTimes: commits?.times.flatMap(time => (time <= finishedAt ? finishedAt - time : [])),
    definition: commits?.definition,
  })
}

function takesBack(
  { revision, committedAt }: DeploymentView,
  { previous, isKnownRevision }: Neighbours,
  commits: DeployedCommits | undefined,
): boolean {
  if (previous === undefined || revision === undefined || revision === previous.revision) return false
  if (isKnownRevision || commits?.times.length === 0) return true
  return committedAt !== undefined && previous.committedAt !== undefined && committedAt < previous.committedAt
}
