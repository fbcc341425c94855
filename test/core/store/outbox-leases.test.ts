// Tests the leases of outbox entries on SQLite, which exist only in the memory of the process.
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { exportQueue } from './exported-run.ts'
import { fill } from './filled.ts'
import { openSqlite, openSqliteShared } from '../../support/stores.ts'
import { t0 } from '../../flow/world.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const minute = 60_000
let file: string
let now: number
let store: Store
/** A second connection, which reads the file as another process would. */
let beside: DatabaseSync
const open = (): Store => openSqlite(file, { now: () => now, maxSize: 2 ** 30 })

beforeEach(async () => {
  file = path.join(temporaryFolder(), 'p.db')
  now = t0
  store = open()
  await fill(store, 5)
  beside = new DatabaseSync(file)
})
afterEach(async () => {
  beside.close()
  await store.close()
})

/** Returns a number that changes with every commit to the file. */
const version = (): unknown => beside.prepare('PRAGMA data_version').get()
const pendingCount = (): number =>
  (beside.prepare(`SELECT count(*) AS n FROM outbox WHERE state = 'pending'`).get() as { n: number }).n

it('leases entries and releases unsent ones without writing to the file', async () => {
  const before = version()
  const { token, items } = await store.outbox.lease(exportQueue, 3, minute)
  expect(
    await store.outbox.settle(
      token,
      items.slice(1).map(({ id }) => ({ id, as: 'unsent' as const })),
    ),
  ).toMatchObject({ lost: 0 })
  expect(version()).toEqual(before)
  await store.outbox.settle(token, [{ id: items[0]!.id, as: 'delivered' }])
  expect(version()).not.toEqual(before)
  expect((await store.outbox.lease(exportQueue, 10, minute)).items).toHaveLength(4)
})

it('counts the leased entries of crashed processes as repeated only once, however many processes crashed', async () => {
  const { token, items } = await store.outbox.lease(exportQueue, 4, minute)
  const [delivered, later, unsent] = items.map(({ id }) => id)
  await store.outbox.settle(token, [
    { id: delivered!, as: 'delivered' },
    { id: later!, as: 'later', forMs: 0, error: 'HTTP 503', counted: true },
    { id: unsent!, as: 'unsent' },
  ])
  const next = async (limit: number): Promise<[number, number]> => {
    await store.close()
    store = open()
    const lease = await store.outbox.lease(exportQueue, limit, minute)
    const settled = lease.items.map(({ id }) => ({ id, as: 'unsent' as const }))
    await store.outbox.settle(lease.token, settled)
    return [lease.items.length, lease.repeated]
  }
  expect(await next(1)).toEqual([1, 0])
  expect(await next(10)).toEqual([4, 1])
  expect(await next(10)).toEqual([4, 0])
})

it('releases at start-up the leases that are stored in rows, as in a copy from PostgreSQL', async () => {
  beside.prepare(`UPDATE outbox SET lease = 'of the dead', due_at = ? WHERE id <= 2`).run(now + minute)
  expect(await store.outbox.dueIn(exportQueue)).toBe(0)
  expect((await store.outbox.lease(exportQueue, 10, 0)).items).toHaveLength(3)
  await store.reclaim()
  expect((await store.outbox.lease(exportQueue, 10, minute)).items).toHaveLength(5)
})

it('settles entries under the same lease once the store accepts writes again', async () => {
  const { token, items } = await store.outbox.lease(exportQueue, 10, minute)
  const settle = async () =>
    store.outbox.settle(
      token,
      items.map(({ id }) => ({ id, as: 'delivered' as const })),
    )
  beside.exec(`CREATE TRIGGER refused BEFORE DELETE ON outbox WHEN OLD.id = 3 BEGIN SELECT RAISE(ABORT, 'no'); END`)
  await expect(settle()).rejects.toThrow('cannot store this data: no')
  expect(pendingCount()).toBe(5)
  expect((await store.outbox.lease(exportQueue, 10, minute)).items).toEqual([])
  beside.exec('DROP TRIGGER refused')
  expect(await settle()).toMatchObject({ lost: 0 })
  expect(pendingCount()).toBe(0)
})

it('counts entries whose lease was released in the meantime as lost', async () => {
  const { token, items } = await store.outbox.lease(exportQueue, 1, minute)
  expect(await store.pruning.unserved(exportQueue, now + minute, 100)).toBe(5)
  expect(await store.outbox.settle(token, [{ id: items[0]!.id, as: 'delivered' }])).toMatchObject({ lost: 1 })
})

it('finds due outbox entries through the index, in order', async () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  const fresh = openSqliteShared(file, { now: () => now, maxSize: 2 ** 30 })
  try {
    await fresh.outbox.lease(exportQueue, 2, minute)
    await fresh.outbox.dueIn(exportQueue)
    const asked = prepare.mock.calls.map(([sql]) => sql).filter(sql => /^SELECT[^]*FROM outbox WHERE state/.test(sql))
    expect(asked).toHaveLength(3)
    for (const sql of asked) {
      const plan = beside.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
      expect(plan.map(({ detail }) => String(detail))).toEqual([
        expect.stringMatching(/^SEARCH outbox USING COVERING INDEX outbox_pending /),
      ])
    }
  } finally {
    prepare.mockRestore()
    await fresh.close()
  }
})

it('keeps leases if the clock is set a year ahead, and lets them expire on time if it is set back', async () => {
  await store.close()
  let elapsed = 1_000
  store = openSqlite(file, { now: () => now, elapsed: () => elapsed, maxSize: 2 ** 30 })
  const held = async (): Promise<number> => (await store.outbox.lease(exportQueue, 10, minute)).items.length
  expect(await held()).toBe(5)
  now += 365 * 24 * 60 * minute
  expect(await held()).toBe(0)
  now -= 365 * 24 * 60 * minute
  expect(await held()).toBe(0)
  expect(await store.outbox.dueIn(exportQueue)).toBe(minute)
  elapsed += minute
  expect(await held()).toBe(5)
})
