// The inbox on SQLite by way of its writer: what the thread of the ingress writes to its file is leased, processed, kept and copied
// as what is in the table.
import { cpSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { mergeObservations } from '../../src/processing/merge-observations.ts'
import { backupSqlite } from '../../src/store/sqlite/backup.ts'
import { delivery, exercise } from './exercise.ts'
import { benchOf, type Bench } from './benches.ts'
import { at, event, rules, t0 } from '../flow/world.ts'
import { storedBytes } from '../support/stored-bytes.ts'
import { deliveryFolder } from '../../src/store/sqlite/deliveries/files.ts'
import { deliveryPositions } from '../../src/store/sqlite/deliveries/positions.ts'
import { ownOrShared } from './own-or-shared.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { openSqliteInboxWriter } from '../../src/store/sqlite/deliveries/writer.ts'
import type { InboxWriter, InboxItem } from '../../src/store/ports/inbox.ts'
import type { Store } from '../../src/store/ports/store.ts'

/** A store whose deliveries come through its writer, opened when the first one comes. */
function openByWriter(file: string, now: () => number, maxSize = 2 ** 30): Store {
  const positions = deliveryPositions()
  const options = { now, maxSize }
  const store = openSqlite(file, options, positions)
  let writer: InboxWriter | undefined
  return {
    ...store,
    inbox: {
      ...store.inbox,
      put: async deliveries => (writer ??= openSqliteInboxWriter(file, options, positions)).put(deliveries),
    },
    proveWritable: async () => {
      await store.proveWritable()
      await writer?.proveWritable()
    },
    close: async () => {
      await writer?.close()
      await store.close()
    },
  }
}

exercise('SQLite, by way of its writer', async (): Promise<Bench> => {
  const file = path.join(temporaryFolder(), 'pipespan.db')
  return benchOf(
    async options => ownOrShared(file, options, () => openByWriter(file, options.now, options.maxSize)),
    async () => undefined,
  )
})

it('an ingress is ready while it can accept a delivery', async () => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'pipespan.db')
  const positions = deliveryPositions()
  const store = openSqlite(file, { now: () => t0, maxSize: 1 }, positions)
  const writer = openSqliteInboxWriter(file, { now: () => t0, maxSize: 1 }, positions)
  expect(await writer.put([delivery('a')])).toEqual(['full'])
  await expect(writer.proveWritable()).rejects.toThrow('PIPESPAN_STORE_MAX_SIZE')
  await writer.close()
  const roomy = openSqliteInboxWriter(file, { now: () => t0, maxSize: 2 ** 30 }, positions)
  await expect(roomy.proveWritable()).resolves.toBeUndefined()
  await roomy.close()
  await store.close()
})

describe('a store with accepted deliveries', () => {
  let folder: string
  let file: string
  let store: Store
  let now = t0

  beforeEach(() => {
    now = t0
    folder = temporaryFolder()
    file = path.join(folder, 'pipespan.db')
    store = openByWriter(file, () => now)
  })
  afterEach(async () => store.close())

  async function beginAgain(): Promise<void> {
    await store.close()
    store = openByWriter(file, () => now)
  }

  const lease = async (): Promise<{ token: string; items: readonly InboxItem[] }> => store.inbox.lease(100, 1e9, 1_000)
  const keysOf = (items: readonly InboxItem[]): (string | undefined)[] => items.map(({ key }) => key)

  it('recognises a repeated key while the delivery waits, after it is processed, and among many thousand others', async () => {
    const names = Array.from({ length: 9_000 }, (_, number) => `key ${number}`)
    for (let from = 0; from < names.length; from += 500) {
      await store.inbox.put(names.slice(from, from + 500).map(name => delivery(name)))
      const [first] = await store.inbox.put([delivery(names[from])])
      expect(first).toBe('duplicate')
      const { token, items } = await store.inbox.lease(500, 1e9, 1_000)
      await store.inbox.erase(
        token,
        items.map(({ id }) => id),
      )
    }
    const duplicates = async (): Promise<number> => {
      let count = 0
      for (const name of names) count += (await store.inbox.put([delivery(name)]))[0] === 'duplicate' ? 1 : 0
      return count
    }
    expect(await duplicates()).toBe(9_000)
    await beginAgain()
    expect(await duplicates()).toBe(9_000)
    now += 8 * 24 * 3_600_000
    expect(await store.inbox.put([delivery(names[0]), delivery(names.at(-1))])).toEqual(['accepted', 'accepted'])
  })

  it('recognises the keys of deliveries that a killed process had accepted but not processed', async () => {
    await store.inbox.put(['a', 'b', 'c', 'd'].map(name => delivery(name)))
    const held = await lease()
    const [, b, c] = held.items
    await store.inbox.erase(held.token, [b!.id])
    const why = { reason: 'no id', body: Buffer.from('{}'), version: '1' }
    await store.inbox.quarantine(held.token, c!.id, why)
    await store.inbox.readingEnded(held, false)
    // What a process leaves that is killed at this moment.
    const killed = `${folder}-killed`
    cpSync(folder, killed, { recursive: true })
    onTestFinished(() => rmSync(killed, { recursive: true }))
    await store.close()
    store = openByWriter(path.join(killed, 'pipespan.db'), () => now)
    // That of the quarantined one is forgotten, so that it can be sent again.
    const again = ['a', 'b', 'c', 'd'].map(name => delivery(name))
    expect(await store.inbox.put(again)).toEqual(['duplicate', 'duplicate', 'accepted', 'duplicate'])
    const { token, items } = await lease()
    expect(keysOf(items)).toEqual(['a', 'd', 'c'])
    await store.inbox.erase(
      token,
      items.map(({ id }) => id),
    )
    expect(await store.inbox.put(again)).toEqual(again.map(() => 'duplicate'))
    now += 8 * 24 * 3_600_000
    expect(await store.inbox.put([again[0]!])).toEqual(['accepted'])
  })

  it('releases the memory of bodies when the last reader is done', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    // Of three, the log is read at once.
    const bodyOf = (name: string): Buffer => Buffer.from(name.repeat(400_000))
    for (const name of names) await store.inbox.put([{ ...delivery(name), body: bodyOf(name) }])
    const two = async () => store.inbox.lease(2, 1e9, 60_000)
    const expectWhole = (items: readonly InboxItem[]): void => {
      for (const { key, body } of items) expect(Buffer.compare(body, bodyOf(String(key)))).toBe(0)
    }
    const [first, second] = [await two(), await two()]
    await store.inbox.readingEnded(second, false)
    expectWhole([...first.items, ...second.items])
    await store.inbox.readingEnded(first, false)
    expect(first.items[0]?.body).toHaveLength(0)
    const third = await two()
    expectWhole(third.items)
    expect(keysOf(third.items)).toEqual(['e', 'f'])
    now += 120_000
    await store.inbox.readingEnded(third, false)
    expectWhole((await store.inbox.lease(6, 1e9, 60_000)).items)
  })

  it('hands out exactly the unprocessed deliveries after a start', async () => {
    await store.inbox.put(['a', 'b', 'c', 'd', 'e'].map(name => delivery(name)))
    const held = await lease()
    const { token, items } = held
    const [a, , c] = items
    await store.inbox.erase(token, [c!.id])
    const work = mergeObservations([event('success', { finishedAt: at(60) }, [])], 'webhook', rules)
    expect(await store.runs.transact(work, { token, ids: [a!.id] })).toBe(true)
    await store.inbox.readingEnded(held, false)
    await beginAgain()
    expect(await store.inbox.state()).toMatchObject({ waiting: 3, waitingBytes: 36, oldest: t0 })
    const again = await lease()
    expect(keysOf(again.items)).toEqual(['b', 'd', 'e'])
    await store.inbox.erase(
      again.token,
      again.items.map(({ id }) => id),
    )
    expect(await store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    expect(keysOf((await lease()).items)).toEqual([])
  })

  it('keeps waiting deliveries unchanged when their transaction fails', async () => {
    await store.inbox.put([delivery('a')])
    const { token, items } = await lease()
    const broken = {
      ...mergeObservations([event('success', { finishedAt: at(60) }, [])], 'webhook', rules)[0]!,
      decide: () => {
        throw new Error('no')
      },
    }
    await expect(store.runs.transact([broken], { token, ids: [items[0]!.id] })).rejects.toThrow('no')
    expect(await store.inbox.state()).toMatchObject({ waiting: 1 })
    now += 1_001
    expect(keysOf((await lease()).items)).toEqual(['a'])
  })

  it('never reuses a delivery number, even if its file was lost', async () => {
    await store.inbox.put([delivery('a'), delivery('b')])
    const { token, items } = await lease()
    await store.inbox.erase(token, [items[1]!.id])
    await store.close()
    rmSync(deliveryFolder(file), { recursive: true })
    store = openByWriter(file, () => now)
    await store.inbox.put([delivery('c')])
    const found = await lease()
    expect(found.items).toMatchObject([{ key: 'c' }])
    const [{ id }] = found.items as [InboxItem]
    expect(id).toBeGreaterThan(2)
    await store.inbox.erase(found.token, [id])
    // One had been accepted, and is nowhere any more: nobody keeps waiting for it, and it is counted.
    expect(await store.inbox.state()).toMatchObject({ waiting: 0, waitingBytes: 0 })
    expect((await store.counters.all()).get('pruned.unreadable_deliveries')).toBeGreaterThan(0)
  })

  it('has no trace of a processed delivery once the store is closed', async () => {
    await store.inbox.put([delivery('a', '{"variables":"planted-value-4711"}')])
    const { token, items } = await lease()
    await store.inbox.erase(token, [items[0]!.id])
    await store.close()
    expect(storedBytes(folder)).not.toContain('planted-value-4711')
    store = openByWriter(file, () => now)
  })

  it('includes accepted deliveries in its size', async () => {
    const before = await store.pruning.fullness()
    await store.inbox.put([delivery('a', 'x'.repeat(2 ** 20))])
    expect((await store.pruning.fullness()) - before).toBeGreaterThan(2 ** 20 / 2 ** 30)
  })

  it('is backed up with its waiting deliveries into one file while it runs', async () => {
    await store.inbox.put(['a', 'b', 'c'].map(name => delivery(name)))
    const { token, items } = await lease()
    await store.inbox.erase(token, [items[1]!.id])
    const target = path.join(folder, 'copy.db')
    await backupSqlite(file, target)
    expect(readdirSync(folder).filter(name => name.startsWith('copy'))).toEqual(['copy.db'])
    await store.inbox.put([delivery('d')])
    const copy = openSqlite(target, { now: () => now, maxSize: 2 ** 30 })
    expect(keysOf((await copy.inbox.lease(10, 1e9, 1_000)).items)).toEqual(['a', 'c'])
    await copy.close()
    expect(await store.inbox.state()).toMatchObject({ waiting: 3 })
  })

  it('needs no delivery file after its deliveries were moved into tables', async () => {
    await store.inbox.put(['a', 'b', 'c'].map(name => delivery(name)))
    await store.close()
    const alone = openSqlite(file, { now: () => now, maxSize: 2 ** 30 })
    await alone.intoTables()
    await alone.close()
    rmSync(deliveryFolder(file), { recursive: true })
    store = openByWriter(file, () => now)
    expect(await store.inbox.state()).toMatchObject({ waiting: 3 })
    expect(keysOf((await lease()).items)).toEqual(['a', 'b', 'c'])
  })
})
