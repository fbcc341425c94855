// A store with something in every room, for tests of the store as a whole.
import { mergeObservations } from '../../src/processing/merge-observations.ts'
import { at, event, instance, job, rules } from '../flow/world.ts'
import { delivery } from './exercise.ts'
import { snapshotAttempt } from '../../src/model/snapshot.ts'
import type { RunWork } from '../../src/store/ports/runs.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { Tables } from '../../src/store/ports/tables.ts'

export const exportQueue = { destination: 'default', signal: 'traces' as const }

/** Runs 1 to `runs`, with snapshots and pending exports; two deliveries that wait, one kept, a note and a counter. */
export async function fill(store: Store, runs: number): Promise<void> {
  const ids = Array.from({ length: runs }, (_, index) => index + 1)
  const observations = ids.map(id => {
    const jobs = [job(id * 10, 'build', 'success', { started: 5, finished: 50 }, { failureReason: 'ünï\u0000code' })]
    return event('failed', { finishedAt: at(60) }, jobs, {}, id)
  })
  await store.runs.transact(mergeObservations(observations, 'webhook', rules))
  await store.runs.transact(ids.map(snapshotWork))
  const kept = { reason: 'no id', body: Buffer.from([0, 1, 255]), version: '1.0.0' }
  await store.inbox.put([delivery('kept')])
  const { token, items } = await store.inbox.lease(1, 1e6, 600_000)
  await store.inbox.quarantine(token, items[0]!.id, kept)
  await store.inbox.put([delivery('a'), delivery('Ä', '\u0000\u0001'), delivery(undefined)])
  await store.repositories.ownPipelines.put({ instance: 'https://git.example.com', newest: 3 })
  await store.counters.add('pruned.runs', 5)
}

function snapshotWork(pipelineId: number): RunWork {
  return {
    key: { instance, pipelineId },
    jobs: 'all',
    decide: (known, now) => {
      if (known === undefined) return undefined
      const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: pipelineId }
      const snapshot = snapshotAttempt(known.run, [...known.run.jobs.values()], trace, false, now, rules)
      const entries = snapshot.chunks.map(chunk => ({ chunk, to: [exportQueue] }))
      return { run: snapshot.run, jobs: snapshot.jobs, timing: { changedAt: now }, pending: entries }
    },
  }
}

/** Every row of every table. */
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
