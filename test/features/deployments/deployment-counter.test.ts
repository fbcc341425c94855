// Tests when deployments are counted, which requests this takes, and which deployments are not counted.
import { chunkOf } from '../../support/of-run.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { bothDatabases } from '../../core/store/benches.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { countIn, delta, spanOf } from './reported.ts'
import { day, hour, instance, minute, t0 } from '../../flow/world.ts'
import { DeploymentBench, eventReport, project, sha } from './deployment-bench.ts'
import { deployments as storedDeployments } from '../../../src/features/deployments/sql/deployments.ts'
import { isEvent } from '../../../src/model/event.ts'
import { PlatformError } from '../../../src/platform/port.ts'
import type { DeploymentFigures } from '../../../src/features/deployments/model/deployment-figures.ts'

describe.each(bothDatabases())('counting deployments on %s', (_name, open) => {
  let bench: DeploymentBench

  beforeEach(async () => {
    const here = closeAfterTest(await open())
    bench = new DeploymentBench(here, await here.open())
  })

  it('counts the other deployments of a batch once each if some rows of the batch are damaged', async () => {
    await bench.report(...[1, 2, 3, 4, 5].map(id => eventReport(id, 'success', t0 + id, { environment: 'staging' })))
    // The first row is not JSON. The second row is JSON, but not a deployment.
    await bench.here.sql(`UPDATE deployments SET content = '{"half": ' WHERE deployment_id = 2`)
    const wrong = JSON.stringify({
      instance,
      project,
      job: { status: 'success', environment: 'staging', finishedAt: 4, span: {} },
    })
    await bench.here.sql(`UPDATE deployments SET content = '${wrong}' WHERE deployment_id = 4`)
    bench.here.move(countIn)
    const counter = bench.counter()
    await counter.drain()
    expect(counter.counters).toMatchObject({ counted: 3, passedOver: 0 })
    expect(bench.errors).toMatchObject([{ deployment: 4, msg: 'a deployment could not be counted' }])
    expect(await bench.total('platform.deployment.count', 'staging')).toMatchObject([{ by: 3 }])
    // Once the row is repaired, the deployment is counted when its lease expires.
    const whole = JSON.stringify(eventReport(4, 'success', t0 + 4, { environment: 'staging' }))
    await bench.here.sql(`UPDATE deployments SET content = '${whole}' WHERE deployment_id = 4`)
    bench.here.move(hour)
    await counter.drain()
    expect(await bench.total('platform.deployment.count', 'staging')).toMatchObject([{ by: 4 }])
  })

  it('does not let requests for commits delay deployments that need none', async () => {
    const many = Array.from({ length: 50 }, (_, at) => at + 1)
    let answer = (): void => undefined
    bench.asked.until = new Promise(resolve => {
      answer = resolve
    })
    await bench.report(...many.map(id => eventReport(id, 'success', t0 + id * minute)))
    bench.here.move(countIn)
    const counter = bench.counter()
    counter.start()
    try {
      await expect.poll(() => bench.asked.requests).toBe(4)
      await bench.report(
        ...many.map(id => eventReport(100 + id, 'success', t0 + id * minute, { environment: 'staging' })),
      )
      bench.here.move(countIn)
      // The 50 staging deployments are counted, and so is the first one to production: it needs no commits, because it has no previous deployment.
      await expect.poll(() => counter.counters.counted).toBe(51)
      expect(bench.asked.requests).toBe(4)
      answer()
      await expect.poll(() => counter.counters.counted).toBe(100)
      expect(await bench.total('platform.deployment.lead_time', 'production')).toMatchObject([{ count: 49 }])
    } finally {
      answer()
      await counter.stop()
    }
  })

  it('exports each deployment once as delta points, with the definition of its lead time', async () => {
    await bench.report(
      eventReport(1, 'success', t0, { revision: 10 }),
      eventReport(2, 'success', t0 + 30 * day, { revision: 14 }),
    )
    bench.here.move(countIn)
    await bench.counter({ definition: 'merge' }).drain()
    const { items } = await bench.store.outbox.lease(delta, 10, minute)
    const figures = items
      .map(chunkOf)
      .flatMap(chunk => (isEvent(chunk) ? ((chunk.figures as DeploymentFigures | undefined) ?? []) : []))
    expect(figures.map(({ definition, leadTimes }) => [definition, leadTimes?.length])).toEqual([
      [undefined, undefined],
      ['merge', 2],
    ])
  })

  it('exports a deployment whose row reuses the id of a deleted row', async () => {
    const job = { status: 'failed', span: spanOf(10, 1) }
    await bench.report({ instance, project, jobId: 10, job }, eventReport(1, 'success', t0))
    bench.here.move(countIn)
    await bench.counter().drain()
    // This event shows that the job and the earlier event report the same deployment, so their two rows are merged into the first one.
    await bench.report({ ...eventReport(1, 'success', t0), jobId: 10 })
    await bench.report(eventReport(2, 'success', t0 + minute))
    bench.here.move(countIn)
    await bench.counter().drain()
    expect(await bench.total('platform.deployment.count', 'production')).toMatchObject([{ by: 2 }])
    expect((await bench.store.outbox.lease(delta, 10, minute)).items).toHaveLength(2)
  })

  it('counts the lead times of commits that are deployed again after a rollback', async () => {
    const counter = bench.counter()
    const revisions = [10, 13, 10, 13, 15]
    await bench.report(...revisions.map((revision, n) => eventReport(n + 1, 'success', t0 + n * hour, { revision })))
    bench.here.move(countIn)
    await counter.drain()
    const between = (from: number, to: number) => `${sha(from)}..${sha(to)}`
    // The test sorts the ranges, because they are requested concurrently, in no fixed order.
    expect(bench.asked.ranges.sort()).toEqual([between(10, 13), between(10, 13), between(13, 10), between(13, 15)])
    const [leadTimes] = await bench.total('platform.deployment.lead_time', 'production')
    expect(leadTimes).toMatchObject({ count: 3 + 0 + 3 + 2 })
    expect(await bench.total('platform.deployment.rollback.count', 'production')).toMatchObject([{ by: 2 }])
    await counter.stop()
  })

  it('counts a deployment that is reported after a later one was counted, without comparing their commits', async () => {
    await bench.report(eventReport(1, 'failed', t0), eventReport(3, 'success', t0 + 2 * hour))
    bench.here.move(countIn)
    await bench.counter().drain()
    await bench.report(eventReport(2, 'success', t0 + hour))
    bench.here.move(countIn)
    await bench.counter().drain()
    expect(await bench.total('platform.deployment.count', 'production', 'succeeded')).toMatchObject([{ by: 2 }])
    expect(await bench.total('platform.deployment.recovery_time', 'production')).toMatchObject([
      { count: 1, sum: 7_200 },
    ])
    expect(bench.asked.ranges).toEqual([])
  })

  it('ignores deployments that neither succeeded nor failed, and those whose environment is named neither by their event nor by their job', async () => {
    const job = {
      ...{ instance, project, jobId: 40 },
      job: { status: 'success', environment: 'production', finishedAt: t0, span: spanOf(40, 4) },
    }
    const nowhere = { ...eventReport(4, 'success', t0, { environment: undefined }), jobId: 40 }
    await bench.report(
      eventReport(1, 'success', t0, { environment: undefined }),
      eventReport(2, 'canceled', t0),
      eventReport(3, 'running', t0),
      nowhere,
    )
    await bench.report(job)
    bench.here.move(countIn)
    const counter = bench.counter()
    await counter.drain()
    expect(counter.counters).toMatchObject({ counted: 1, passedOver: 1 })
  })

  it('defers counting a deployment while the platform does not respond, then counts it without commits', async () => {
    const down = new PlatformError({ kind: 'unavailable', what: 'It is down.', remedy: 'Wait.' })
    bench.asked.fail = down
    await bench.report(eventReport(1, 'success', t0), eventReport(2, 'success', t0 + hour))
    bench.here.move(countIn)
    const counter = bench.counter()
    await counter.drain()
    expect(counter.counters).toMatchObject({ counted: 1, withoutCommits: 0 })
    for (let tries = 0; tries < 10; tries += 1) {
      bench.here.move(2 * hour)
      await counter.drain()
    }
    expect(counter.counters).toMatchObject({ counted: 2, withoutCommits: 1 })
    expect(bench.asked.requests).toBe(8)
    bench.asked.fail = new PlatformError({
      kind: 'not-found',
      what: '404',
      remedy: '',
      status: 404,
      detail: '404 Commit Not Found',
    })
    await bench.report(eventReport(3, 'success', t0 + 2 * hour))
    bench.here.move(countIn)
    await counter.drain()
    expect(counter.counters).toMatchObject({ counted: 3, withoutCommits: 2 })
  })

  it('requests commits only for environments that are configured as production', async () => {
    await bench.report(eventReport(1, 'success', t0), eventReport(2, 'success', t0 + hour))
    bench.here.move(countIn)
    await bench.counter({ decides: () => false }).drain()
    expect(bench.asked.requests).toBe(0)
    expect(await bench.total('platform.deployment.count', 'production', '.production":"true"')).toEqual([])
    const [count] = await bench.total('platform.deployment.count', 'production', '.production":"false"')
    expect(count).toMatchObject({ by: 2 })
  })

  it('counts deployments without any request if no API is configured', async () => {
    await bench.report(eventReport(1, 'success', t0), eventReport(2, 'success', t0 + hour))
    bench.here.move(countIn)
    const counter = bench.counter({ hasPlatform: false })
    await counter.drain()
    expect([counter.counters.counted, bench.asked.requests]).toEqual([2, 0])
    expect(await bench.total('platform.deployment.lead_time', 'production')).toEqual([])
  })

  it("deletes old deployments, except each environment's current one", async () => {
    await bench.report(
      eventReport(1, 'success', t0),
      eventReport(2, 'success', t0 + hour),
      eventReport(3, 'failed', t0 + 2 * hour),
    )
    expect(await bench.store.on(storedDeployments).prune(t0 + day, 10)).toBe(0)
    bench.here.move(countIn)
    await bench.counter({ hasPlatform: false }).drain()
    expect(await bench.store.on(storedDeployments).prune(t0 + day, 10)).toBe(2)
    expect(
      (await bench.store.on(storedDeployments).current({ limit: 10 })).map(({ deployment }) => deployment.deploymentId),
    ).toEqual([2])
    expect(await bench.store.on(storedDeployments).list({ since: 0, until: t0 + day, limit: 10 })).toHaveLength(1)
  })
})
