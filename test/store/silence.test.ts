// A network to PostgreSQL that falls silent: what is asked fails in time, nobody waits for whoever hangs, and all goes on as soon
// as the network does.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { createPutBatch, type PutBatchInbox } from '../../src/ingress/group-commit.ts'
import { delivery } from './exercise.ts'
import { openDatabase, type Database } from '../../src/store/postgres/database.ts'
import { openPostgres } from '../../src/store/postgres/open-postgres.ts'
import { SilentProxy, type Direction } from './silent-proxy.ts'
import { newDatabase } from './new-database.ts'
import { StoreError } from '../../src/lib/fault.ts'
import type { PutOutcome } from '../../src/store/ports/inbox.ts'
import type { Store } from '../../src/store/ports/store.ts'

/** Of what is asked while nothing comes through, and of all else: as much as a busy machine needs, ms. */
const [hasty, timeoutMs] = [1_500, 5_000]
const group = { maxItems: 512, maxBytes: 16 * 1024 * 1024, onAccepted: (): void => undefined }

let proxy: SilentProxy
let db: Database
let store: Store
beforeEach(async () => {
  const url = await newDatabase()
  // Its tables are made without haste.
  await (await openPostgres(url, { maxSize: 2 ** 30 })).close()
  proxy = closeAfterTest(await SilentProxy.before(url))
  store = closeAfterTest(await openPostgres(proxy.through(url), { maxSize: 2 ** 30, timeoutMs }))
  db = closeAfterTest(await openDatabase(proxy.through(url), {}))
})
const directions: readonly Direction[][] = [['to the server', 'to the client'], ['to the client']]

describe.each(directions)('when the network drops everything %s (and %s)', (...silent) => {
  it.each([true, false])('statements fail, and later ones succeed (connections forgotten: %s)', async forgetting => {
    // Several connections are known, and in the midst of something.
    await Promise.all([1, 2, 3].map(async () => db.query('SELECT pg_sleep(0.05)')))
    const impatient = db.withPatience(hasty)
    const network = { isSilent: false }
    // A busy machine may not come that far in time: then it is begun again.
    while (!network.isSilent) {
      const cut = impatient.transaction(async session => {
        await session.query(`INSERT INTO key_value VALUES ('cut', '1')`)
        proxy.silence(...silent)
        network.isSilent = true
        await session.query(`INSERT INTO key_value VALUES ('cut too', '1')`)
      })
      await expect(cut).rejects.toBeInstanceOf(StoreError)
    }
    const asked = [
      impatient.query('SELECT 1'),
      impatient.query('SELECT 1'),
      impatient.transaction(async session => session.query('SELECT 1')),
    ]
    for (const one of await Promise.allSettled(asked)) {
      expect(one).toMatchObject({ status: 'rejected', reason: expect.any(StoreError) as unknown })
    }
    proxy.resume({ forgetting })
    const isBack = async (): Promise<boolean> => {
      const several = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7, 8].map(async () => impatient.query('SELECT 1')))
      return several.every(({ status }) => status === 'fulfilled')
    }
    await expect.poll(isBack).toBe(true)
  })
})

describe('deliveries that are put while a transaction hangs', () => {
  it('do not wait for it', async () => {
    const inbox: PutBatchInbox = { ...store.inbox, concurrency: 4 }
    let hang = true
    const hangs = new Promise<PutOutcome[]>(() => undefined)
    const batch = createPutBatch(
      {
        ...inbox,
        put: async deliveries => {
          if (!hang) return inbox.put(deliveries)
          hang = false
          return hangs
        },
      },
      { ...group, timeoutMs },
    )
    const first = batch.put(delivery('a'))
    await expect.poll(() => hang).toBe(false)
    // The one that hangs is not over when these are.
    expect(await Promise.all([batch.put(delivery('b')), batch.put(delivery('c'))])).toEqual(['accepted', 'accepted'])
    await expect(first).rejects.toBeInstanceOf(StoreError)
  })

  it.each([1, 4])(
    'are all answered in time if it never ends, also waiting ones (concurrency %i)',
    async concurrency => {
      let puts = 0
      const batch = createPutBatch(
        {
          concurrency,
          put: async () => {
            puts += 1
            return new Promise(() => undefined)
          },
        },
        { ...group, maxItems: 1, timeoutMs: 500 },
      )
      const all = await Promise.allSettled(
        ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(async name => batch.put(delivery(name))),
      )
      for (const one of all) {
        expect(one).toMatchObject({ status: 'rejected', reason: expect.any(StoreError) as unknown })
      }
      expect(puts).toBeLessThanOrEqual(concurrency)
    },
  )

  it('are accepted once when the network is back', async () => {
    const batch = createPutBatch({ ...store.inbox, concurrency: 4 }, group)
    expect(await batch.put(delivery('a'))).toBe('accepted')
    proxy.silence('to the client')
    await expect(batch.put(delivery('b'))).rejects.toBeInstanceOf(StoreError)
    proxy.resume({ forgetting: true })
    // Its transaction may have gone through, or not; its sender sends it again.
    await expect.poll(async () => batch.put(delivery('b')).catch(() => 'failed')).not.toBe('failed')
    expect(await store.inbox.state()).toMatchObject({ waiting: 2 })
  })
})
