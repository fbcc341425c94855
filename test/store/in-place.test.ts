// The files of an open SQLite store that are removed, moved, replaced or emptied: the store says that it is not in its place, takes no delivery and
// makes no checkpoint, and goes on when the same files are back.
import { copyFileSync, mkdirSync, renameSync, rmSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { StoreGone } from '../../src/lib/fault.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { openSqliteInboxWriter } from '../../src/store/sqlite/deliveries/writer.ts'
import { deliveryPositions } from '../../src/store/sqlite/deliveries/positions.ts'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import type { Delivery } from '../../src/store/ports/inbox.ts'

const options = { now: () => Date.now(), maxSize: 1e9 }
const delivery: Delivery = { event: 'Pipeline Hook', source: 'webhook', body: Buffer.from('{}') }

function opened() {
  const folder = path.join(temporaryFolder(), 'store')
  const file = path.join(folder, 'p.db')
  const positions = deliveryPositions()
  const store = closeAfterTest(openSqlite(file, options, positions))
  const writer = closeAfterTest(openSqliteInboxWriter(file, options, positions))
  const put = async () => writer.put([delivery])
  return { folder, file, store, writer, put }
}

const harms: readonly [what: string, harm: (file: string) => void][] = [
  ['removed', file => rmSync(file)],
  ['moved', file => renameSync(file, `${file}-elsewhere`)],
  [
    'replaced by a copy of itself',
    file => {
      copyFileSync(file, `${file}-copy`)
      renameSync(`${file}-copy`, file)
    },
  ],
  [
    'replaced by a folder',
    file => {
      rmSync(file)
      mkdirSync(file)
    },
  ],
]

it.each(
  ['', '-wal', '-shm'].flatMap(ending =>
    harms.map(([what, harm]) => [`p.db${ending} was ${what}`, ending, harm] as const),
  ),
)('is noticed by both threads: %s', async (_, ending, harm) => {
  const { file, store, writer, put } = opened()
  expect([store.isInPlace?.(), writer.isInPlace?.()]).toEqual([true, true])
  await store.proveWritable()
  expect(await put()).toEqual(['accepted'])
  harm(`${file}${ending}`)
  expect([store.isInPlace?.(), writer.isInPlace?.()]).toEqual([false, false])
  await expect(put()).rejects.toThrow(StoreGone)
  await expect(put()).rejects.toThrow(`${file}${ending} was removed, replaced or emptied`)
  await expect(store.proveWritable()).rejects.toThrow('Put the same file back, or restart the daemon')
  await expect(writer.proveWritable()).rejects.toThrow(StoreGone)
})

it('is noticed if the file was emptied, and if its whole folder is gone', async () => {
  const emptied = opened()
  truncateSync(emptied.file)
  expect(emptied.store.isInPlace?.()).toBe(false)
  await expect(emptied.put()).rejects.toThrow(StoreGone)
  const gone = opened()
  renameSync(gone.folder, `${gone.folder}-elsewhere`)
  expect(gone.store.isInPlace?.()).toBe(false)
  await expect(gone.put()).rejects.toThrow(StoreGone)
})

it('is over when the same file is back, and nothing that was accepted is lost', async () => {
  const { file, store, put } = opened()
  expect(await put()).toEqual(['accepted'])
  renameSync(file, `${file}-elsewhere`)
  await expect(put()).rejects.toThrow(StoreGone)
  renameSync(`${file}-elsewhere`, file)
  await store.proveWritable()
  expect(await put()).toEqual(['accepted'])
  expect((await store.inbox.state()).waiting).toBe(2)
})

it('is in its place however much is written, erased and given back', async () => {
  const { store, writer, put } = opened()
  for (let round = 0; round < 20; round += 1) {
    await put()
    const { token, items } = await store.inbox.lease(100, 1e6, 1_000)
    await store.inbox.erase(
      token,
      items.map(({ id }) => id),
    )
    await store.pruning.giveBack()
    await writer.proveWritable()
  }
  expect([store.isInPlace?.(), writer.isInPlace?.()]).toEqual([true, true])
})
