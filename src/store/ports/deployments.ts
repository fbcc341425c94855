// Deployments. Reports of them are written with the delivery or run that reported them (`Processed`, `RunChange`). Each is counted once after its
// end, after a delay in which late reports may arrive.
import type { Counted } from './counted.ts'
import type { Deployment, DeploymentView } from '../../model/deployment.ts'
import type { DeploymentFigures, Neighbours } from '../../model/deployment-figures.ts'
import type { Millis } from '../../model/instant.ts'

export interface ReportedDeployment {
  readonly deployment: Deployment
  /** How long after its end it is counted, ms: until then more may be reported of it, and of those before it. */
  readonly countIn: Millis
}

/** Most are counted together. Those whose commits are asked for are apart, so that neither wait for the others. */
export type CountedHow = 'together' | 'apart'

export interface DueDeployment {
  readonly id: number
  readonly deployment: Deployment
  /** How often asking for its commits failed. */
  readonly tries: number
}

/** What is written when a deployment is counted. */
export interface CountedDeployment extends Counted {
  readonly figures: DeploymentFigures
}

/** Decides what becomes of a deployment, for its neighbours at that moment; `nothing`: it will never be counted; `apart`: it is due apart. */
export type Decide = (
  due: Pick<DueDeployment, 'id' | 'deployment'>,
  around: Neighbours,
) => CountedDeployment | 'nothing' | 'apart'

/** What became of it; `damaged`: it will never be counted. */
export type Decided = 'counted' | 'nothing' | 'apart' | 'damaged'

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

export interface Deployments {
  /** Counts those that are due together, the longest due first, in one transaction: all of them, or none if it throws. `limit`: most. */
  countDue(limit: number, decide: Decide): Promise<readonly Decided[]>
  /** Leases due deployments, the longest due first. Damaged ones are skipped for good. */
  take(how: CountedHow, limit: number, leaseMs: number): Promise<readonly DueDeployment[]>
  /** Extends the leases, from now on; 0: they are due at once. */
  extend(ids: readonly number[], leaseMs: number): Promise<void>
  /** Makes it due again in `ms`. `counted`: this was a try. */
  defer(id: number, ms: number, counted: boolean): Promise<void>
  /** The other deployments of its environment. Undefined if it is not to be counted (any more). */
  around(id: number): Promise<Neighbours | undefined>
  /** Counts one in a transaction, unless it was counted before or `decide` returns undefined: then nothing is written. */
  count(id: number, decide: (...of: Parameters<Decide>) => ReturnType<Decide> | undefined): Promise<Decided | undefined>
  /** Deletes those that happened before `before` and are not to be counted (any more), except the last success of each environment; returns how many. */
  prune(before: Millis, limit: number): Promise<number>
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
