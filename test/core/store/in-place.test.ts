// Tests what happens if the files of an open SQLite store are removed, moved, replaced or emptied. The store reports that it is not in place, takes
// in no deliveries and performs no checkpoints. It resumes once the same files are back.
import { copyFileSync, mkdirSync, renameSync, rmSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { StoreGone } from '../../../src/lib/fault.ts'
import { openSqlite } from '../../support/stores.ts'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { keep, takeKeys, undecodable } from './taking-in-exercise.ts'

const options = { now: () => Date.now(), maxSize: 1e9 }

function opened() {
  const folder = path.join(temporaryFolder(), 'store')
  const file = path.join(folder, 'p.db')
  const store = closeAfterTest(openSqlite(file, options))
  const take = async (...keys: string[]) => takeKeys(store, ...keys)
  return { folder, file, store, take }
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
)('notices that a file of the store is not in place: %s', async (_, ending, harm) => {
  const { file, store, take } = opened()
  expect(store.isInPlace?.()).toBe(true)
  await store.proveWritable()
  expect(await take('a')).toEqual([true])
  harm(`${file}${ending}`)
  expect(store.isInPlace?.()).toBe(false)
  await expect(take('b')).rejects.toThrow(StoreGone)
  await expect(take('b')).rejects.toThrow(`${file}${ending} was removed, replaced or emptied`)
  await expect(store.proveWritable()).rejects.toThrow('Put the same file back, or restart the daemon')
})

it("notices that the store's file was emptied, and that its whole folder is missing", async () => {
  const emptied = opened()
  truncateSync(emptied.file)
  expect(emptied.store.isInPlace?.()).toBe(false)
  await expect(emptied.take('a')).rejects.toThrow(StoreGone)
  const gone = opened()
  renameSync(gone.folder, `${gone.folder}-elsewhere`)
  expect(gone.store.isInPlace?.()).toBe(false)
  await expect(gone.take('a')).rejects.toThrow(StoreGone)
})

it('accepts deliveries again once the same file is back, without losing any accepted delivery', async () => {
  const { file, store, take } = opened()
  expect(await take('a')).toEqual([true])
  renameSync(file, `${file}-elsewhere`)
  await expect(take('b')).rejects.toThrow(StoreGone)
  renameSync(`${file}-elsewhere`, file)
  await store.proveWritable()
  expect(await take('a', 'b')).toEqual([false, true])
})

it('reports that the store is in place, however much is written, erased and returned to the file system', async () => {
  const { store, take } = opened()
  for (let round = 0; round < 20; round += 1) {
    await take(`${round}`)
    await keep(store, undecodable({ receivedAt: round, body: Buffer.alloc(100_000) }))
    expect(await store.pruning.quarantinedDeliveries(round + 1, 10)).toBe(1)
    await store.pruning.giveBack()
    await store.proveWritable()
  }
  expect(store.isInPlace?.()).toBe(true)
})
