// Tests the metrics of active runs and jobs that the metric flush sends.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { event, job, minute } from '../../flow/world.ts'
import { openMetricFlushBench, pipeline, type MetricFlushBench } from './metric-flush-bench.ts'

describe('metrics of active runs', () => {
  let bench: MetricFlushBench
  beforeEach(async () => {
    bench = closeAfterTest(await openMetricFlushBench())
  })

  it('counts active runs by name and state, in separate requests, with an explicit 0 when the last run ends', async () => {
    await bench.run(
      event('running', {}, [], { name: 'Build' }, 1),
      event('running', {}, [], { name: 'Build' }, 2),
      event('pending', {}, [], { name: 'Build' }, 3),
      pipeline(9),
    )
    const flush = bench.start()
    await bench.receiver.until(() => bench.receiver.requests.length === 2)
    expect(bench.latest('cicd.pipeline.run.active')).toEqual({ '3: Build executing': 2, '3: Build pending': 1 })
    for (const { metrics } of bench.receiver.requests) {
      const names = new Set(metrics.map(({ name }) => name === 'cicd.pipeline.run.active'))
      expect(names.size).toBe(1)
    }
    bench.move(minute)
    await bench.run(pipeline(1), pipeline(2), pipeline(3))
    await bench.flushed(flush, 2)
    expect(bench.latest('cicd.pipeline.run.active')).toEqual({ '3: Build executing': 0, '3: Build pending': 0 })
    bench.move(25 * 60 * minute)
    bench.receiver.clear()
    await bench.flushed(flush)
    expect(bench.latest('cicd.pipeline.run.active')).toEqual({})
  })

  it('counts active jobs, and measures the longest wait from when the job was first observed waiting', async () => {
    const waiting = job(1, 'test', 'pending', {}, { tags: ['gpu'], queuedDuration: 30 })
    const other = (status: string) => job(2, 'lint', status, { started: 1 }, { tags: ['docker'] })
    await bench.run(event('running', {}, [waiting, other('running')], {}, 1))
    const flush = bench.start()
    const active = 'platform.cicd.pipeline.task.run.active'
    const oldest = 'platform.cicd.pipeline.task.run.oldest_wait'
    await bench.receiver.until(() => bench.receiver.metrics.some(({ name }) => name === oldest))
    expect(bench.latest(active)).toEqual({ '3: pending gpu': 1, '3: running docker': 1 })
    const first = bench.latest(oldest)['3: gpu'] as number
    expect(first).toBeGreaterThanOrEqual(30)
    bench.move(10 * minute)
    // Another job changes. The run then has a newer observation, but it does not concern the waiting job.
    await bench.run(event('running', {}, [job(2, 'lint', 'success', { started: 1, finished: 9 })], {}, 1))
    bench.move(minute)
    bench.receiver.clear()
    await bench.flushed(flush)
    expect(bench.latest(active)).toEqual({ '3: pending gpu': 1, '3: running docker': 0 })
    expect(bench.latest(oldest)['3: gpu']).toBeGreaterThanOrEqual(first + 11 * 60)
    await bench.run(event('running', {}, [job(1, 'test', 'running', { started: 700 }, { tags: ['gpu'] })], {}, 1))
    bench.receiver.clear()
    await bench.flushed(flush)
    expect(bench.latest(oldest)).toEqual({ '3: gpu': 0 })
    expect(bench.latest(active)).toMatchObject({ '3: running gpu': 1, '3: pending gpu': 0 })
  })

  it('exports metrics of active runs as cumulative, and flushes only these if the temporality is delta', async () => {
    await bench.run(event('running', {}, [], {}, 1), pipeline(9))
    bench.start({ destinations: [bench.destination('default', 'delta')] })
    await bench.receiver.until(() => bench.receiver.requests.length > 0)
    expect(bench.receiver.metrics).toMatchObject([
      { name: 'cicd.pipeline.run.active', kind: 'sum', temporality: 'cumulative', monotonic: false, unit: '{run}' },
    ])
  })
})
