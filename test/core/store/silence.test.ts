// Tests a network to PostgreSQL that silently drops all data. Queries time out, nothing waits for a hanging query, and everything resumes as soon as
// the network is back.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { createGroups } from '../../../src/core/take-in/groups.ts'
import { takeKeys } from './taking-in-exercise.ts'
import { openDatabase, type Database } from '../../../src/core/store/postgres/database.ts'
import { openPostgres } from '../../support/stores.ts'
import { SilentProxy, type Direction } from './silent-proxy.ts'
import { newDatabase } from './new-database.ts'
import { StoreError } from '../../../src/lib/fault.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

/** The query timeouts, ms: the first for a silent network, the second for a working one. The second is long enough for a busy machine. */
const [hasty, timeoutMs] = [1_500, 5_000]

let proxy: SilentProxy
let db: Database
let store: Store
beforeEach(async () => {
  const url = await newDatabase()
  // The tables are created with the long default timeout.
  await (await openPostgres(url, { maxSize: 2 ** 30 })).close()
  proxy = closeAfterTest(await SilentProxy.before(url))
  store = closeAfterTest(await openPostgres(proxy.through(url), { maxSize: 2 ** 30, timeoutMs }))
  db = closeAfterTest(await openDatabase(proxy.through(url), {}))
})
const directions: readonly (readonly [name: string, directions: readonly Direction[]])[] = [
  ['in both directions', ['to the server', 'to the client']],
  ['to the client', ['to the client']],
]

describe.each(directions)('a network that drops everything %s', (_, silent) => {
  it.each([true, false])(
    'fails the statements sent during the silence, and runs later ones (old connections dropped: %s)',
    async forgetting => {
      // The parallel queries open several connections.
      await Promise.all([1, 2, 3].map(async () => db.query('SELECT pg_sleep(0.05)')))
      const impatient = db.withTimeout(hasty)
      const network = { isSilent: false }
      // On a busy machine, the transaction may time out before it silences the network. In that case it is started again.
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
    },
  )
})

describe('deliveries that are taken in while a transaction hangs', () => {
  const take = async (keys: readonly string[]): Promise<readonly boolean[]> => takeKeys(store, ...keys)

  it('takes in deliveries without waiting for a hanging transaction', async () => {
    let hang = true
    const groups = createGroups<string, boolean>({
      ...{ maxItems: 512, atOnce: 4, timeout: timeoutMs },
      commit: async keys => {
        if (!hang) return take(keys)
        hang = false
        return new Promise(() => undefined)
      },
    })
    const first = groups.add('a')
    const failed = expect(first).rejects.toBeInstanceOf(StoreError)
    await expect.poll(() => hang).toBe(false)
    // The hanging transaction is still open when the transaction of these deliveries ends.
    expect(await Promise.all([groups.add('b'), groups.add('c')])).toEqual([true, true])
    await failed
  })

  it.each([1, 4])(
    'answers all deliveries in time if a transaction never ends, even the deliveries that are queued (%i at once)',
    async atOnce => {
      let commits = 0
      const groups = createGroups<string, boolean>({
        ...{ maxItems: 1, atOnce, timeout: 500 },
        commit: async () => {
          commits += 1
          return new Promise(() => undefined)
        },
      })
      const all = await Promise.allSettled(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(async key => groups.add(key)))
      for (const one of all) {
        expect(one).toMatchObject({ status: 'rejected', reason: expect.any(StoreError) as unknown })
      }
      expect(commits).toBeLessThanOrEqual(atOnce)
    },
  )

  it('takes in each delivery once when the network is back', async () => {
    const groups = createGroups<string, boolean>({ maxItems: 512, atOnce: 4, timeout: timeoutMs, commit: take })
    expect(await groups.add('a')).toBe(true)
    proxy.silence('to the client')
    await expect(groups.add('b')).rejects.toBeInstanceOf(StoreError)
    proxy.resume({ forgetting: true })
    // The delivery's transaction may or may not have been committed. The sender retries the delivery.
    await expect.poll(async () => groups.add('b').catch(() => 'failed')).not.toBe('failed')
    expect(await take(['a', 'b'])).toEqual([false, false])
  })
})
