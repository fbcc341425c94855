import fs, { statSync, existsSync, readFileSync, readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { allExercises } from './all-exercises.ts'
import { sqliteBench } from './benches.ts'
import { keep, undecodable } from './taking-in-exercise.ts'
import { openSqlite } from '../../support/stores.ts'
import { t0 } from '../../flow/world.ts'

allExercises('SQLite', sqliteBench)

describe('an SQLite file', () => {
  let folder: string
  let file: string
  const options = { now: () => t0, maxSize: 2 ** 30 }

  beforeEach(() => {
    folder = temporaryFolder()
    file = path.join(folder, 'data', 'pipespan.db')
  })

  it('makes a store accessible only to its user: folder 0700, file 0600', async () => {
    const store = openSqlite(file, options)
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await store.close()
  })

  it('leaves no trace of a pruned quarantined delivery in the file', async () => {
    const store = openSqlite(file, options)
    await keep(store, undecodable({ body: Buffer.from('{"variables":"planted-value-4711"}') }))
    expect(await store.pruning.quarantinedDeliveries(Number.MAX_SAFE_INTEGER, 10)).toBe(1)
    await store.close()
    expect(existsSync(`${file}-wal`)).toBe(false)
    expect(readFileSync(file).includes('planted-value-4711')).toBe(false)
  })

  it.runIf(process.platform === 'linux')('syncs the files and folders that a power failure could lose', async () => {
    const synced = syncedFiles()
    await openSqlite(file, options).close()
    // Pipespan syncs the folder's entry in its parent folder. SQLite itself syncs the entries in the store's folder.
    expect(synced).toContain(folder)
    await openSqlite(file, options).close()
    // A process that was killed may not have synced the WAL.
    expect(synced).toContain(`${file}-wal`)
  })

  it('keeps a little free space in the file for reuse, and returns large amounts to the file system in steps', async () => {
    const store = openSqlite(file, options)
    const large = Array.from({ length: 8 }, () => undecodable({ body: Buffer.alloc(1_000_000, 'x') }))
    await keep(store, ...large)
    const before = statSync(file).size + statSync(`${file}-wal`).size
    expect(await store.pruning.quarantinedDeliveries(Number.MAX_SAFE_INTEGER, 1)).toBe(1)
    expect(await store.pruning.giveBack()).toBe(0)
    expect(await store.pruning.quarantinedDeliveries(Number.MAX_SAFE_INTEGER, 10)).toBe(7)
    const given: number[] = []
    for (let bytes = -1; bytes !== 0; given.push(bytes)) bytes = await store.pruning.giveBack()
    expect(given.length).toBeGreaterThan(3)
    expect(before).toBeGreaterThan(8e6)
    expect(statSync(file).size).toBeLessThan(3e6)
    await store.close()
  })
})

/** Returns the set of files that are synced from now on until the end of the test. */
function syncedFiles(): ReadonlySet<string> {
  const synced = new Set<string>()
  const { fsyncSync } = fs
  fs.fsyncSync = descriptor => {
    synced.add(readlinkSync(`/proc/self/fd/${descriptor}`))
    fsyncSync(descriptor)
  }
  syncBuiltinESMExports()
  onTestFinished(() => {
    fs.fsyncSync = fsyncSync
    syncBuiltinESMExports()
  })
  return synced
}
