// A power failure takes away what was written and not yet synced: the transaction that is under way. Here "the disk" is a copy of the store's files,
// with a torn transaction behind the last commit, and of the deliveries, which may be erased as soon as they are processed.
import { appendFileSync, cpSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { mergeObservations } from '../../src/processing/merge-observations.ts'
import { openOwnDatabase, openSharedDatabase } from '../../src/store/sqlite/database.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { openSqliteInboxWriter } from '../../src/store/sqlite/deliveries/writer.ts'
import { deliveryFolder, listDeliveryFiles } from '../../src/store/sqlite/deliveries/files.ts'
import { deliveryPositions } from '../../src/store/sqlite/deliveries/positions.ts'
import { at, event, instance, rules, t0 } from '../flow/world.ts'
import { delivery } from '../store/exercise.ts'
import type { Store } from '../../src/store/ports/store.ts'

const options = { now: () => t0, maxSize: 2 ** 30 }

/** Ids of pipelines that the store processes now, with all that a transaction of the daemon writes. */
async function process(store: Store, most: number): Promise<number[]> {
  const { token, items } = await store.inbox.lease(most, 1e6, 1_000)
  const ids = items.map(({ body }) => Number(Buffer.from(body).toString()))
  const work = ids.flatMap(id =>
    mergeObservations([event('failed', { finishedAt: at(60) }, [], {}, id)], 'webhook', rules),
  )
  expect(await store.runs.transact(work, { token, ids: items.map(({ id }) => id) })).toBe(true)
  return ids
}

function pathsOf(): { readonly live: string; readonly disk: string } {
  const folder = temporaryFolder()
  return { live: path.join(folder, 'live', 'pipespan.db'), disk: path.join(folder, 'disk', 'pipespan.db') }
}

/** The store's file and SQLite's WAL. */
function copyFiles(from: string, to: string): void {
  for (const end of ['', '-wal']) cpSync(`${from}${end}`, `${to}${end}`)
}

function deliveryFiles(store: string): string[] {
  return listDeliveryFiles(deliveryFolder(store)).map(file => file.path)
}

async function known(store: Store, id: number): Promise<boolean> {
  return (await store.runs.get({ instance, pipelineId: id })) !== undefined
}

const step = fc.oneof(
  fc.record({ do: fc.constant('accept' as const), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ do: fc.constant('process' as const), count: fc.integer({ min: 1, max: 6 }) }),
  fc.constant({ do: 'tidy' as const, count: 0 }),
)

it('a power failure loses no accepted delivery; only deliveries whose processing was undone are processed again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 16 }), fc.uint8Array(), async (steps, torn) => {
      const { live, disk } = pathsOf()
      let accepted = 0
      const processed = new Set<number>()
      const positions = deliveryPositions()
      const store = openSqlite(live, options, positions)
      const writer = openSqliteInboxWriter(live, options, positions)
      for (const one of steps) {
        if (one.do === 'accept') {
          const ids = Array.from({ length: one.count }, () => ++accepted)
          await writer.put(ids.map(id => delivery(`key-${id}`, String(id))))
        }
        if (one.do === 'process') for (const id of await process(store, one.count)) processed.add(id)
        if (one.do === 'tidy') await writer.proveWritable()
      }
      // The power fails.
      mkdirSync(path.dirname(disk))
      copyFiles(live, disk)
      cpSync(deliveryFolder(live), deliveryFolder(disk), { recursive: true })
      for (const name of [disk, ...deliveryFiles(disk)]) appendFileSync(`${name}-wal`, torn)
      await writer.close()
      await store.close()

      const after = openSqlite(disk, options)
      const again = new Set<number>()
      for (let ids = await process(after, 100); ids.length > 0; ids = await process(after, 100)) {
        for (const id of ids) again.add(id)
      }
      const all = Array.from({ length: accepted }, (_, index) => index + 1)
      expect([...again]).toEqual(all.filter(id => !processed.has(id)))
      for (const id of all) expect(await known(after, id)).toBe(true)
      await after.close()
    }),
    { numRuns: 30 },
  )
})

it('a power failure undoes no commit, neither of the daemon nor of a command: each waits for the disk', () => {
  const { live } = pathsOf()
  const full = { synchronous: 2 }
  const own = openOwnDatabase(live, options)
  expect(own.prepare('PRAGMA synchronous').get()).toEqual(full)
  const shared = openSharedDatabase(live, options)
  expect(shared.prepare('PRAGMA synchronous').get()).toEqual(full)
  shared.close()
  own.close()
})
