// Tests how the daemon treats times that were stored while the clock was a year, or a few hours, ahead, once the clock is correct again, on both
// databases.
import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { at, day, event, hour, job, minute, rules, second, snapshotterWith, settlerOf, t0 } from '../../flow/world.ts'
import { createMaintenance } from '../../../src/core/store/maintenance/maintenance.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { bothDatabases, opened, sqliteBench, type Bench } from './benches.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { newDatabase } from './new-database.ts'
import { openPostgres } from '../../support/stores.ts'
import type { ExportQueue } from '../../../src/core/store/ports/outbox.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const exportQueue: ExportQueue = { destination: 'default', signal: 'traces' }

for (const [name, bench] of bothDatabases())
  describe.each([
    ['a year', 365 * day],
    ['three hours', 3 * hour],
  ])(`after a clock was %s ahead on ${name}, the daemon`, (_, ahead) => {
    let here: Bench
    let store: Store
    const snapshotter = snapshotterWith()
    beforeEach(async () => {
      ;({ here, store } = await opened(bench))
      here.move(ahead)
    })

    async function observe(id: number, status: string, enrichDeadline?: number): Promise<void> {
      const jobs = [job(id * 10, 'build', 'success', { started: 5, finished: 50 })]
      const observed = event(status, status === 'running' ? {} : { finishedAt: at(60) }, jobs, {}, id)
      await store.runs.transact(mergeObservations([observed], 'webhook', { ...rules, enrichDeadline }))
    }
    async function settle(): Promise<void> {
      await settlerOf(store, { perTransaction: 50, snapshotter }).drain()
    }
    /** Restarts the daemon with the correct clock. */
    async function restart(): Promise<void> {
      await store.close()
      here.move(-ahead)
      store = await here.open()
      await store.reclaim()
      await store.bringBack()
    }
    const pendingCount = async (): Promise<number> => (await store.outbox.lease(exportQueue, 100, minute)).items.length

    it('settles runs after the settle delay if they ended while the clock was ahead, including those that wait for enrichment', async () => {
      await observe(1, 'success')
      await observe(2, 'success', rules.deadline)
      await restart()
      await settle()
      here.move(rules.settle)
      await settle()
      expect(await pendingCount()).toBe(1)
      here.move(rules.deadline)
      await settle()
      // The lease of the first export has expired.
      expect(await pendingCount()).toBe(2)
    })

    it('settles runs that began while the clock was ahead and are still running', async () => {
      await observe(1, 'running')
      await restart()
      await settle()
      // The run becomes stale at the usual time if nothing more is observed.
      expect(await store.runs.dueIn()).toBe(rules.staleAfter)
      await observe(1, 'success')
      here.move(rules.settle)
      await settle()
      expect(await pendingCount()).toBe(1)
    })

    it('sends exports that were postponed while the clock was ahead', async () => {
      await observe(1, 'success')
      await observe(2, 'success')
      here.move(rules.settle)
      await settle()
      const { token, items } = await store.outbox.lease(exportQueue, 1, minute)
      const [first] = items
      await store.outbox.settle(token, [
        { id: first!.id, as: 'later', forMs: 24 * hour, error: 'busy', counted: false },
      ])
      here.move(-rules.settle)
      await restart()
      expect(await pendingCount()).toBe(2)
    })

    it('sends API requests that became due while the clock was ahead', async () => {
      await observe(1, 'success', rules.deadline)
      await observe(2, 'success', rules.deadline)
      expect(await store.enrichment.take('fresh', 1, minute)).toHaveLength(1)
      await restart()
      expect(await store.enrichment.take('fresh', 10, minute)).toHaveLength(2)
    })

    it('takes over leases from a process that died while the clock was ahead', async () => {
      await store.leases.take('maintenance', 'dead', minute)
      await restart()
      expect(await store.leases.take('maintenance', 'alive', minute)).toBe(true)
    })

    it('deletes data that was stored while the clock was ahead once its retention has passed', async () => {
      await observe(1, 'success')
      here.move(rules.settle)
      await settle()
      const { token, items } = await store.outbox.lease(exportQueue, 1, minute)
      await store.outbox.settle(token, [{ id: items[0]!.id, as: 'delivered' }])
      here.move(-rules.settle)
      await restart()
      here.move(8 * day)
      const { pruned } = await store.pruning.runs(here.now() - 7 * day, 10, undefined)
      expect(pruned).toBe(1)
    })

    it('applies the settle delay to runs that another replica writes while this one reads the database clock', async () => {
      here.move(500 - ahead)
      await observe(1, 'success')
      here.move(-500)
      expect(await store.bringBack()).toBe(0)
      await settle()
      expect(await pendingCount()).toBe(0)
      here.move(rules.settle + 500)
      await settle()
      expect(await pendingCount()).toBe(1)
    })

    it('does not change times that are plausible on the correct clock', async () => {
      await restart()
      await observe(1, 'running', rules.deadline)
      await observe(2, 'success')
      here.move(rules.settle)
      await settle()
      const { token, items } = await store.outbox.lease(exportQueue, 1, minute)
      const later = { id: items[0]!.id, as: 'later', forMs: 5 * minute, error: 'busy', counted: false } as const
      await store.outbox.settle(token, [later])
      expect(await store.bringBack()).toBe(0)
    })

    it("repairs stored times when the store's maintenance begins", async () => {
      await observe(1, 'success')
      here.move(-ahead)
      const maintenance = maintained(store, here)
      await expect.poll(async () => store.runs.dueIn()).toBe(0)
      await maintenance.stop()
    })

    it('repairs stored times when the clock is set back during maintenance', async () => {
      here.move(-ahead)
      const maintenance = maintained(store, here)
      await maintenance.checks(2)
      here.move(ahead)
      await observe(1, 'success')
      await maintenance.checks(2)
      expect(await store.runs.dueIn()).toBeGreaterThan(0)
      here.move(-ahead)
      await expect.poll(async () => store.runs.dueIn()).toBe(0)
      await maintenance.stop()
    })
  })

interface Maintained {
  /** Resolves after the clock has been checked this many more times. */
  checks(count: number): Promise<void>
  stop(): Promise<void>
}

/** Starts the store's maintenance. Each of its pauses ends at once. `passes`: whether each pause moves the clock by its length. */
function maintained(store: Store, here: Bench, passes: 'time stands' | 'time passes' = 'time stands'): Maintained {
  let passed = 0
  let checked = 0
  const clock = {
    now: () => here.now(),
    elapsed: () => passed,
    sleep: async (ms: number) => {
      if (passes === 'time passes') {
        passed += ms
        here.move(ms)
      }
      // Pauses of at least a second are those between two clock checks.
      if (ms >= 1_000) checked += 1
      await new Promise<void>(resolve => setImmediate(resolve))
    },
  }
  const keep = { retention: day, remember: day, keepFigures: day }
  const loop = createMaintenance({ store, served: [exportQueue], ...keep, clock, log: silentLog() })
  closeAfterTest({ close: async () => loop.stop() })
  loop.start()
  return {
    checks: async count => {
      const until = checked + count
      await expect.poll(() => checked).toBeGreaterThanOrEqual(until)
    },
    stop: async () => loop.stop(),
  }
}

describe("a store's maintenance", () => {
  it('repairs stored times only once until the clock is next set back', async () => {
    const { here, store } = await opened(sqliteBench)
    let repairs = 0
    const counting = { ...store, bringBack: async () => ((repairs += 1), store.bringBack()) }
    const maintenance = maintained(counting, here, 'time passes')
    // In half an hour the maintenance checks the clock 180 times.
    await maintenance.checks(180)
    expect(repairs).toBe(1)
    await maintenance.stop()
  })

  it('prunes even if stored times cannot be repaired, and repairs them later', async () => {
    const { here, store } = await opened(sqliteBench)
    await here.sql(`
      INSERT INTO delivery_keys (key, seen_at) VALUES ('old', 0);
      INSERT INTO leases (name, holder, until) VALUES ('of the future', 'dead', ${here.now() + 365 * day});
      CREATE TRIGGER broken BEFORE UPDATE ON leases WHEN old.holder = 'dead' BEGIN SELECT raise(FAIL, 'broken'); END`)
    const maintenance = maintained(store, here, 'time passes')
    await expect.poll(async () => Object.fromEntries(await store.counters.all())).toEqual({ 'pruned.delivery_keys': 1 })
    expect(await store.leases.take('of the future', 'alive', minute)).toBe(false)
    await here.sql('DROP TRIGGER broken')
    await expect.poll(async () => store.leases.take('of the future', 'alive', minute)).toBe(true)
    await maintenance.stop()
  })
})

describe('repairing stored times on PostgreSQL', () => {
  let now: number
  let store: Store
  let other: pg.Client
  beforeEach(async () => {
    const url = await newDatabase()
    now = t0
    store = closeAfterTest(await openPostgres(url, { now: () => now, maxSize: 2 ** 30, timeoutMs: 5_000 }))
    other = new pg.Client(url)
    await other.connect()
    const connection = other
    closeAfterTest({ close: async () => connection.end() })
  })

  /** Starts a repair of stored times, and blocks it when it reaches `table`. Then calls `meanwhile`, and returns the number of rows repaired. */
  async function repairPast(table: string, meanwhile: () => Promise<void>): Promise<number> {
    await other.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`)
    const repair = store.bringBack()
    const waiting = `SELECT 1 FROM pg_locks WHERE relation = '${table}'::regclass AND NOT granted`
    await expect.poll(async () => (await other.query(waiting)).rowCount).toBe(1)
    await meanwhile()
    await other.query('COMMIT')
    return repair
  }
  const observe = async (): Promise<void> =>
    store.runs.transact(mergeObservations([event('success', {}, [])], 'webhook', rules))

  it('does not repair rows that changed after the repair began', async () => {
    const repaired = await repairPast('enrichment_queue', async () => {
      now += 10 * second
      await observe()
    })
    expect(repaired).toBe(0)
    expect(await store.runs.dueIn()).toBe(rules.settle)
  })

  it('allows the repair of stored timestamps to exceed the default statement timeout', async () => {
    await observe()
    now -= day
    const repaired = repairPast('enrichment_queue', async () => {
      await other.query('SELECT pg_sleep(5.5)')
    })
    expect(await repaired).toBe(2)
  })

  it('completes a repair of stored times in the next repair if the clock was set back in the meantime', async () => {
    await observe()
    await repairPast('outbox', async () => {
      now -= day
    })
    await store.bringBack()
    expect(await store.runs.dueIn()).toBe(0)
  })
})
