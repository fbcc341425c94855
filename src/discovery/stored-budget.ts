// The API budget in the store, so that replicas and commands that share a token share its limit.
import { z } from 'zod'
import { freshBudget, grant, observe, snapshotOf, type Budget, type BudgetRules } from '../platform/rest/budget.ts'
import type { BudgetState } from '../platform/rest/budget.ts'
import type { Clock } from '../lib/clock.ts'
import type { Json, Notes } from '../store/ports/notes.ts'

export interface StoredBudgetOptions {
  readonly notes: Notes
  readonly rules: BudgetRules
  /** Names the token of this moment without revealing it: whoever has the same one shares the budget. */
  readonly account: () => string
  readonly clock: Clock
}

/** No wait is longer before the state is read again, ms: another process may have been granted less than it seemed. */
const longestLook = 15_000

const state = z.object({
  tokens: z.number(),
  at: z.number(),
  pausedUntil: z.number().optional(),
  announced: z.object({ remaining: z.number(), until: z.number() }).optional(),
})

/** Instants in the state are of the database's clock, which all who share it see alike. */
export function createStoredBudget({ notes, rules, account, clock }: StoredBudgetOptions): Budget {
  const name = (): string => `budget/${account()}`
  const stateOf = (value: Json | undefined, now: number): BudgetState =>
    state.safeParse(value).data ?? freshBudget(rules, now)
  return {
    take: async (priority, signal) => {
      for (;;) {
        signal?.throwIfAborted()
        const waitMs = await notes.change(name(), (value, now) => {
          const granted = grant(rules, stateOf(value, now), now, priority)
          return { value: jsonOf(granted.state), result: granted.waitMs }
        })
        if (waitMs === 0) return
        await clock.sleep(Math.min(waitMs, longestLook), signal)
      }
    },
    observed: facts =>
      notes.change(name(), (value, now) => ({
        value: jsonOf(observe(stateOf(value, now), facts, now)),
        result: undefined,
      })),
    snapshot: async () => {
      // A reader writes nothing: a scrape is answered on a full disk too.
      const { value, now } = await notes.readAt(name())
      return snapshotOf(rules, stateOf(value, now), now)
    },
  }
}

function jsonOf({ tokens, at, pausedUntil, announced }: BudgetState): Json {
  return { tokens, at, ...(pausedUntil !== undefined && { pausedUntil }), ...(announced && { announced }) }
}
