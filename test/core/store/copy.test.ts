// Tests copying between stores, in both directions, with interruptions.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exportQueue } from './exported-run.ts'
import { contents, fill } from './filled.ts'
import { copyStore } from '../../../src/core/store/maintenance/copy.ts'
import { takeKeys } from './taking-in-exercise.ts'
import { openPostgres, openSqlite } from '../../support/stores.ts'
import { isFull } from '../../full.ts'
import { newDatabase } from './new-database.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const size = { maxSize: 2 ** 30 }
let folder: string
const open: Store[] = []

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'pipespan-copy-'))
})
afterAll(async () => {
  for (const store of open) await store.close()
  rmSync(folder, { recursive: true })
})

const sqlite = async (): Promise<Store> => {
  const store = openSqlite(path.join(folder, `${open.length}`, 'pipespan.db'), { ...size, now: Date.now })
  open.push(store)
  return store
}
const postgres = async (): Promise<Store> => {
  const store = await openPostgres(await newDatabase(), size)
  open.push(store)
  return store
}
const kinds = { SQLite: sqlite, PostgreSQL: postgres }
const ways = [
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
  ['SQLite', 'SQLite'],
  ['PostgreSQL', 'PostgreSQL'],
] as const

/** Each database is tested once as the source and once as the target. The long form tests all combinations. */
const cutOff = isFull ? ways : ways.slice(0, 2)

/** A store that calls `isCutOff` before it writes run rows, and fails if that returns true. */
function watched(store: Store, isCutOff: (rows: number) => boolean): Store {
  const { write } = store.tables
  return {
    ...store,
    tables: {
      ...store.tables,
      write: async (table, rows) => {
        if (table.name === 'runs' && isCutOff(rows.length)) throw new Error('cut off')
        await write(table, rows)
      },
    },
  }
}

describe('a copy of a store', () => {
  it.each(ways)(
    'copies every row from %s to %s, and numbers new rows above the copied ones',
    async (source, target) => {
      const [from, to] = [await kinds[source](), await kinds[target]()]
      await fill(from, 70)
      const before = await contents(from.tables)
      const counts = await copyStore({ from, to, source: 'here' })
      expect(await contents(to.tables)).toEqual(before)
      expect(counts.get('runs')).toBe(70)
      expect([counts.get('delivery_keys'), counts.get('quarantined_deliveries')]).toEqual([2, 1])
      await fill(to, 1)
      expect(await takeKeys(to, 'a', 'new')).toEqual([false, true])
      expect((await to.outbox.lease(exportQueue, 1_000, 1_000)).items.length).toBe(71)
    },
  )

  // The source has more rows than fit into one batch.
  it.each(cutOff)('resumes an interrupted copy from %s to %s', async (source, target) => {
    const [from, to] = [await kinds[source](), await kinds[target]()]
    await fill(from, 700)
    let written = 0
    await expect(copyStore({ from, to: watched(to, () => written++ > 0), source: 'here' })).rejects.toThrow('cut off')
    await expect(copyStore({ from, to, source: 'elsewhere' })).rejects.toThrow(/unfinished copy/)
    let chunks = 0
    await copyStore({ from, to: watched(to, rows => ((chunks += rows), false)), source: 'here' })
    expect(chunks).toBe(200)
    expect(await contents(to.tables)).toEqual(await contents(from.tables))
  })

  it('does not resume a copy once a daemon has used the source again', async () => {
    const [from, to] = [await sqlite(), await sqlite()]
    await fill(from, 2)
    const cutOff = watched(to, () => true)
    await expect(copyStore({ from, to: cutOff, source: 'here' })).rejects.toThrow('cut off')
    await from.repositories.copy.remove({})
    await expect(copyStore({ from, to, source: 'here' })).rejects.toThrow(/used after the copy .* empty/)
  })

  it('refuses to copy if the target is not empty, or if a daemon is using the source', async () => {
    const [from, to] = [await sqlite(), await sqlite()]
    await to.counters.add('pruned.runs', 1)
    await expect(copyStore({ from, to, source: 'here' })).rejects.toThrow(/not empty: its table counters/)
    const empty = await sqlite()
    expect(await from.leases.take('maintenance', 'a daemon', 30_000)).toBe(true)
    await expect(copyStore({ from, to: empty, source: 'here' })).rejects.toThrow(/daemon uses one of the two stores/)
  })
})
