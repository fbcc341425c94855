// Fills every table of a store with data, for tests of the store as a whole.
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { at, event, job, rules } from '../../flow/world.ts'
import { keep, takeKeys, undecodable } from './taking-in-exercise.ts'
import { snapshotWork } from './exported-run.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'
import type { Tables } from '../../../src/core/store/sql/tables.ts'

/**
 * Stores runs 1 to `runs`, with snapshots and pending exports. Also stores delivery keys, an undecodable delivery, a key-value entry and a counter.
 */
export async function fill(store: Store, runs: number): Promise<void> {
  const ids = Array.from({ length: runs }, (_, index) => index + 1)
  const observations = ids.map(id => {
    const jobs = [job(id * 10, 'build', 'success', { started: 5, finished: 50 }, { failureReason: 'ünï\u0000code' })]
    return event('failed', { finishedAt: at(60) }, jobs, {}, id)
  })
  await store.runs.transact(mergeObservations(observations, 'webhook', rules))
  await store.runs.transact(ids.map(id => snapshotWork(id)))
  await keep(store, undecodable({ body: Buffer.from([0, 1, 255]) }))
  await takeKeys(store, 'a', 'Ä', undefined)
  await store.repositories.ownPipelines.put({ instance: 'https://git.example.com', newest: 3 })
  await store.counters.add('pruned.runs', 5)
}

/** Returns every row of every table. */
export async function contents(tables: Tables): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const table of await tables.list()) {
    const rows = await tables.read(table, undefined, 100_000)
    found[table.name] = rows.map(row =>
      Object.fromEntries(
        table.columns.map((name, index) => {
          const cell = row[index]
          return [name, cell instanceof Uint8Array ? Buffer.from(cell).toString('hex') : cell]
        }),
      ),
    )
  }
  return found
}
