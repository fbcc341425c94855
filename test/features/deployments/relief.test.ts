// Tests which data is deleted from a store that is nearly full, and in which order, on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import {
  deployments as storedDeployments,
  deploymentReporter,
} from '../../../src/features/deployments/sql/deployments.ts'
import { report, spanOf } from './reported.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { createMaintenance, keptInStore } from '../../../src/core/store/maintenance/maintenance.ts'
import { relieve } from '../../../src/core/store/maintenance/fullness.ts'
import { createSteps } from '../../../src/core/store/maintenance/steps.ts'
import { exportQueue, exportRun } from '../../core/store/exported-run.ts'
import { day, hour, instance, minute } from '../../flow/world.ts'
import { observedEvent } from '../../../src/features/deployments/model/deployment.ts'
import { bothDatabases, type BareBench } from '../../core/store/benches.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const times = { retention: 10 * day, remember: 100 * day, keepFigures: 100 * day }

describe.each(bothDatabases())('a nearly full store on %s', (_name, bench) => {
  let here: BareBench
  let store: Store
  let clock: Clock
  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
    clock = { now: () => here.now(), sleep: async () => new Promise<void>(resolve => setImmediate(resolve)) }
  })

  async function deploy(deploymentId: number, environment = 'production', status = 'success'): Promise<void> {
    const event = observedEvent({ status, at: here.now(), environment })
    const deployment = { instance, project: { id: 1, path: 'acme/shop' }, deploymentId, event }
    await report(store, deploymentReporter, [deployment], minute)
  }
  /** Reports a deployment as its pipeline's snapshot does. */
  async function deployByJob(jobId: number): Promise<void> {
    const job = { status: 'success', finishedAt: here.now(), environment: 'jobs', span: spanOf(jobId, jobId) }
    const deployment = { instance, project: { id: 1, path: 'acme/shop' }, jobId, job }
    await report(store, deploymentReporter, [deployment], minute)
  }
  const count = async (): Promise<unknown> =>
    store.on(storedDeployments).countDue(100, () => ({
      counted: { environment: 'production', outcome: 'succeeded', finishedAt: here.now() },
      ...{ written: [], measures: [] },
    }))
  const deployments = async (): Promise<(number | undefined)[]> => {
    const listed = await store.on(storedDeployments).list({ since: 0, until: here.now() + day, limit: 100 })
    return listed.map(({ deployment: { deploymentId, jobId } }) => deploymentId ?? jobId).sort((a = 0, b = 0) => a - b)
  }
  const runs = async (): Promise<number> => (await store.runs.count()).runs

  it('shortens all retention periods of a nearly full store proportionally until it has room', async () => {
    for (let tenth = 1; tenth <= 10; tenth += 1) {
      await deploy(tenth)
      if (tenth < 10) here.move(10 * day)
    }
    for (let id = 1; id <= 10; id += 1) {
      await exportRun(store, id)
      here.move(day)
    }
    await count()
    const fullness = async (): Promise<number> => (10 + (await runs()) + (await deployments()).length) / 30
    const steps = createSteps(async () => true, clock)
    const early = await relieve({ fullness, kept: keptInStore(store, times, steps), now: here.now() })
    // A one-day-old run and a ten-day-old deployment have both used a tenth of their retention period.
    expect(early).toEqual(
      new Map([
        ['runs', 4],
        ['deployments', 4],
      ]),
    )
    expect(await deployments()).toEqual([5, 6, 7, 8, 9, 10])
    for (const [id, isLeft] of [4, 5].map(id => [id, id === 5] as const))
      expect((await store.views.chunks({ instance, pipelineId: id })).length > 0).toBe(isLeft)
  })

  it("keeps uncounted data, current deployments, recent failures and the last day's tombstones in a nearly full store", async () => {
    await deploy(1, 'forgotten')
    here.move(101 * day)
    await deploy(2)
    await deploy(3, 'staging')
    here.move(day)
    await deploy(4)
    here.move(day)
    await deploy(5, 'production', 'failed')
    await deploy(6, 'review', 'running')
    await exportRun(store, 1)
    here.move(2 * day)
    await store.pruning.runs(here.now(), 10, undefined)
    await exportRun(store, 2)
    here.move(2 * day)
    await store.pruning.runs(here.now(), 10, undefined)
    await deploy(7, 'staging')
    await deploy(8, 'staging')
    await deployByJob(20)
    here.move(minute)
    await deployByJob(21)
    here.move(hour)
    await count()
    await deploy(9)
    here.move(hour)
    const full = await here.open({ maxSize: 1 })
    const loop = createMaintenance({ store: full, served: [exportQueue], ...times, clock, log: silentLog() })
    const counters = async (): Promise<Record<string, number>> => Object.fromEntries(await store.counters.all())
    try {
      loop.start()
      await expect.poll(counters).toMatchObject({ 'pruned.tombstones_early': 1, 'pruned.deployments_early': 5 })
    } finally {
      await loop.stop()
      await full.close()
    }
    // Five deployments are deleted: 1, about which nothing was reported for 101 days; 2, 3 and 20, which were followed by later ones; and 6, which
    // never ended. 7 was followed by a later one, too, but is kept, because its pipeline may still report it. 4 and 5 are kept, because 9 will be
    // compared with them.
    expect(await deployments()).toEqual([4, 5, 7, 8, 9, 21])
  })
})
