// Deployments. Each is counted once after its end, and compared with those before it in its environment.
import type { Countable } from './counted.ts'
import type { Deployment, DeploymentView } from '../model/deployment.ts'
import type { DeploymentFigures, Neighbours } from '../model/deployment-figures.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PeriodFilter } from '../../../core/store/ports/project-scope.ts'

/** A deployment whose commits are requested before it is counted. */
export interface DueDeployment {
  readonly id: number
  readonly deployment: Deployment
  /** How often the request for its commits failed. */
  readonly tries: number
}

/** A deployment as pages show it. */
export interface ShownDeployment {
  readonly id: number
  readonly deployment: Deployment
  readonly view: DeploymentView
  /** Its end, or when it was last reported. */
  readonly at: Millis
  readonly figures?: DeploymentFigures | undefined
}

export interface KeptEarly {
  /** Deployments before this are deleted even if they are the last of their environment. */
  readonly lastSince: Millis
  /** Deployments since then that only events have reported stay: the pipeline of their job would report them again. */
  readonly withoutJobSince: Millis
}

export interface DeploymentsPruned {
  readonly pruned: number
  /** The last one that was checked; undefined at the end. */
  readonly next?: number | undefined
}

/** `prune` deletes those that happened before and are not to be counted (any more), except the last success of each environment. */
export interface Deployments extends Countable<Deployment, DeploymentFigures, Neighbours> {
  /** Leases due deployments that wait for commits, the longest due first. Damaged ones are skipped for good. */
  take(limit: number, leaseMs: number): Promise<readonly DueDeployment[]>
  /** Extends the leases, from now on; 0: they are due at once. */
  extend(ids: readonly number[], leaseMs: number): Promise<void>
  /** The other deployments of its environment. Undefined if it is not to be counted (any more). */
  around(id: number): Promise<Neighbours | undefined>
  /**
   * Deletes the next `limit`, at most, of those first reported before `before` that may be deleted early: they need not be counted (any more), and
   * their environment has a later success that was counted. `from`: the last one that the previous call has checked.
   */
  pruneEarly(before: Millis, limit: number, from: number | undefined, keep: KeptEarly): Promise<DeploymentsPruned>
  /** Those within a period, the latest first. */
  list(filter: PeriodFilter): Promise<readonly ShownDeployment[]>
  /** The last success of each environment, the latest first. */
  current(filter: Pick<PeriodFilter, 'project' | 'limit'>): Promise<readonly ShownDeployment[]>
}
