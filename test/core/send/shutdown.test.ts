import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { Backend, ok } from './backend.ts'
import { createMetricFlush } from '../../../src/core/send/metric-flush.ts'
import { destination, queueOf, openBench, maxWaitMs, range, sorted, traces, type Bench } from './bench.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'

let bench: Bench
let backend: Backend
beforeEach(async () => {
  bench = closeAfterTest(openBench())
  backend = closeAfterTest(await Backend.start())
})

describe('stopping the exporter', () => {
  it('stops the exporter within its deadline even if the backend hangs, and releases all leases', async () => {
    backend.behave = () => 'hang'
    await bench.enqueue(range(1, 30))
    const exporter = bench.exporter([destination(backend.url, { timeoutMs: 3_600_000 })])
    exporter.start()
    await backend.until(({ requests }) => requests.length === 1)
    await exporter.stop(300)
    const { counters } = await queueOf(exporter)
    expect(counters).toMatchObject({ repeated: 8, delivered: 0 })
    // No export is leased any more, so another process could send all of them now.
    const due = async () => (await bench.store.outbox.lease(traces, 100, 0)).items.length
    await expect.poll(due).toBe(30)
  })

  it('completes requests in flight when the exporter stops, and starts no new ones', async () => {
    await bench.enqueue(range(1, 30))
    let answer: (() => void) | undefined
    backend.behave = async () => {
      await new Promise<void>(resolve => (answer = resolve))
      return ok
    }
    const exporter = bench.exporter([destination(backend.url)])
    exporter.start()
    await expect.poll(() => answer !== undefined).toBe(true)
    const stopped = exporter.stop(maxWaitMs)
    answer?.()
    await stopped
    expect(backend.requests).toHaveLength(1)
    expect(await queueOf(exporter)).toMatchObject({ pending: 22, counters: { delivered: 8, repeated: 0 } })
  })

  it('leaves exactly the undelivered exports to the next start', async () => {
    await bench.enqueue(range(1, 500))
    const limits = { batchItems: 10, pauses: { first: 20, max: 80 } }
    const first = bench.exporter([destination(backend.url)], { limits })
    first.start()
    await backend.until(({ accepted }) => accepted.length >= 60)
    await first.stop(maxWaitMs)
    const second = bench.exporter([destination(backend.url)], { limits })
    second.start()
    await backend.until(({ accepted }) => accepted.length >= 500)
    await second.flush(maxWaitMs)
    expect(sorted(backend.accepted)).toEqual(range(1, 500))
  })
})

describe('stopping the metric flush', () => {
  it('leaves the flush to another replica, even if the stopped replica is woken afterwards', async () => {
    const { totals, repositories, leases } = bench.store
    const flush = createMetricFlush({
      ...{ ...repositories, totals, leases, destinations: [], settings: telemetrySettings({ profiles }) },
      ...{ profile: 'generic', interval: 60_000, clock: systemClock, log: silentLog() },
    })
    flush.start()
    await flush.finish(maxWaitMs)
    flush.wake()
    // A flush that had been woken would take its lease within these turns of the event loop.
    for (let turns = 0; turns < 20; turns += 1) await nextTurn()
    expect(await leases.take('metric-flush', 'another replica', 60_000)).toBe(true)
  })
})

describe('flushing the exporter', () => {
  it('does not wait for a backend that accepts nothing', async () => {
    backend.behave = () => ({ status: 503, headers: { 'retry-after': '600' } })
    const exporter = bench.exporter([destination(backend.url)])
    exporter.start()
    await bench.enqueue(range(1, 5))
    await exporter.flush(3_600_000)
    expect(await queueOf(exporter)).toMatchObject({ pending: 5 })
  })

  it('ends a flush of the exporter at its deadline', async () => {
    backend.behave = () => 'hang'
    const exporter = bench.exporter([destination(backend.url, { timeoutMs: 3_600_000 })])
    exporter.start()
    await bench.enqueue([1])
    await exporter.flush(200)
    expect(await queueOf(exporter)).toMatchObject({ pending: 1 })
  })
})
