// The API budget in the store, so that replicas and commands that share a token share its limit.
import { freshBudget, grant, observe, snapshotOf, type BudgetRules } from '../platform/rest/budget.ts'
import type { Budget } from '../platform/port.ts'
import type { BudgetState } from '../platform/rest/budget.ts'
import type { Clock } from '../lib/clock.ts'
import type { Millis } from '../model/instant.ts'
import type { Repositories } from '../store/ports/repository.ts'

export interface StoredBudgetOptions {
  readonly budgets: Repositories['budgets']
  readonly rules: BudgetRules
  /** A fingerprint of the current token: processes with the same token share the budget. */
  readonly account: () => string
  readonly clock: Clock
}

/** The state is read again after this time at the latest, ms: another process may have used less than expected. */
const longestLook = 15_000

/** All times in the state are of the database's clock, which is the same for all processes. */
export function createStoredBudget({ budgets, rules, account, clock }: StoredBudgetOptions): Budget {
  const key = (): { account: string } => ({ account: account() })
  const changed = async <T>(
    change: (state: BudgetState, now: Millis) => { state: BudgetState; result: T },
  ): Promise<T> => {
    const of = key()
    return budgets.change(of, (known, now) => {
      const { state, result } = change(known ?? freshBudget(rules, now), now)
      return { document: { ...state, ...of }, result }
    })
  }
  const current = async (): Promise<[BudgetState, Millis]> => {
    const [known, now] = await Promise.all([budgets.get(key()), budgets.now()])
    return [known ?? freshBudget(rules, now), now]
  }
  return {
    take: async (priority, signal) => {
      for (;;) {
        signal?.throwIfAborted()
        const waitMs = await changed((before, now) => {
          const { state, waitMs: result } = grant(rules, before, now, priority)
          return { state, result }
        })
        if (waitMs === 0) return
        await clock.sleep(Math.min(waitMs, longestLook), signal)
      }
    },
    observed: async facts => changed((before, now) => ({ state: observe(before, facts, now), result: undefined })),
    // Both only read, so that `/metrics` works even with a full disk.
    snapshot: async () => snapshotOf(rules, ...(await current())),
    isShort: async priority => {
      const [state, now] = await current()
      return grant(rules, state, now, priority).waitMs > 0
    },
  }
}
