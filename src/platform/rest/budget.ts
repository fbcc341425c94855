// The API budget decides whether a request may be sent now. It is a token bucket whose state is plain JSON and whose transitions are pure functions,
// so that a single row of the store can hold it for all processes that share a platform token.
//
//              one request                 refill: up to `burst`
//   tokens ─────────────────► tokens − 1 ─────────────────► tokens
//     │ fewer than 1 + reserve(priority)
//     └───────────────────────────────► wait
//
// 1. While a pause requested by the platform lasts, every request waits.
// 2. A request waits while the remaining number of requests that the platform announced is below 1 + the priority's reserve.
// 3. A request waits while the number of tokens is below 1 + the priority's reserve. Lower priorities have a larger reserve, so that higher ones are
//    served sooner.
// 4. Otherwise the request is granted. At most `perMinute` requests are granted in any minute: the burst plus one minute's refill.
import type { Budget, BudgetFacts, BudgetSnapshot } from '../port/budget.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Millis } from '../../model/instant.ts'
import type { Priority } from '../port.ts'

export interface BudgetRules {
  /** Maximum number of requests in any one-minute window, at least 1. */
  readonly perMinute: number
}

/** The state of the API budget as plain JSON. All its times come from the same clock, either the process's or the store's. */
export interface BudgetState {
  readonly tokens: number
  /** The time at which `tokens` was computed. */
  readonly at: Millis
  /** The end of the current pause, which the platform requested. */
  readonly pausedUntil?: Millis | undefined
  /**
   * The number of requests that the platform's own limit still allows until it resets. Requests granted since the announcement are already
   * subtracted.
   */
  readonly announced?: { readonly remaining: number; readonly until: Millis } | undefined
}

export interface Grant {
  readonly state: BudgetState
  /** 0 if the request is granted; otherwise the time in ms that the caller must wait before trying again. */
  readonly waitMs: number
}

const minute = 60_000
/** Maximum time for which a pause or an announced limit is honoured, ms. */
export const maxPause = 60 * minute

/** The share of the burst that each priority leaves to higher priorities. */
const reserves: Record<Priority, number> = { enrich: 0, page: 1 / 6, poll: 1 / 3, backfill: 2 / 3, inside: 5 / 6 }

export function freshBudget(rules: BudgetRules, now: Millis): BudgetState {
  return { tokens: burstOf(rules), at: now }
}

/** Grants one request, or returns how long to wait. */
export function grant(rules: BudgetRules, before: BudgetState, now: Millis, priority: Priority): Grant {
  const state = refilled(rules, before, now)
  const { tokens, pausedUntil, announced } = state
  if (pausedUntil !== undefined) return { state, waitMs: Math.min(maxPause, pausedUntil - now) }
  const needed = 1 + (burstOf(rules) - 1) * reserves[priority]
  // If both the announced limit and the token bucket make the request wait, it waits for the longer of the two times. Otherwise a lower priority
  // might wait for less time than a higher one.
  const isReserved = announced !== undefined && announced.remaining < needed
  const untilReset = isReserved ? Math.min(maxPause, announced.until - now) : 0
  // The margin compensates for rounding errors: after the wait there must be enough tokens.
  const isShort = tokens + 1e-9 < needed
  const untilRefilled = isShort ? Math.max(1, Math.ceil((needed - tokens) / ratePerMs(rules))) : 0
  if (isReserved || isShort) return { state, waitMs: Math.max(untilReset, untilRefilled) }
  const rest = announced && { ...announced, remaining: announced.remaining - 1 }
  return { state: { ...state, tokens: Math.max(0, tokens - 1), ...(rest && { announced: rest }) }, waitMs: 0 }
}

/**
 * Applies a response's rate limit to the budget. If two announced limits are in force, the stricter one applies, because responses may overtake each
 * other.
 */
export function observe(before: BudgetState, facts: BudgetFacts, now: Millis): BudgetState {
  const { tokens, at } = before
  const pausedUntil = latestInForce(before.pausedUntil, facts.pause, now)
  let announced = isInForce(before.announced?.until, now) ? before.announced : undefined
  const { remaining, resetIn } = facts
  if (remaining !== undefined && resetIn !== undefined && resetIn > 0) {
    const newest = { remaining, until: now + Math.min(maxPause, resetIn) }
    if (announced === undefined || newest.remaining < announced.remaining) announced = newest
  }
  return { tokens, at, ...(pausedUntil && { pausedUntil }), ...(announced && { announced }) }
}

export function snapshotOf(rules: BudgetRules, before: BudgetState, now: Millis): BudgetSnapshot {
  const { tokens, pausedUntil, announced } = refilled(rules, before, now)
  return {
    perMinute: rules.perMinute,
    available: pausedUntil === undefined ? Math.floor(Math.min(tokens, announced?.remaining ?? tokens)) : 0,
    pausedFor: pausedUntil === undefined ? 0 : pausedUntil - now,
    ...(announced === undefined ? {} : { remaining: announced.remaining }),
  }
}

/** Number of requests that may be sent at once after an idle period. It is greater than 1, so that each priority has a reserve. */
function burstOf({ perMinute }: BudgetRules): number {
  return Math.max(1.5, perMinute / 6)
}

/** The refill rate in tokens per ms. At this rate, the burst plus one minute's refill stays below `perMinute` + 1. */
function ratePerMs(rules: BudgetRules): number {
  return (rules.perMinute + 1 - burstOf(rules)) / minute
}

/**
 * Returns the state at `now`, with tokens refilled and expired limits removed. If the clock was set back by less than a minute, no tokens are
 * refilled until it catches up.
 */
function refilled(rules: BudgetRules, { tokens, at, pausedUntil, announced }: BudgetState, now: Millis): BudgetState {
  const isSetBack = at - now > minute
  const passed = Math.max(0, now - at)
  return {
    tokens: Math.min(burstOf(rules), tokens + passed * ratePerMs(rules)),
    at: isSetBack ? now : Math.max(at, now),
    ...(isInForce(pausedUntil, now) && { pausedUntil }),
    ...(isInForce(announced?.until, now) && { announced }),
  }
}

/**
 * Whether a limit that ends at `until` is in force. An end that is further away than the maximum pause is ignored, because it was written while the
 * clock was wrong.
 */
function isInForce(until: Millis | undefined, now: Millis): boolean {
  return until !== undefined && until > now && until <= now + maxPause
}

function latestInForce(before: Millis | undefined, pause: number | undefined, now: Millis): Millis | undefined {
  const until = Math.max(
    isInForce(before, now) ? (before ?? 0) : 0,
    pause === undefined ? 0 : now + Math.min(maxPause, pause),
  )
  return until > now ? until : undefined
}

/** Stores the state of a budget. `now` comes from the same clock as all times in the state. */
export interface BudgetKeeper {
  read(): Promise<{ readonly state: BudgetState | undefined; readonly now: Millis }>
  /**
   * Maximum time after which a waiting caller rereads the state, ms. Set if other processes also change the state, because they may use less of the
   * budget than the caller assumed when it began to wait.
   */
  readonly maxRereadDelay?: number | undefined
  change<T>(change: (state: BudgetState | undefined, now: Millis) => { state: BudgetState; result: T }): Promise<T>
}

export function createKeptBudget(rules: BudgetRules, keeper: BudgetKeeper, clock: Clock): Budget {
  const current = async (): Promise<[BudgetState, Millis]> => {
    const { state, now } = await keeper.read()
    return [state ?? freshBudget(rules, now), now]
  }
  return {
    take: async (priority, signal) => {
      for (;;) {
        signal?.throwIfAborted()
        const waitMs = await keeper.change((before, now) => {
          const { state, waitMs: result } = grant(rules, before ?? freshBudget(rules, now), now, priority)
          return { state, result }
        })
        if (waitMs === 0) return
        await clock.sleep(Math.min(waitMs, keeper.maxRereadDelay ?? waitMs), signal)
      }
    },
    observed: async facts =>
      keeper.change((before, now) => ({
        state: observe(before ?? freshBudget(rules, now), facts, now),
        result: undefined,
      })),
    // `snapshot` and `isShort` only read the state, so that `/metrics` works even if the disk is full.
    snapshot: async () => snapshotOf(rules, ...(await current())),
    isShort: async priority => grant(rules, ...(await current()), priority).waitMs > 0,
  }
}

/** Creates a budget whose state is in this process's memory, for tests and for commands without a store. */
export function createInMemoryBudget(rules: BudgetRules, clock: Clock): Budget {
  let known = freshBudget(rules, clock.now())
  const keeper: BudgetKeeper = {
    read: async () => ({ state: known, now: clock.now() }),
    change: async change => {
      const { state, result } = change(known, clock.now())
      known = state
      return result
    },
  }
  return createKeptBudget(rules, keeper, clock)
}
