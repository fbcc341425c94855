// Deployments: what is reported of them is taken in with what reported it (`Processed`, `RunChange`); each is counted once, when it has ended and all
// that is known of it had time to arrive.
import type { Counted } from './counted.ts'
import type { Deployment, DeploymentView } from '../../model/deployment.ts'
import type { DeploymentFigures, Neighbours } from '../../model/deployment-figures.ts'
import type { Millis } from '../../model/instant.ts'

export interface ReportedDeployment {
  readonly deployment: Deployment
  /** Once it has ended it is counted so much later, ms: so long others may report of it, and of what was before it. */
  readonly countIn: Millis
}

/** One that is to be counted. */
export interface DueDeployment {
  readonly id: number
  readonly deployment: Deployment
  /** How often its commits were asked for in vain. */
  readonly tries: number
}

/** What is written of one that is counted. */
export interface CountedDeployment extends Counted {
  readonly figures: DeploymentFigures
}

/** A deployment as pages show it. */
export interface ShownDeployment {
  readonly id: number
  readonly deployment: Deployment
  readonly view: DeploymentView
  /** When it happened: its end, or what was last reported. */
  readonly at: Millis
  readonly figures?: DeploymentFigures | undefined
}

export interface DeploymentFilter {
  /** Full path; all where there is none. */
  readonly project?: string | undefined
  readonly since: Millis
  readonly until: Millis
  readonly limit: number
}

export interface Deployments {
  /** Takes some that are due, the longest due first, and hides them from others for `leaseMs`. Damaged ones are passed over for good. */
  take(limit: number, leaseMs: number): Promise<readonly DueDeployment[]>
  /** Leases them for so long from now; 0: they are due at once. */
  extend(ids: readonly number[], leaseMs: number): Promise<void>
  /** It is due again in so long. `counted`: it was tried. */
  defer(id: number, ms: number, counted: boolean): Promise<void>
  /** The deployments around it. Undefined where it is not to be counted (any more). */
  around(id: number): Promise<Neighbours | undefined>
  /**
   * Counts it, unless it was before: in one transaction, in which `decide` is asked with what is around it then. Undefined of `decide`: nothing is written.
   * Answers whether it was counted.
   */
  count(
    id: number,
    decide: (deployment: Deployment, around: Neighbours) => CountedDeployment | 'nothing' | undefined,
  ): Promise<boolean>
  /** Forgets those that happened before `before`, but for the last of each environment; answers how many. */
  prune(before: Millis, limit: number): Promise<number>
  /** Those that happened within a time, the latest first. */
  list(filter: DeploymentFilter): Promise<readonly ShownDeployment[]>
  /** The last that succeeded of each environment, the latest first. */
  current(filter: {
    readonly project?: string | undefined
    readonly limit: number
  }): Promise<readonly ShownDeployment[]>
}
