// Tests the settle loop on a real store on which the transactions of some runs fail: which runs are postponed, for how long, and how long the loop
// pauses.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { DataError, StoreError } from '../../../src/lib/fault.ts'
import { deliver, pipelineIdOf } from '../../support/of-run.ts'
import { event, job, minute, rules, second, settlerOf, snapshotterWith, t0 } from '../../flow/world.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { openSqlite } from '../../support/stores.ts'
import type { SettleLoop } from '../../../src/core/settle/settle-loop.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

let now: number
let store: Store
/** Returns the error with which a transaction on these pipelines fails, if any. */
let failure: (pipelineIds: readonly number[]) => Error | undefined

beforeEach(() => {
  now = t0
  failure = () => undefined
  store = closeAfterTest(openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 }))
})

const badData = new DataError('It does not fit.', 'Please report it.')
const outage = new StoreError('It cannot be written.', 'See the disk.')

async function finish(pipelineIds: readonly number[], settle = rules.settle): Promise<void> {
  const observed = pipelineIds.map(id =>
    event('success', { finishedAt: t0 + minute }, [job(id * 10, 'build', 'success', { finished: 50 })], {}, id),
  )
  await store.runs.transact(mergeObservations(observed, 'webhook', { ...rules, settle }))
}

function settler(sleep: (ms: number) => void = () => undefined, settle = rules.settle): SettleLoop {
  const transact: Store['runs']['transact'] = async work => {
    const error = failure(work.map(({ key }) => key.pipelineId))
    if (error !== undefined) throw error
    await store.runs.transact(work)
  }
  return settlerOf(
    { runs: { ...store.runs, transact }, runsPerTransaction: 10 },
    {
      snapshotter: snapshotterWith({ rules: { ...rules, settle } }),
      clock: { now: () => now, sleep: async ms => sleep(ms) },
    },
  )
}

async function sent(): Promise<number[]> {
  return (await deliver(store)).map(pipelineIdOf).sort((a, b) => a - b)
}

describe('a run that cannot be settled', () => {
  it('retries a failing run at growing intervals without delaying other runs, and exports it once it can be settled', async () => {
    failure = ids => (ids.includes(2) ? badData : undefined)
    await finish([1, 2, 3])
    now += rules.settle
    const loop = settler()
    await loop.drain()
    expect([await sent(), loop.counters.postponed]).toEqual([[1, 3], 1])
    for (const end = now + 10 * minute; now < end; now += 5 * second) await loop.drain()
    expect(loop.counters.postponed).toBeGreaterThan(3)
    expect(loop.counters.postponed).toBeLessThan(12)
    expect(await sent()).toEqual([])
    failure = () => undefined
    for (const end = now + 5 * minute; now < end; now += 5 * second) await loop.drain()
    expect(await sent()).toEqual([2])
  })

  it('postpones a run that cannot be settled even if no other run of its transaction can be settled either', async () => {
    failure = () => badData
    await finish([1, 2])
    now += rules.settle
    const loop = settler()
    await loop.drain()
    expect(loop.counters.postponed).toBe(2)
  })

  it('does not postpone a run if the store cannot write, and settles it when its lease has ended', async () => {
    failure = () => outage
    await finish([1, 2])
    now += rules.settle
    const loop = settler()
    await expect(loop.drain()).rejects.toBe(outage)
    expect(loop.counters.postponed).toBe(0)
    failure = () => undefined
    now += minute
    await loop.drain()
    expect(await sent()).toEqual([1, 2])
  })
})

it('pauses the settle loop until the next run is due, but never longer than a second', async () => {
  const pauses: number[] = []
  const { promise: isOver, resolve } = Promise.withResolvers<undefined>()
  const settle = 1_600
  await finish([1], settle)
  const loop = settler(ms => {
    pauses.push(ms)
    now += ms
    if (pauses.length < 3) return
    void loop.stop()
    resolve(undefined)
  }, settle)
  loop.start()
  await isOver
  await loop.stop()
  expect(pauses).toEqual([1_000, 600, 1_000])
  expect(await sent()).toEqual([1])
})
