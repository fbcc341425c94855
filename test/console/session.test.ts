// Sessions in real stores: what a cookie stands for can be taken back, by any replica.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { createSessions, maxSessions, sessionLife, type Sessions } from '../../src/console/access/session.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { openPostgres } from '../support/stores.ts'
import { openSqlite } from '../support/stores.ts'
import { StoreError } from '../../src/lib/fault.ts'
import { Secret } from '../../src/lib/secret.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { Store } from '../../src/core/store/ports/store.ts'

const token = new Secret('an-admin-token-of-this-test')
let now = Date.UTC(2026, 5, 1)
let store: Store
const log = silentLog()
const replica = (sessions = store.repositories.sessions): Sessions => createSessions({ sessions, now: () => now, log })

beforeEach(() => {
  store = closeAfterTest(openSqlite(':memory:', { now: () => now, maxSize: 1e9 }))
})
describe('a session', () => {
  it('is valid on every replica, and on none after its logout', async () => {
    const [one, two] = [replica(), replica()]
    const cookie = await one.begin(token)
    const found = await two.find(token, cookie)
    expect(found).toEqual({ id: cookie })
    await two.end(token, found!)
    expect(await one.find(token, cookie)).toBeUndefined()
  })

  it('is valid and ends likewise on replicas with a PostgreSQL database', async () => {
    const url = await newDatabase()
    const stores = await Promise.all([1, 2].map(async () => openPostgres(url, { maxSize: 1e9 })))
    try {
      const [one, two] = stores.map(({ repositories }) => replica(repositories.sessions)) as [Sessions, Sessions]
      const [cookie, other] = [await one.begin(token), await one.begin(token)]
      const found = await two.find(token, cookie)
      expect(found).toEqual({ id: cookie })
      await two.end(token, found!)
      expect(await one.find(token, cookie)).toBeUndefined()
      expect(await two.find(token, other)).toBeDefined()
    } finally {
      for (const one of stores) await one.close()
    }
  })

  it('ends when it expires, and when the admin token changes', async () => {
    const sessions = replica()
    const cookie = await sessions.begin(token)
    expect(await sessions.find(new Secret('another-admin-token'), cookie)).toBeUndefined()
    now += sessionLife - 1
    expect(await sessions.find(token, cookie)).toBeDefined()
    now += 1
    expect(await sessions.find(token, cookie)).toBeUndefined()
  })

  it('does not last longer if it began while the clock was ahead', async () => {
    now += 90 * 24 * 3_600_000
    const cookie = await replica().begin(token)
    now -= 90 * 24 * 3_600_000
    expect(await replica().find(token, cookie)).toBeUndefined()
  })

  it('stores nothing that would open a page', async () => {
    const cookie = await replica().begin(token)
    const stored = await store.repositories.sessions.all()
    expect(stored).toHaveLength(1)
    expect(JSON.stringify(stored)).not.toContain(cookie)
    for (const { digest } of stored) expect(await replica().find(token, digest)).toBeUndefined()
  })

  it('replaces the oldest beyond the limit; expired ones are deleted', async () => {
    const sessions = replica()
    const first = await sessions.begin(token)
    now += 1
    for (let count = 1; count < maxSessions; count += 1) await sessions.begin(token)
    expect(await sessions.find(token, first)).toBeDefined()
    await sessions.begin(token)
    expect(await sessions.find(token, first)).toBeUndefined()
    expect(await store.repositories.sessions.all()).toHaveLength(maxSessions)
    now += sessionLife
    await sessions.begin(token)
    expect(await store.repositories.sessions.all()).toHaveLength(1)
  })

  it('begins and ends even if the store cannot write', async () => {
    let isFull = false
    const { sessions: stored } = store.repositories
    const write = <T>(work: () => Promise<T>): Promise<T> =>
      isFull ? Promise.reject(new StoreError('The disk is full.', 'Free some.')) : work()
    const sessions = replica({
      ...stored,
      put: async document => write(async () => stored.put(document)),
      remove: async key => write(async () => stored.remove(key)),
      prune: async isOver => write(async () => stored.prune(isOver)),
      change: async (key, change) => write(async () => stored.change(key, change)),
    })
    const before = await sessions.begin(token)
    isFull = true
    const during = await sessions.begin(token)
    expect(await sessions.find(token, during)).toBeDefined()
    for (const id of [before, during]) {
      await sessions.end(token, { id })
      expect(await sessions.find(token, id)).toBeUndefined()
    }
    isFull = false
    await sessions.begin(token)
    expect(await replica().find(token, before)).toBeUndefined()
  })
})
