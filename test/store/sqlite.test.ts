import fs, { statSync, existsSync, readFileSync, readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { enrichmentQueueExercise } from './enrichment-queue-exercise.ts'
import { sqliteBench } from './benches.ts'
import { damageExercise } from './damage-exercise.ts'
import { eventsExercise } from './events-exercise.ts'
import { exercise, delivery } from './exercise.ts'
import { jobReadsExercise } from './job-reads-exercise.ts'
import { latestExercise } from './latest-exercise.ts'
import { pruningExercise } from './pruning-exercise.ts'
import { regressionExercise } from '../regressions/regression-exercise.ts'
import { sectionExercise } from '../regressions/section-exercise.ts'
import { restoredJobsExercise } from './restored-jobs-exercise.ts'
import { settlerExercise } from './settler-exercise.ts'
import { viewsExercise } from './views-exercise.ts'
import { totalsExercise } from './totals-exercise.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { openSqliteInboxWriter } from '../../src/store/sqlite/deliveries/writer.ts'
import { deliveryFolder } from '../../src/store/sqlite/deliveries/files.ts'
import { deliveryPositions } from '../../src/store/sqlite/deliveries/positions.ts'
import { t0 } from '../flow/world.ts'

exercise('SQLite', sqliteBench)
pruningExercise('SQLite', sqliteBench)
eventsExercise('SQLite', sqliteBench)
restoredJobsExercise('SQLite', sqliteBench)
totalsExercise('SQLite', sqliteBench)
enrichmentQueueExercise('SQLite', sqliteBench)
settlerExercise('SQLite', sqliteBench)
damageExercise('SQLite', sqliteBench)
viewsExercise('SQLite', sqliteBench)
latestExercise('SQLite', sqliteBench)
regressionExercise('SQLite', sqliteBench)
sectionExercise('SQLite', sqliteBench)
jobReadsExercise('SQLite', sqliteBench)

describe('an SQLite file', () => {
  let folder: string
  let file: string
  const options = { now: () => t0, maxSize: 2 ** 30 }

  beforeEach(() => {
    folder = temporaryFolder()
    file = path.join(folder, 'data', 'pipespan.db')
  })

  it('is private to its user: folder 0700, file 0600', async () => {
    const store = openSqlite(file, options)
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await store.close()
  })

  it.runIf(process.platform === 'linux')(
    'and the delivery file survive a power failure, because every new directory entry is synced',
    async () => {
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
      const positions = deliveryPositions()
      const store = openSqlite(file, options, positions)
      const writer = openSqliteInboxWriter(file, options, positions)
      await writer.put([delivery('a')])
      // The store's folder in its parent, the deliveries' folder in the store's, and their file in their folder.
      expect([folder, path.dirname(file), deliveryFolder(file)].filter(one => !synced.has(one))).toEqual([])
      await writer.close()
      await store.close()
    },
  )

  it('of a much newer version is refused with a remedy', async () => {
    await openSqlite(file, options).close()
    const raw = new DatabaseSync(file)
    raw.exec('PRAGMA user_version = 99')
    raw.close()
    expect(() => openSqlite(file, options)).toThrow(/schema 99.*Run the Pipespan version that wrote it, or a newer one/)
  })

  it('is refused with a remedy if it is no database', () => {
    expect(() => openSqlite(path.join('/proc', 'version'), options)).toThrow(/cannot be opened.*PIPESPAN_STORE_URL/)
  })

  it('has no trace of an erased delivery', async () => {
    const store = openSqlite(file, options)
    await store.inbox.put([delivery('a', '{"variables":"planted-value-4711"}')])
    const { token, items } = await store.inbox.lease(1, 1e6, 1_000)
    await store.inbox.erase(token, [items[0]!.id])
    await store.close()
    expect(existsSync(`${file}-wal`)).toBe(false)
    expect(readFileSync(file).includes('planted-value-4711')).toBe(false)
  })

  it('reads nothing for figures over time if no snapshot is new, even while a command writes', async () => {
    const store = openSqlite(file, options)
    const command = new DatabaseSync(file)
    command.exec('BEGIN IMMEDIATE')
    expect(await store.views.trends.takeIn(100)).toBe(0)
    command.close()
    await store.close()
  })

  it.runIf(process.platform === 'linux')(
    'is synced at the start, because a killed process may not have done so',
    async () => {
      await openSqlite(file, options).close()
      const synced: string[] = []
      const { fsyncSync } = fs
      fs.fsyncSync = descriptor => {
        synced.push(readlinkSync(`/proc/self/fd/${descriptor}`))
        fsyncSync(descriptor)
      }
      syncBuiltinESMExports()
      onTestFinished(() => {
        fs.fsyncSync = fsyncSync
        syncBuiltinESMExports()
      })
      await openSqlite(file, options).close()
      expect(synced).toContain(`${file}-wal`)
    },
  )

  it('releases the leases of a crashed process at once', async () => {
    const dead = openSqlite(file, options)
    await dead.inbox.put([delivery('a')])
    await dead.inbox.lease(1, 1e6, 60_000)
    await dead.close()
    const next = openSqlite(file, options)
    await next.reclaim()
    expect((await next.inbox.lease(1, 1e6, 60_000)).items).toHaveLength(1)
    await next.close()
  })

  it('keeps little free space for reuse, and returns much of it to the file system in steps', async () => {
    const store = openSqlite(file, options)
    const large = 'x'.repeat(1_000_000)
    await store.inbox.put(Array.from({ length: 8 }, (_, index) => delivery(String(index), large)))
    const { token, items } = await store.inbox.lease(8, 1e9, 1_000)
    const before = statSync(file).size + statSync(`${file}-wal`).size
    const [first, ...others] = items.map(({ id }) => id)
    await store.inbox.erase(token, [first!])
    expect(await store.pruning.giveBack()).toBe(0)
    await store.inbox.erase(token, others)
    const given: number[] = []
    for (let bytes = -1; bytes !== 0; given.push(bytes)) bytes = await store.pruning.giveBack()
    expect(given.length).toBeGreaterThan(3)
    expect(before).toBeGreaterThan(8e6)
    expect(statSync(file).size).toBeLessThan(3e6)
    await store.close()
  })
})
