// Tests runs that are due as soon as they are observed, on a real store. Their snapshot is taken in the same transaction, and is identical to one
// taken later.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { type Snapshotter, type SnapshotStep } from '../../../src/core/settle/take-snapshots.ts'
import { openSqlite } from '../../support/stores.ts'
import { observation } from '../../model/arbitraries.ts'
import { event, job, rules as usual, t0, snapshotterWith, settlerOf } from '../../flow/world.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { Observation } from '../../../src/model/observation.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'
import { runs } from '../../full.ts'
import { chunkOfRun } from '../../support/of-run.ts'

const rules = { ...usual, settle: 0 }
const exportQueue = { destination: 'default', signal: 'traces' } as const

interface Flow {
  readonly store: Store
  readonly snapshotter: Snapshotter
  /** Stores new observations. If possible, the snapshot is taken immediately. */
  observe(...observations: Observation[]): Promise<void>
  /** Stores observations and leaves their snapshot to the settle loop. */
  observeOnly(...observations: Observation[]): Promise<void>
  settle(): Promise<void>
  sent(): Promise<Chunk[]>
}

function openFlow(ruled = rules): Flow {
  const store = openSqlite(':memory:', { now: () => t0, maxSize: 2 ** 30 })
  const snapshotter = snapshotterWith({ rules: ruled })
  const clock = { now: () => t0, sleep: async () => undefined }
  const settler = settlerOf(store, { snapshotter, clock })
  return {
    store,
    snapshotter,
    observe: async (...observations) => {
      const did: SnapshotStep[][] = []
      const work = mergeObservations(observations, 'webhook', ruled).map((one, at) =>
        snapshotter.atOnce(one, (did[at] = [])),
      )
      await store.runs.transact(work)
      snapshotter.committed(did.flat())
    },
    observeOnly: async (...observations) => {
      await store.runs.transact(mergeObservations(observations, 'webhook', ruled))
    },
    settle: () => settler.drain(),
    sent: async () => {
      const { items } = await store.outbox.lease(exportQueue, 10_000, 60_000)
      return items.map(chunkOfRun).sort((a, b) => a.attempt - b.attempt || a.number - b.number)
    },
  }
}

it('immediately takes the snapshot that the settle loop would take later, for any observations in any order', async () => {
  const property = fc.asyncProperty(fc.array(observation, { maxLength: 6 }), async observed => {
    const [atOnce, later] = [openFlow(), openFlow()]
    for (const one of observed) {
      await atOnce.observe(one)
      await atOnce.settle()
      await later.observeOnly(one)
      await later.settle()
    }
    expect(await atOnce.sent()).toEqual(await later.sent())
    expect(atOnce.snapshotter.counters).toEqual(later.snapshotter.counters)
    await atOnce.store.close()
    await later.store.close()
  })
  await fc.assert(property, runs(150))
})

const finished = event('success', { finishedAt: t0 + 60_000 }, [
  job(70, 'build', 'success', { started: 5, finished: 50 }),
])

it('writes the outbox entry of a finished pipeline in the transaction of its delivery, and leaves nothing to the settle loop', async () => {
  const flow = openFlow()
  await flow.observe(finished)
  expect(await flow.store.runs.dueIn()).toBeUndefined()
  expect((await flow.sent()).map(({ jobs }) => jobs.map(({ id }) => id))).toEqual([[70]])
  expect(flow.snapshotter.counters.attempts).toBe(1)
  await flow.store.close()
})

it('leaves a child pipeline to the settle loop, which first looks up its related pipelines', async () => {
  const flow = openFlow()
  const parent = event(
    'success',
    { finishedAt: t0 + 90_000 },
    [{ ...job(90, 'deploy', 'success', { started: 5, finished: 80 }), facts: { kind: 'bridge', status: 'success' } }],
    {},
    9,
  )
  await flow.observe(parent)
  await flow.observe({
    ...finished,
    pipeline: {
      facts: { status: 'success', sourcePipeline: { pipelineId: 9, jobId: 90, projectId: 3, bridgesAreListed: true } },
      times: { createdAt: t0, finishedAt: t0 + 60_000 },
    },
  })
  expect(await flow.store.runs.dueIn()).toBe(0)
  await flow.settle()
  const child = (await flow.sent()).find(({ key }) => key.pipelineId === 7)
  expect(child?.trace).toMatchObject({ rootPipelineId: 9, parent: { jobId: 90, kind: 'bridge' } })
  await flow.store.close()
})
