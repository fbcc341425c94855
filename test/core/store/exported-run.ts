// Takes a run through its states in a store, for tests of its later states.
import { at, day, event, instance, job, minute, rules } from '../../flow/world.ts'
import { countedIn } from '../../support/counted-figures.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { plan } from '../../../src/model/settle.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { Observation } from '../../../src/model/observation.ts'
import type { RateOf } from '../../../src/model/runner-time.ts'
import type { PendingChunk, RunWork } from '../../../src/core/store/ports/runs.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

export const exportQueue = { destination: 'default', signal: 'traces' as const }

export const failed = (pipelineId = 7): Observation =>
  event('failed', { finishedAt: at(60) }, [job(1, 'build', 'failed', { started: 5, finished: 50 })], {}, pipelineId)

export async function observe(store: Store, observation: Observation): Promise<void> {
  await store.runs.transact(mergeObservations([observation], 'webhook', rules))
}

/** Returns work that takes the snapshot of a run's next attempt and adds the given outbox entries for each chunk. */
export function snapshotWork(
  pipelineId: number,
  pendingOf: (chunk: Chunk) => PendingChunk = chunk => ({ chunk, to: [exportQueue] }),
  rateOf?: RateOf,
): RunWork {
  return {
    key: { instance, pipelineId },
    jobs: 'all',
    decide: (known, now) => {
      if (known === undefined) return undefined
      const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: pipelineId }
      const fresh = [...known.run.jobs.values()].filter(one => one.snapshot === undefined)
      const { run, chunks } = snapshotAttempt(known.run, fresh, trace, false, now, { ...rules, rateOf })
      const pending = chunks.map(pendingOf)
      return { run, timing: { changedAt: now }, pending, reports: countedIn(run, chunks) }
    },
  }
}

/** Takes the snapshot of a run's due attempts and returns its chunks. */
export async function takeSnapshot(store: Store, pipelineId = 7, to = exportQueue): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  const work: RunWork = {
    key: { instance, pipelineId },
    jobs: 'all',
    decide: (known, now) => {
      const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: pipelineId }
      const next = plan(known!.run, trace, rules, { now: now + 14 * day, changedAt: 0, endedAt: 0 })
      if (next.step !== 'snapshot') return { run: known!.run, jobs: [], timing: { changedAt: now } }
      chunks.push(...next.snapshot.chunks)
      const entries = next.snapshot.chunks.map(chunk => ({ chunk, to: [to] }))
      const reports = countedIn(next.snapshot.run, next.snapshot.chunks)
      return { run: next.snapshot.run, timing: { changedAt: now }, pending: entries, reports }
    },
  }
  await store.runs.transact([work])
  return chunks
}

export async function settle(store: Store, as: 'delivered' | 'rejected'): Promise<void> {
  const { token, items } = await store.outbox.lease(exportQueue, 1_000, minute)
  await store.outbox.settle(
    token,
    items.map(({ id }) => (as === 'delivered' ? { id, as } : { id, as, status: 400, error: 'no' })),
  )
}

export async function exportRun(store: Store, pipelineId: number): Promise<void> {
  await observe(store, failed(pipelineId))
  await takeSnapshot(store, pipelineId)
  await settle(store, 'delivered')
}
