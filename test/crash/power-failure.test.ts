// Tests a power failure. It loses data that was written but not yet synced, which is at most the transaction in progress. The test copies the store's
// files and appends random bytes to the WAL, like a transaction that was only partly written.
import { appendFileSync, cpSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { openOwnDatabase, openSharedDatabase } from '../../src/core/store/sqlite/database.ts'
import { openSqlite } from '../support/stores.ts'
import { instance, t0, takeInOf } from '../flow/world.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import type { Delivery } from '../../src/core/take-in/take-in.ts'

const options = { now: () => t0, maxSize: 2 ** 30 }

function delivery(id: number): Delivery {
  const body = Buffer.from(pipelineEvent({ id }))
  return { key: `of ${id}`, event: 'Pipeline Hook', instance, source: 'webhook', body }
}

function pathsOf(): { readonly live: string; readonly disk: string } {
  const folder = temporaryFolder()
  return { live: path.join(folder, 'live', 'pipespan.db'), disk: path.join(folder, 'disk', 'pipespan.db') }
}

it('loses no accepted delivery in a power failure, and recognizes each one when it is sent again', async () => {
  const groups = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(groups, fc.uint8Array(), async (sizes, torn) => {
      const { live, disk } = pathsOf()
      const store = openSqlite(live, options)
      const takeIn = takeInOf(store)
      const all: Delivery[] = []
      for (const size of sizes) {
        const group = Array.from({ length: size }, (_, index) => delivery(all.length + index + 1))
        await Promise.all(group.map(async one => takeIn.take(one)))
        all.push(...group)
      }
      // The copy contains what is on the disk after the power failure.
      mkdirSync(path.dirname(disk))
      for (const end of ['', '-wal']) cpSync(`${live}${end}`, `${disk}${end}`)
      appendFileSync(`${disk}-wal`, torn)
      await store.close()

      const after = openSqlite(disk, options)
      expect((await after.runs.count()).runs).toBe(all.length)
      const again = takeInOf(after)
      const outcomes = await Promise.all(all.map(async one => again.take(one)))
      expect(new Set(outcomes)).toEqual(new Set(['duplicate']))
      await after.close()
    }),
    { numRuns: 30 },
  )
})

it('syncs each commit of the daemon and of a command to the disk, so that a power failure undoes none of them', () => {
  const { live } = pathsOf()
  const full = { synchronous: 2 }
  const own = openOwnDatabase(live, options)
  expect(own.prepare('PRAGMA synchronous').get()).toEqual(full)
  const shared = openSharedDatabase(live, options)
  expect(shared.prepare('PRAGMA synchronous').get()).toEqual(full)
  shared.close()
  own.close()
})
