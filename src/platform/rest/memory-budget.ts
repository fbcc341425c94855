// A budget of one process, for tests and for commands without a store.
import { freshBudget, grant, observe, snapshotOf, type BudgetRules } from './budget.ts'
import type { Budget } from '../port.ts'
import type { Clock } from '../../lib/clock.ts'

export function createMemoryBudget(rules: BudgetRules, clock: Clock): Budget {
  let state = freshBudget(rules, clock.now())
  return {
    take: async (priority, signal) => {
      for (;;) {
        signal?.throwIfAborted()
        const granted = grant(rules, state, clock.now(), priority)
        state = granted.state
        if (granted.waitMs === 0) return
        await clock.sleep(granted.waitMs, signal)
      }
    },
    observed: async facts => {
      state = observe(state, facts, clock.now())
    },
    snapshot: async () => snapshotOf(rules, state, clock.now()),
    isShort: async priority => grant(rules, state, clock.now(), priority).waitMs > 0,
  }
}
