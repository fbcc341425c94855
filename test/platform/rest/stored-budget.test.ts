import { expect, it } from 'vitest'
import { createStoredBudget } from '../../../src/daemon/platform.ts'
import { openSqlite } from '../../support/stores.ts'
import type { ApiBudget } from '../../../src/core/store/ports/discovery-documents.ts'
import type { Clock } from '../../../src/lib/clock.ts'

function sharedStore() {
  let now = Date.UTC(2026, 0, 1)
  const clock: Clock = {
    now: () => now,
    sleep: async ms => {
      now += ms
    },
  }
  return { store: openSqlite(':memory:', { now: () => now, maxSize: 1e9 }), clock }
}

it("grants two processes that share an API token no more than the token's budget in a minute", async () => {
  const { store, clock } = sharedStore()
  const rules = { perMinute: 60 }
  const [one, two] = [1, 2].map(() =>
    createStoredBudget({ budgets: store.repositories.budgets, rules, account: () => 'abc', clock }),
  )
  const grants: number[] = []
  while (grants.length < 200) {
    await one!.take('enrich')
    grants.push(clock.now())
    await two!.take('enrich')
    grants.push(clock.now())
  }
  for (const [index, at] of grants.entries()) {
    const within = grants.filter(other => other >= at && other < at + 60_000).length
    expect(within, `grant ${index}`).toBeLessThanOrEqual(60)
  }
})

it('applies a pause that one process observed to the other process, until the pause ends', async () => {
  const { store, clock } = sharedStore()
  const rules = { perMinute: 600 }
  const [one, two] = [1, 2].map(() =>
    createStoredBudget({ budgets: store.repositories.budgets, rules, account: () => 'abc', clock }),
  )
  await one!.observed({ pause: 30_000 })
  expect(await two!.snapshot()).toMatchObject({ available: 0, pausedFor: 30_000 })
  const before = clock.now()
  await two!.take('enrich')
  expect(clock.now() - before).toBe(30_000)
})

it('gives each API token a separate budget', async () => {
  const { store, clock } = sharedStore()
  let account = 'old'
  const budget = createStoredBudget({
    budgets: store.repositories.budgets,
    rules: { perMinute: 60 },
    account: () => account,
    clock,
  })
  await budget.observed({ pause: 60_000 })
  account = 'new'
  expect(await budget.snapshot()).toMatchObject({ pausedFor: 0 })
})

it('starts with a full budget if the stored state cannot be read', async () => {
  const { store, clock } = sharedStore()
  await store.repositories.budgets.put({ account: 'abc', odd: true } as unknown as ApiBudget)
  const budget = createStoredBudget({
    budgets: store.repositories.budgets,
    rules: { perMinute: 60 },
    account: () => 'abc',
    clock,
  })
  await budget.take('backfill')
  expect(await budget.snapshot()).toMatchObject({ perMinute: 60, available: 9 })
})
