// Tests sessions in real stores: any replica can end the session for a cookie.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { createSessions, sessionLife, type Sessions } from '../../src/console/access/session.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { openPostgres, openSqlite } from '../support/stores.ts'
import { Secret } from '../../src/lib/secret.ts'
import { silentLog } from '../../src/lib/log.ts'
import { StoreError } from '../../src/lib/fault.ts'
import type { Store } from '../../src/core/store/ports/store.ts'

const token = new Secret('an-admin-token-of-this-test')
let now: number
let store: Store
const replica = (sessions = store.repositories.sessions): Sessions =>
  createSessions({ sessions, now: () => now, log: silentLog() })

beforeEach(() => {
  now = Date.UTC(2026, 5, 1)
  store = closeAfterTest(openSqlite(':memory:', { now: () => now, maxSize: 1e9 }))
})

describe('a console session', () => {
  it.each(['sqlite', 'postgres'])(
    'accepts a session on every replica until it is logged out, and then on none (%s)',
    async kind => {
      const url = kind === 'sqlite' ? undefined : await newDatabase()
      const open = async (): Promise<Store> =>
        url === undefined ? store : closeAfterTest(await openPostgres(url, { maxSize: 1e9 }))
      const [one, two] = [await open(), await open()].map(({ repositories }) => replica(repositories.sessions)) as [
        Sessions,
        Sessions,
      ]
      const [cookie, other] = [one.begin(token), one.begin(token)]
      const found = await two.find(token, cookie)
      expect(found).toBeDefined()
      await two.end(token, found!)
      expect(await one.find(token, cookie)).toBeUndefined()
      expect(await two.find(token, other)).toBeDefined()
    },
  )

  it('ends a session when it expires or the admin token changes', async () => {
    const cookie = replica().begin(token)
    expect(await replica().find(new Secret('another-admin-token'), cookie)).toBeUndefined()
    now += sessionLife - 1
    expect(await replica().find(token, cookie)).toBeDefined()
    now += 1
    expect(await replica().find(token, cookie)).toBeUndefined()
  })

  it('rejects a session that began while the clock was ahead, and a cookie whose expiry was changed', async () => {
    const cookie = replica().begin(token)
    now -= 90 * 24 * 3_600_000
    expect(await replica().find(token, cookie)).toBeUndefined()
    const [id, until, signature] = replica().begin(token).split('.')
    expect(await replica().find(token, [id, Number(until) + 1, signature].join('.'))).toBeUndefined()
  })

  it('stores nothing about a session that would grant access, and deletes what it stores after a while', async () => {
    const end = async (): Promise<string> => {
      const cookie = replica().begin(token)
      await replica().end(token, (await replica().find(token, cookie))!)
      return cookie
    }
    const cookie = await end()
    const stored = JSON.stringify(await store.repositories.sessions.all())
    expect(stored).not.toContain(cookie.split('.')[0])
    now += 2 * sessionLife + 3_600_000
    await end()
    expect(await store.repositories.sessions.all()).toHaveLength(1)
  })

  it('starts a session even while the store rejects writes', async () => {
    const refuse = async (): Promise<never> => Promise.reject(new StoreError('The disk is full.', 'Free some.'))
    const full = replica({ ...store.repositories.sessions, put: refuse, prune: refuse })
    const found = await full.find(token, full.begin(token))
    expect(found).toBeDefined()
    await full.end(token, found!)
  })

  it('rejects a session on the replica where it was logged out, even while the store rejects writes', async () => {
    const refuse = async (): Promise<never> => Promise.reject(new StoreError('The disk is full.', 'Free some.'))
    const full = replica({ ...store.repositories.sessions, put: refuse, prune: refuse })
    const cookie = full.begin(token)
    await full.end(token, (await full.find(token, cookie))!)
    expect(await full.find(token, cookie)).toBeUndefined()
  })

  it('rejects a logged-out session even after other users have logged out while the clock was 13 hours ahead', async () => {
    const cookie = replica().begin(token)
    await replica().end(token, (await replica().find(token, cookie))!)
    now += 13 * 3_600_000
    await replica().end(token, (await replica().find(token, replica().begin(token)))!)
    now -= 13 * 3_600_000
    expect(await replica().find(token, cookie)).toBeUndefined()
  })
})
