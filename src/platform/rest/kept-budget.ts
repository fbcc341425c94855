// Makes a budget from a keeper of its state: this process, or a store, so that replicas and commands that share a token also share its limit.
import { freshBudget, grant, observe, snapshotOf, type BudgetRules, type BudgetState } from './budget.ts'
import type { Budget } from '../port/budget.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Millis } from '../../model/instant.ts'

/** Keeps the state of a budget. `now` comes from the keeper's clock, like all times in the state. */
export interface BudgetKeeper {
  read(): Promise<{ readonly state: BudgetState | undefined; readonly now: Millis }>
  /** Set if others change the state, too: maximum time after which the state is read again, ms, because others may have used less than expected. */
  readonly lookEvery?: number | undefined
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
        await clock.sleep(Math.min(waitMs, keeper.lookEvery ?? waitMs), signal)
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

/** A budget whose state is in this process's memory, for tests and for commands without a store. */
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
