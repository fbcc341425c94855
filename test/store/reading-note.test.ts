// What was being read when a process died is known to the next one: it is read alone, and its deaths are counted. A process that
// lives clears whatever it read of suspicion. On both stores.
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { openOwnStore } from '../../src/store/open-store.ts'
import { deliveryPositions } from '../../src/store/sqlite/deliveries/positions.ts'
import { readAlone, type InboxLease } from '../../src/store/ports/inbox.ts'
import { Secret } from '../../src/lib/secret.ts'
import { newDatabase } from './new-database.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { StoreLocation } from '../../src/store/store-location.ts'

async function place(engine: string): Promise<StoreLocation> {
  if (engine === 'postgres') return { engine, url: new Secret(await newDatabase()) }
  return { engine: 'sqlite', path: path.join(temporaryFolder(), 'pipespan.db') }
}

/** Processes on one store, one after the other: what one leaves behind when it dies is all that the next one has. */
async function lives(engine: string) {
  const location = await place(engine)
  let store: Store | undefined
  async function next(): Promise<Store> {
    await store?.close()
    store = await openOwnStore(location, { maxSize: 2 ** 40, positions: deliveryPositions() })
    return store
  }
  onTestFinished(async () => store?.close())
  return { next }
}

const delivery = (body: string | Buffer) => ({ event: '', source: 'redelivery' as const, body: Buffer.from(body) })
const bodies = ({ items }: InboxLease): string[] => items.map(({ body }) => Buffer.from(body).toString())
const deaths = ({ items }: InboxLease): (number | undefined)[] => items.map(one => one.deaths)
/** A lease that is over at once, as that of a process that is gone will be. */
const lease = async ({ inbox }: Store): Promise<InboxLease> => inbox.lease(10, 2 ** 30, 0)

async function finish({ inbox }: Store, held: InboxLease): Promise<void> {
  await inbox.erase(
    held.token,
    held.items.map(({ id }) => id),
  )
  await inbox.readingEnded(held, true)
}

describe.each(['sqlite', 'postgres'])('a delivery that was being read when a process crashed, on %s', engine => {
  it('is read alone by the next process; the others are read together', async () => {
    const { next } = await lives(engine)
    const first = await next()
    await first.inbox.put(['a', 'b'].map(delivery))
    expect(bodies(await lease(first))).toEqual(['a', 'b'])
    const second = await next()
    await second.inbox.put(['c', 'd'].map(delivery))
    for (const expected of [['a'], ['b'], ['c', 'd']]) {
      const held = await lease(second)
      expect(bodies(held)).toEqual(expected)
      expect(deaths(held)).toEqual(expected.map(() => undefined))
      await finish(second, held)
    }
  })

  it('is reported with the number of consecutive crashes while it was read alone', async () => {
    const { next } = await lives(engine)
    await (await next()).inbox.put(['a', 'b'].map(delivery))
    // Among others, and alone for the first time.
    await lease(await next())
    await lease(await next())
    for (const expected of [1, 2, 3]) {
      const held = await lease(await next())
      expect(bodies(held)).toEqual(['a'])
      expect(deaths(held)).toEqual([expected])
    }
    const last = await next()
    const held = await lease(last)
    expect(
      await last.inbox.quarantine(held.token, held.items[0]?.id ?? 0, {
        reason: 'r',
        body: Buffer.from('a'),
        version: '1',
      }),
    ).toBe(true)
    await last.inbox.readingEnded(held, true)
    expect(bodies(await lease(last))).toEqual(['b'])
  })

  it('is not suspected any more once a process has survived reading it', async () => {
    const { next } = await lives(engine)
    await (await next()).inbox.put(['a'].map(delivery))
    for (let death = 0; death < 2; death += 1) await lease(await next())
    const tired = await next()
    await tired.inbox.put(['b'].map(delivery))
    const held = await lease(tired)
    expect(deaths(held)).toEqual([2])
    // Say the store failed: nothing was erased.
    await tired.inbox.readingEnded(held, false)
    expect(bodies(await lease(tired))).toEqual(['a', 'b'])
  })

  it('does not exist if a process crashed between two reads', async () => {
    const { next } = await lives(engine)
    const first = await next()
    await first.inbox.put(['a', 'b'].map(delivery))
    await first.inbox.readingEnded(await lease(first), false)
    // On PostgreSQL this is noted with the next lease.
    await first.inbox.readingEnded(await lease(first), false)
    expect((await first.inbox.lease(0, 0, 0)).items).toEqual([])
    expect(bodies(await lease(await next()))).toEqual(['a', 'b'])
  })

  it('counts from the first crash if it is large, because large ones are always read alone', async () => {
    const { next } = await lives(engine)
    const large = Buffer.alloc(readAlone, 'x')
    await (await next()).inbox.put([delivery('a'), delivery(large), delivery('b')])
    const first = await next()
    const small = await lease(first)
    expect(bodies(small)).toEqual(['a'])
    await finish(first, small)
    expect((await lease(first)).items.map(({ body }) => body.length)).toEqual([readAlone])
    const second = await next()
    const held = await lease(second)
    expect(deaths(held)).toEqual([1])
    await finish(second, held)
    expect(bodies(await lease(second))).toEqual(['b'])
  })
})
