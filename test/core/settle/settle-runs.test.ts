// Tests how many runs are settled per transaction: all due runs, but only as many large ones as fit into memory.
import { expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { settleRuns } from '../../../src/core/settle/settle-runs.ts'
import { openSqlite } from '../../support/stores.ts'
import { event, instance, job, rules, t0, snapshotterWith } from '../../flow/world.ts'
import type { Runs } from '../../../src/core/store/ports/runs.ts'

it('settles each large run in its own transaction, and small ones together', async () => {
  const store = openSqlite(':memory:', { now: () => t0 + rules.settle, maxSize: 2 ** 30 })
  const sizes = [3_000, 1, 3_000, 1, 6_000, 1]
  for (const [at, size] of sizes.entries()) {
    const jobs = Array.from({ length: size }, (_, one) =>
      job(at * 10_000 + one, `job ${one}`, 'success', { finished: 50 }),
    )
    const observed = event('success', { finishedAt: t0 + 60_000 }, jobs, {}, at + 1)
    await store.runs.transact(mergeObservations([observed], 'webhook', { ...rules, settle: 0 }))
  }
  const transactions: number[][] = []
  const runs: Runs = {
    ...store.runs,
    transact: async work => {
      // If a run were left for a later transaction every time, this test would never end.
      if (transactions.length === sizes.length) throw new Error('There are more transactions than runs.')
      const decided: number[] = []
      transactions.push(decided)
      return store.runs.transact(
        work.map(one => ({
          ...one,
          decide: (known, now) => {
            const change = one.decide(known, now)
            if (change !== undefined) decided.push(one.key.pipelineId)
            return change
          },
        })),
      )
    },
  }
  const snapshotter = snapshotterWith({ rules: { ...rules, settle: 0 } })
  await settleRuns(
    sizes.map((_, at) => ({ instance, pipelineId: at + 1 })),
    runs,
    snapshotter,
  )
  expect(transactions).toEqual([[1, 2, 4, 6], [3], [5]])
  expect(snapshotter.counters.attempts).toBe(sizes.length)
  expect((await store.runs.count()).open).toBe(0)
  await store.close()
})
