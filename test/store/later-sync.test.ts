// Commits that are brought to the disk later.
import { once } from 'node:events'
import fs, { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { openOwnDatabase } from '../../src/store/sqlite/database.ts'
import { createLaterSync } from '../../src/store/sqlite/later-sync.ts'
import { EndOfProcess } from '../../src/lib/uncaught.ts'
import { temporaryFolder } from '../e2e/daemon.ts'

/** Of the syncs that are under way, the oldest first. */
let ends: fs.NoParamCallback[]

beforeEach(() => {
  ends = []
  const { fdatasync } = fs
  const held = (_: number, then: fs.NoParamCallback): void => void ends.push(then)
  fs.fdatasync = Object.assign(held, { __promisify__: fdatasync.__promisify__ })
  syncBuiltinESMExports()
  onTestFinished(() => {
    fs.fdatasync = fdatasync
    syncBuiltinESMExports()
  })
})

async function endSync(error: Error | null): Promise<void> {
  await expect.poll(() => ends.length, { interval: 2 }).toBe(1)
  ends.shift()?.(error)
}

function opened(): ReturnType<typeof createLaterSync> {
  const file = path.join(temporaryFolder(), 'wal')
  writeFileSync(file, 'committed')
  const later = createLaterSync(file)
  onTestFinished(() => later.close())
  return later
}

it('is settled for everybody who waits only when what was committed before is on the disk', async () => {
  const later = opened()
  const said: string[] = []
  later.committed([() => said.push('first')])
  const first = later.settled()
  await expect.poll(() => ends.length, { interval: 2 }).toBe(1)
  later.committed([() => said.push('second')])
  const others = [later.settled(), later.settled()].map(async one => one.then(() => said.push('settled')))
  await endSync(null)
  await first
  await expect.poll(() => ends.length, { interval: 2 }).toBe(1)
  expect(said).toEqual(['first'])
  await endSync(null)
  await Promise.all(others)
  expect(said).toEqual(['first', 'second', 'settled', 'settled'])
})

it('ends the process when a sync fails, whoever began it', async () => {
  const later = opened()
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  onTestFinished(() => listeners.forEach(one => process.on('uncaughtException', one)))
  const ended = once(process, 'uncaughtException') as Promise<unknown[]>
  later.committed([])
  const settled = expect(later.settled()).rejects.toThrow('EIO')
  await endSync(new Error('EIO: i/o error, fdatasync'))
  await settled
  const [thrown] = await ended
  expect(thrown).toBeInstanceOf(EndOfProcess)
})

it('has nothing to do for figures over time where no snapshot is new, so that an idle daemon leaves the disk alone', async () => {
  const store = openSqlite(path.join(temporaryFolder(), 'pipespan.db'), { now: () => 1, maxSize: 2 ** 30 })
  expect(await store.views.trends.takeIn(100)).toBe(0)
  // No sync ends here: closing would wait for one for ever.
  await store.close()
  expect(ends).toEqual([])
})

it('closes nothing else when the database is closed again', () => {
  const file = path.join(temporaryFolder(), 'pipespan.db')
  const db = openOwnDatabase(file, { now: () => 1 })
  db.close()
  // Some of them have the numbers of those that were closed.
  const others = Array.from({ length: 16 }, () => openSync(file, 'r'))
  db.close()
  expect(others.map(one => fstatSync(one).isFile())).not.toContain(false)
  for (const one of others) closeSync(one)
})
