// What is counted of a deployment, and how it compares with those before it in its environment. Pure.
import { isProduction, type DeploymentView, type JobSpan } from './deployment.ts'
import { knownOf } from './versioned.ts'
import type { Millis } from './instant.ts'

/** From which of its times on a commit waits for its deployment: committed, authored, or merged (the commits of the first parent's line alone). */
export const leadTimeDefinitions = ['commit', 'authored', 'merge'] as const
export type LeadTimeDefinition = (typeof leadTimeDefinitions)[number]

/** What was counted. All durations in ms. */
export interface DeploymentFigures {
  readonly environment: string
  readonly tier?: string | undefined
  readonly outcome: 'succeeded' | 'failed'
  readonly finishedAt: Millis
  /** From the start of its job to its end. */
  readonly duration?: Millis | undefined
  /** It brought back a revision that was deployed before, or one older than that which it replaced. */
  readonly isRollback?: true | undefined
  /** How long what it repaired had lasted: from the first that failed since the last good one; a rollback: from the deployment that it took back. */
  readonly recovery?: Millis | undefined
  /** Of each commit since the deployment before it. Absent where nobody was asked. */
  readonly leadTimes?: readonly Millis[] | undefined
  readonly definition?: LeadTimeDefinition | undefined
  /** The job's. */
  readonly span?: JobSpan | undefined
}

/** The deployments of its environment around one, by their ends. */
export interface Neighbours {
  /** The last before it that succeeded. */
  readonly previous?: PreviousDeployment | undefined
  /** When the first failed after `previous`, and before it. */
  readonly failedAt?: Millis | undefined
  /** Its revision succeeded before `previous` already. */
  readonly isKnownRevision: boolean
  /** One that ended after it was counted before its own end was reported: it came too late to be compared. */
  readonly isLate: boolean
}

export interface PreviousDeployment {
  readonly id: number
  readonly finishedAt: Millis
  readonly revision?: string | undefined
  readonly committedAt?: Millis | undefined
}

/** The commits that a deployment brought, as the platform lists them; `times` by the definition. */
export interface DeployedCommits {
  readonly definition: LeadTimeDefinition
  readonly times: readonly Millis[]
}

export interface CountedView extends DeploymentView {
  readonly environment: string
  readonly outcome: 'succeeded' | 'failed'
  readonly finishedAt: Millis
}

/** Those that succeeded or failed, of a known environment. */
export function isCounted(view: DeploymentView | undefined): view is CountedView {
  return view?.environment !== undefined && view.outcome !== undefined && view.finishedAt !== undefined
}

/** The revisions between which its commits are to be asked for: of production alone, and not where none can be new. */
export function commitRange(view: DeploymentView, around: Neighbours): { from: string; to: string } | undefined {
  const from = around.previous?.revision
  const to = view.revision
  if (!isProduction(view) || view.outcome !== 'succeeded' || around.isLate || around.isKnownRevision) return undefined
  return from === undefined || to === undefined || from === to ? undefined : { from, to }
}

export function figuresOf(
  view: CountedView,
  span: JobSpan | undefined,
  around: Neighbours,
  commits: DeployedCommits | undefined,
): DeploymentFigures {
  const { environment, tier, outcome, startedAt, finishedAt } = view
  const isCompared = outcome === 'succeeded' && !around.isLate
  const isRollback = isCompared && takesBack(view, around, commits)
  const brokenAt = isRollback ? around.previous?.finishedAt : around.failedAt
  return knownOf({
    ...{ environment, tier, outcome, finishedAt, span },
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
