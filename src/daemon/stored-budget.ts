// The API budget in the store, by the database's clock, which is the same for all processes.
import { createKeptBudget } from '../platform/rest/budget.ts'
import type { Budget } from '../platform/port/budget.ts'
import type { BudgetRules } from '../platform/rest/budget.ts'
import type { Clock } from '../lib/clock.ts'
import type { Repositories } from '../core/store/ports/repository.ts'

export interface StoredBudgetOptions {
  readonly budgets: Repositories['budgets']
  readonly rules: BudgetRules
  /** A fingerprint of the current token: processes with the same token share the budget. */
  readonly account: () => string
  readonly clock: Clock
}

/** ms. */
const lookEvery = 15_000

export function createStoredBudget({ budgets, rules, account, clock }: StoredBudgetOptions): Budget {
  const keeper: Parameters<typeof createKeptBudget>[1] = {
    lookEvery,
    read: async () => {
      const [state, now] = await Promise.all([budgets.get({ account: account() }), budgets.now()])
      return { state, now }
    },
    change: async change => {
      const of = { account: account() }
      return budgets.change(of, (known, now) => {
        const { state, result } = change(known, now)
        return { document: { ...state, ...of }, result }
      })
    },
  }
  return createKeptBudget(rules, keeper, clock)
}
