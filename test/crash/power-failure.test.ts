// A power failure takes away what was committed and not yet synced. Here "the disk" is a copy of the store's files, made when they are synced; the
// deliveries are on it when they are accepted.
import fs, {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { mergeWork } from '../../src/processing/merge-observations.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { openWalWriter } from '../../src/store/sqlite/wal/writer.ts'
import { walFolder } from '../../src/store/sqlite/wal/segments.ts'
import { walPositions } from '../../src/store/sqlite/wal/positions.ts'
import { at, event, instance, rules, t0 } from '../flow/world.ts'
import { delivery } from '../store/exercise.ts'
import type { RunWork } from '../../src/store/ports/runs.ts'
import type { Store } from '../../src/store/ports/store.ts'

const options = { now: () => t0, maxSize: 2 ** 30 }

/** Ids of pipelines that the store processes now, with all that a transaction of the daemon writes. */
async function process(store: Store, most: number): Promise<number[]> {
  const { token, items } = await store.inbox.lease(most, 1e6, 1_000)
  const ids = items.map(({ body }) => Number(Buffer.from(body).toString()))
  const work = ids.flatMap(id => mergeWork([event('failed', { finishedAt: at(60) }, [], {}, id)], 'webhook', rules))
  expect(await store.runs.transact(work, { token, ids: items.map(({ id }) => id) })).toBe(true)
  return ids
}

function pathsOf(): { readonly live: string; readonly disk: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-power-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return { live: path.join(folder, 'live', 'pipespan.db'), disk: path.join(folder, 'disk', 'pipespan.db') }
}

/** The store's file and SQLite's WAL. */
function copyFiles(from: string, to: string): void {
  for (const end of ['', '-wal']) cpSync(`${from}${end}`, `${to}${end}`)
}

/** The log of deliveries, of which files may be removed meanwhile. */
function copyDeliveries(from: string, to: string): void {
  mkdirSync(walFolder(to))
  for (const name of readdirSync(walFolder(from))) {
    try {
      copyFileSync(path.join(walFolder(from), name), path.join(walFolder(to), name))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    }
  }
}

async function known(store: Store, id: number): Promise<boolean> {
  return (await store.runs.get({ instance, pipelineId: id })) !== undefined
}

describe.runIf(globalThis.process.platform === 'linux')('a power failure', () => {
  /** Called when SQLite's WAL begins to be synced. */
  let syncs: () => void
  beforeEach(() => {
    const { fdatasync } = fs
    const noticed = (descriptor: number, then: fs.NoParamCallback): void => {
      if (readlinkSync(`/proc/self/fd/${descriptor}`).endsWith('.db-wal')) syncs()
      fdatasync(descriptor, then)
    }
    fs.fdatasync = Object.assign(noticed, { __promisify__: fdatasync.__promisify__ })
    syncBuiltinESMExports()
    onTestFinished(() => {
      fs.fdatasync = fdatasync
      syncBuiltinESMExports()
    })
  })

  /** What is written to one file is written to the other, too, at the same place. */
  function writesAgain(file: string, copy: string): void {
    const { writeSync } = fs
    const descriptor = fs.openSync(copy, 'r+')
    const both = (to: number, bytes: Buffer, offset: number, length: number, at: number): number => {
      if (readlinkSync(`/proc/self/fd/${to}`) === file) writeSync(descriptor, bytes, offset, length, at)
      return writeSync(to, bytes, offset, length, at)
    }
    fs.writeSync = both as typeof writeSync
    syncBuiltinESMExports()
    onTestFinished(() => {
      fs.writeSync = writeSync
      syncBuiltinESMExports()
      fs.closeSync(descriptor)
    })
  }

  const step = fc.oneof(
    fc.record({ do: fc.constant('accept' as const), count: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ do: fc.constant('process' as const), count: fc.integer({ min: 1, max: 6 }) }),
    fc.constant({ do: 'sync' as const, count: 0 }),
    fc.constant({ do: 'tidy' as const, count: 0 }),
  )

  it('takes away nothing that was accepted: what it took from the store is processed again, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 16 }), async steps => {
        const { live, disk } = pathsOf()
        let accepted = 0
        const processed = new Set<number>()
        let onDisk = new Set<number>()
        syncs = () => {
          copyFiles(live, disk)
          onDisk = new Set(processed)
        }
        const positions = walPositions()
        const store = openSqlite(live, options, positions)
        const writer = openWalWriter(walFolder(live), positions, { tidyEvery: 2 })
        const tidy = async (): Promise<void> => {
          const { looks } = positions
          await expect.poll(() => positions.looks, { interval: 2 }).toBeGreaterThan(looks + 2)
        }
        // What was written when the store was opened waited for the disk.
        mkdirSync(path.dirname(disk))
        syncs()
        for (const one of steps) {
          if (one.do === 'accept') {
            const ids = Array.from({ length: one.count }, () => ++accepted)
            await writer.append(
              ids.map(id => delivery(`key-${id}`, String(id))),
              t0,
            )
          }
          if (one.do === 'process') for (const id of await process(store, one.count)) processed.add(id)
          if (one.do === 'sync') await expect.poll(() => onDisk.size, { interval: 2 }).toBe(processed.size)
          if (one.do === 'tidy') await tidy()
        }
        // The power fails.
        copyDeliveries(live, disk)
        const before = onDisk
        syncs = () => undefined
        await writer.close()
        await store.close()

        const after = openSqlite(disk, options)
        const again = new Set<number>()
        for (let ids = await process(after, 100); ids.length > 0; ids = await process(after, 100)) {
          for (const id of ids) again.add(id)
        }
        const all = Array.from({ length: accepted }, (_, index) => index + 1)
        expect([...again]).toEqual(all.filter(id => !before.has(id)))
        for (const id of all) expect(await known(after, id)).toBe(true)
        await after.close()
      }),
      { numRuns: 30 },
    )
  })

  it('takes away no total that was read, as those that were sent only go up', async () => {
    const { live, disk } = pathsOf()
    syncs = () => copyFiles(live, disk)
    const store = openSqlite(live, options)
    mkdirSync(path.dirname(disk))
    syncs()
    const [work] = mergeWork([event('failed', { finishedAt: at(60) }, [])], 'webhook', rules)
    const attributes = JSON.stringify({ status: 'failed' })
    const totals = {
      ...{ key: { instance, projectId: 3 }, project: { id: 3 }, profile: 'generic', maxSeries: 100 },
      increments: [{ metric: 'runs', attributes, amount: { kind: 'sum' as const, by: 1 } }],
    }
    const decide: RunWork['decide'] = (...about) => {
      const change = work?.decide(...about)
      return change && { ...change, totals: [totals] }
    }
    expect(await store.runs.transact(work === undefined ? [] : [{ ...work, decide }])).toBe(true)
    const { projects } = await store.totals.read(100)
    expect(projects).toHaveLength(1)
    syncs = () => undefined
    await store.close()

    const after = openSqlite(disk, options)
    expect((await after.totals.read(100)).projects).toEqual(projects)
    await after.close()
  })

  it('takes away nothing that the system showed as written after a sync had failed', async () => {
    const { live, disk } = pathsOf()
    syncs = () => undefined
    const positions = walPositions()
    const first = openSqlite(live, options, positions)
    const writer = openWalWriter(walFolder(live), positions)
    await writer.append([delivery('key-1', '1')], t0)
    await process(first, 1)
    // Killed. All of it can still be read, but nothing of SQLite's WAL is on the disk, unless it is written again.
    const shown = path.join(path.dirname(live), 'shown', 'pipespan.db')
    for (const file of [shown, disk]) mkdirSync(path.dirname(file))
    copyFiles(live, shown)
    cpSync(live, disk)
    writeFileSync(`${disk}-wal`, '')
    copyDeliveries(live, shown)
    await writer.close()
    await first.close()
    writesAgain(`${shown}-wal`, `${disk}-wal`)
    const next = walPositions()
    const second = openSqlite(shown, options, next)
    expect(next.spent).toBe(1)

    const after = openSqlite(disk, options)
    expect(await known(after, 1)).toBe(true)
    await after.close()
    await second.close()
  })
})
