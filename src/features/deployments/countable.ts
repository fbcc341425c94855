// Deployments, changes and incidents: each is reported many times and counted once. Reports are written with the delivery or run that reported them
// (`Reports`, `RunChange`). Each is counted after a delay in which late reports may arrive.
import type { Millis } from '../../model/instant.ts'
import type { ProjectIncrements } from '../../model/totals.ts'
import type { ReceivedEvent, Reports } from '../../core/store/ports/runs.ts'

export interface Reported<Of> {
  readonly report: Of
  /** The delay before it is counted, ms: until then later reports may arrive, also about the ones that it is compared with. */
  readonly countIn: Millis
}

/** What is written when something is counted. */
export interface Counted {
  readonly totals?: ProjectIncrements | undefined
  /** For destinations with delta metrics: one point for each thing. */
  readonly sent?: ReceivedEvent | undefined
  /** What features report of it. */
  readonly reports?: readonly Reports[] | undefined
}

/** A thing that is to be counted. `State`: what was counted of it. */
export interface Due<Of, State> {
  readonly id: number
  /** All its reports, merged. */
  readonly of: Of
  /** When the fact that is to be counted was first reported. */
  readonly knownAt: Millis
  readonly counted: State | undefined
}

export interface Decision<State> {
  /** What is counted of it, now and earlier. Undefined: nothing, for good. */
  readonly counted: State | undefined
  readonly written: readonly Counted[]
  /** The daemon's counters to increase. */
  readonly measures: readonly string[]
}

/** Decides what is counted. `Around`: what it is compared with. `apart`: it waits for its commits, and is counted by itself (deployments only). */
export type Decide<Of, State, Around = undefined> = (due: Due<Of, State>, around: Around) => Decision<State> | 'apart'

/** The outcome. `damaged`: it will never be counted. */
export type Decided<State> = Decision<State> | 'apart' | 'damaged'

export interface Countable<Of, State, Around = undefined> {
  /** Counts the due ones, the longest due first, in one transaction: all of them, or none if it throws. */
  countDue(limit: number, decide: Decide<Of, State, Around>): Promise<readonly Decided<State>[]>
  /** The ids of those that `countDue` would count. */
  due(limit: number): Promise<readonly number[]>
  /** Counts one in a transaction. Returns undefined and writes nothing if another replica counted it or `decide` returned undefined. */
  count(
    id: number,
    decide: (...of: Parameters<Decide<Of, State, Around>>) => ReturnType<Decide<Of, State, Around>> | undefined,
  ): Promise<Decided<State> | undefined>
  /** Makes it due again in `ms`. `counted`: this was a try. */
  defer(id: number, ms: number, counted: boolean): Promise<void>
  /** Deletes old ones; returns how many. */
  prune(before: Millis, limit: number): Promise<number>
}
