// Deployments. Each is counted once after its end, and compared with those before it in its environment.
import type { Countable } from './counted.ts'
import type { Deployment, DeploymentView } from '../../model/deployment.ts'
import type { DeploymentFigures, Neighbours } from '../../model/deployment-figures.ts'
import type { Millis } from '../../model/instant.ts'

/** One whose commits are asked for before it is counted. */
export interface DueDeployment {
  readonly id: number
  readonly deployment: Deployment
  /** How often asking for its commits failed. */
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

export interface DeploymentFilter {
  /** Full path; undefined: all. */
  readonly project?: string | undefined
  readonly since: Millis
  readonly until: Millis
  readonly limit: number
}

export interface KeptEarly {
  /** What happened before it goes also if nothing was deployed to its environment since. */
  readonly lastSince: Millis
  /** What events alone have reported since then stays: the pipeline of its job would report it anew. */
  readonly withoutJobSince: Millis
}

export interface DeploymentsPruned {
  readonly pruned: number
  /** The last one that was looked at; undefined at the end. */
  readonly next?: number | undefined
}

/** `prune` deletes those that happened before and are not to be counted (any more), except the last success of each environment. */
export interface Deployments extends Countable<Deployment, DeploymentFigures, Neighbours> {
  /** Leases those that are apart and due, the longest due first. Damaged ones are skipped for good. */
  take(limit: number, leaseMs: number): Promise<readonly DueDeployment[]>
  /** Extends the leases, from now on; 0: they are due at once. */
  extend(ids: readonly number[], leaseMs: number): Promise<void>
  /** The other deployments of its environment. Undefined if it is not to be counted (any more). */
  around(id: number): Promise<Neighbours | undefined>
  /**
   * Deletes the next `limit`, at most, of those first reported before `before` that may go before their time: that are not to be counted (any more), and
   * whose environment has a later success that was counted. `from`: the last one that a call before has looked at.
   */
  pruneEarly(before: Millis, limit: number, from: number | undefined, keep: KeptEarly): Promise<DeploymentsPruned>
  /** Those within a period, the latest first. */
  list(filter: DeploymentFilter): Promise<readonly ShownDeployment[]>
  /** The last success of each environment, the latest first. */
  current(filter: {
    readonly project?: string | undefined
    readonly limit: number
  }): Promise<readonly ShownDeployment[]>
}
