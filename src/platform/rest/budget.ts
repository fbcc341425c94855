// The API budget: decides whether a request may be sent now. Its state is plain JSON and its transitions are pure, so that a row of the store can
// hold it for all processes that share a token.
//
//              one request                 refill: up to `burst`
//   tokens ─────────────────► tokens − 1 ─────────────────► tokens
//     │ fewer than 1 + reserve(priority)
//     └───────────────────────────────► wait. Before all else: wait while the platform asked for a pause, or while what it
//                                       announced as remaining is down to the priority's reserve.
//
// At most `perMinute` requests are granted in any minute: the burst and the refill of a minute together. Each lower priority leaves a larger reserve,
// so that higher ones are served sooner.
import type { Millis } from '../../model/instant.ts'
import type { Priority } from '../port.ts'
import type { BudgetFacts, BudgetSnapshot } from '../port/budget.ts'

export interface BudgetRules {
  /** Most requests in any minute, at least 1. */
  readonly perMinute: number
}

/** Plain JSON. All times are of one clock, that of whoever keeps the state. */
export interface BudgetState {
  readonly tokens: number
  /** When `tokens` was computed. */
  readonly at: Millis
  /** The platform asked to wait until then. */
  readonly pausedUntil?: Millis | undefined
  /** What remains of the platform's own limit until it resets, minus what was granted since. */
  readonly announced?: { readonly remaining: number; readonly until: Millis } | undefined
}

export interface Grant {
  readonly state: BudgetState
  /** 0: granted. Otherwise ask again after so many ms. */
  readonly waitMs: number
}

const minute = 60_000
/** The longest that a pause or an announced limit counts. */
export const maxPause = 60 * minute

/** Share of the burst that stays untouched by this priority. */
const reserves: Record<Priority, number> = { enrich: 0, page: 1 / 6, poll: 1 / 3, backfill: 2 / 3, inside: 5 / 6 }

export function freshBudget(rules: BudgetRules, now: Millis): BudgetState {
  return { tokens: burstOf(rules), at: now }
}

/** Grants one request, or says how long to wait. */
export function grant(rules: BudgetRules, before: BudgetState, now: Millis, priority: Priority): Grant {
  const state = refilled(rules, before, now)
  const { tokens, pausedUntil, announced } = state
  if (pausedUntil !== undefined) return { state, waitMs: Math.min(maxPause, pausedUntil - now) }
  const needed = 1 + (burstOf(rules) - 1) * reserves[priority]
  // Waits for the longer of both: otherwise a lower priority might wait less than a higher one.
  const isReserved = announced !== undefined && announced.remaining < needed
  const untilReset = isReserved ? Math.min(maxPause, announced.until - now) : 0
  // The margin makes up for rounding: after the announced wait the tokens must suffice.
  const isShort = tokens + 1e-9 < needed
  const untilRefilled = isShort ? Math.max(1, Math.ceil((needed - tokens) / ratePerMs(rules))) : 0
  if (isReserved || isShort) return { state, waitMs: Math.max(untilReset, untilRefilled) }
  const rest = announced && { ...announced, remaining: announced.remaining - 1 }
  return { state: { ...state, tokens: Math.max(0, tokens - 1), ...(rest && { announced: rest }) }, waitMs: 0 }
}

/** Applies what the platform announced. If two announcements are in force, the stricter one counts, as answers may overtake each other. */
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

/** What may be sent at once after a rest; more than 1, so that each priority has a reserve. */
function burstOf({ perMinute }: BudgetRules): number {
  return Math.max(1.5, perMinute / 6)
}

/** With this rate the burst and a minute's refill together stay below `perMinute` + 1. */
function ratePerMs(rules: BudgetRules): number {
  return (rules.perMinute + 1 - burstOf(rules)) / minute
}

/** The state now, with tokens refilled and without what has expired. If the clock was set back by less than a minute, refilling waits. */
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

/** A time further ahead than any pause was written under a clock that was ahead. */
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
