// Tests the flush of cumulative metrics with a real store, real totals, and a receiver that decodes the requests.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { minute } from '../../flow/world.ts'
import { openMetricFlushBench, pipeline, type MetricFlushBench } from './metric-flush-bench.ts'

describe('the flush of cumulative metrics', () => {
  let bench: MetricFlushBench
  beforeEach(async () => {
    bench = closeAfterTest(await openMetricFlushBench())
  })

  it('sends one ResourceMetrics per project, even for two projects with the same name', async () => {
    await bench.run(pipeline(1), pipeline(2, 'failed'), pipeline(3, 'success', { id: 4, path: 'other/shop' }))
    bench.start()
    await bench.receiver.until(() => bench.receiver.metrics.length > 0)
    expect(bench.latest('pipeline.status_total')).toEqual({
      '3: main success': 1,
      '3: main failed': 1,
      '4: main success': 1,
    })
    const resources = new Set(
      bench.receiver.metrics.map(({ resource: { attributes } }) =>
        ['service.name', 'service.namespace', 'service.instance.id'].map(key => attributes[key] as string).join(' '),
      ),
    )
    expect([...resources].sort()).toEqual(['shop acme 3', 'shop other 4'])
    const sums = bench.receiver.metrics.filter(metric => metric.kind === 'sum' || metric.kind === 'histogram')
    expect(new Set(sums.map(metric => metric.temporality))).toEqual(new Set(['cumulative']))
  })

  it("keeps a series' start time and totals across a restart", async () => {
    await bench.run(pipeline(1))
    const first = bench.start()
    await bench.receiver.until(() => bench.receiver.metrics.length > 0)
    await first.finish(5_000)
    const starts = () =>
      new Set(
        bench.receiver.metrics
          .filter(({ name }) => name === 'pipeline.status_total')
          .flatMap(({ points }) => points.map(point => point.start)),
      )
    const before = starts()
    bench.receiver.clear()
    bench.move(5 * minute)
    await bench.run(pipeline(2), pipeline(3))
    bench.start()
    await bench.receiver.until(() => bench.receiver.metrics.length > 0)
    expect(bench.latest('pipeline.status_total')).toEqual({ '3: main success': 3 })
    expect(bench.latest('job.duration_seconds')).toEqual({ '3: build success': 3 })
    expect(starts()).toEqual(before)
  })

  it('runs the metric flush on one of two replicas, and on the other once the first stops', async () => {
    await bench.run(pipeline(1))
    const first = bench.start()
    await bench.receiver.until(() => bench.receiver.metrics.length > 0)
    const second = bench.start()
    second.wake()
    await bench.flushed(first)
    expect(bench.receiver.requests).toHaveLength(2)
    await first.finish(5_000)
    const sent = bench.receiver.requests.length
    await bench.flushed(second)
    expect(bench.receiver.requests).toHaveLength(sent + 1)
  })

  it('replaces a rejected metric flush with the next one, and shows the reason', async () => {
    await bench.run(pipeline(1))
    bench.receiver.misbehave({ fault: { kind: 'status', status: 400, message: 'no metrics today' } })
    const flush = bench.start()
    await bench.receiver.until(() => bench.receiver.requests.length > 0)
    await bench.flushed(flush)
    expect(flush.status()).toMatchObject([
      {
        destination: 'default',
        signal: 'metrics',
        state: 'open',
        cause: 'unacceptable',
        lastError: { status: 400, message: 'no metrics today' },
      },
    ])
    bench.receiver.behave()
    await bench.run(pipeline(2))
    await bench.flushed(flush)
    expect(flush.status()).toMatchObject([{ state: 'closed', cause: undefined }])
    expect(bench.latest('pipeline.status_total')).toEqual({ '3: main success': 2 })
  })

  it('skips a rejected project in the metric flush without delaying others', async () => {
    await bench.run(...[1, 2, 3, 4, 5].map(id => pipeline(id, 'success', { id, path: `acme/p${id}` })))
    bench.receiver.misbehave({
      when: ({ metrics }) => metrics.some(({ resource }) => resource.attributes['service.instance.id'] === '4'),
      fault: { kind: 'status', status: 400, message: 'not this one' },
    })
    bench.start()
    const owners = () => Object.keys(bench.latest('pipeline.status_total')).map(name => name.slice(0, 1))
    await bench.receiver.until(() => owners().length === 4)
    expect(owners()).toEqual(['1', '2', '3', '5'])
  })

  it('does not try projects one by one if the destination has never accepted anything', async () => {
    await bench.run(...[1, 2, 3, 4, 5].map(id => pipeline(id, 'success', { id, path: `acme/p${id}` })))
    bench.receiver.misbehave({ fault: { kind: 'status', status: 400, message: 'no metrics here' } })
    const flush = bench.start()
    await bench.receiver.until(() => bench.receiver.requests.length > 0)
    await bench.flushed(flush)
    const projects = bench.receiver.requests.map(
      ({ metrics }) => new Set(metrics.map(({ resource }) => resource.attributes['service.instance.id'])),
    )
    // Every project alone would be rejected in the same way as all projects together, so after the first one the daemon tries no other project.
    expect(projects).toContainEqual(new Set(['1']))
    expect(projects).not.toContainEqual(new Set(['2']))
  })

  it('waits as long as the Retry-After header requires before the next metric flush', async () => {
    await bench.run(pipeline(1))
    bench.receiver.misbehave({ fault: { kind: 'status', status: 429, headers: { 'retry-after': '300' } }, times: 1 })
    const flush = bench.start()
    await expect
      .poll(() => flush.status())
      .toMatchObject([{ state: 'open', cause: 'unavailable', nextTry: bench.now() + 300_000 }])
    flush.wake()
    bench.move(301_000)
    await bench.flushed(flush)
    expect(bench.receiver.requests.map(({ status }) => status)).toEqual([429, 200])
  })

  it('retries the metric flush at once on request, if it is paused', async () => {
    await bench.run(pipeline(1))
    bench.receiver.misbehave({ fault: { kind: 'status', status: 429, headers: { 'retry-after': '300' } }, times: 1 })
    const flush = bench.start()
    await expect.poll(() => flush.status()).toMatchObject([{ state: 'open' }])
    expect(flush.tryNow('another')).toBe(0)
    expect(flush.tryNow('default')).toBe(1)
    await bench.flushed(flush)
    expect(bench.receiver.requests.map(({ status }) => status)).toEqual([429, 200])
    expect(flush.tryNow()).toBe(0)
  })

  it('flushes metrics independently for each destination', async () => {
    await bench.run(pipeline(1))
    bench.start({
      destinations: [bench.destination('down', 'cumulative', 'http://127.0.0.1:1'), bench.destination('default')],
    })
    await bench.receiver.until(() => bench.receiver.metrics.length > 0)
    expect(bench.latest('pipeline.status_total')).toEqual({ '3: main success': 1 })
  })
})
