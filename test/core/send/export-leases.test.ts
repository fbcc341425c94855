// Tests how an export queue leases its entries: for how long, and what it does after a lease was lost.
import { beforeEach, describe, expect, it } from 'vitest'
import { Backend } from './backend.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { damaging, destination, listeningLog, maxWaitMs, openBench, queueOf, range, type Bench } from './bench.ts'
import { systemClock } from '../../../src/lib/clock.ts'

describe('leased exports', () => {
  let bench: Bench
  let backend: Backend

  beforeEach(async () => {
    bench = closeAfterTest(openBench())
    backend = closeAfterTest(await Backend.start())
  })
  const allArrived = (count: number) => (of: Backend) => of.accepted.length >= count

  it('are settled after the process was suspended for longer than its lease and lost its connection', async () => {
    await bench.enqueue(range(1, 3))
    let slept = 0
    let refusals = 2
    const outbox = {
      ...bench.store.outbox,
      settle: async (...given: Parameters<typeof bench.store.outbox.settle>) => {
        slept = 3_600_000
        refusals -= 1
        if (refusals >= 0) throw new Error('connection closed')
        return bench.store.outbox.settle(...given)
      },
    }
    const clock = { ...systemClock, now: () => Date.now() + slept }
    const exporter = bench.exporter([destination(backend.url)], { outbox, clock })
    exporter.start()
    await backend.until(allArrived(3))
    await exporter.flush(maxWaitMs)
    expect(await queueOf(exporter)).toMatchObject({ pending: 0, counters: { delivered: 3 } })
    expect(backend.requests).toHaveLength(1)
  })

  it('are counted and left to the new holder if their lease was lost', async () => {
    await bench.enqueue([1])
    const stolen = { ...bench.store.outbox, settle: async () => ({ lost: 1, at: 0 }) }
    const exporter = bench.exporter([destination(backend.url)], { outbox: stolen })
    exporter.start()
    await backend.until(allArrived(1))
    await exporter.flush(maxWaitMs)
    expect((await queueOf(exporter)).counters).toMatchObject({ lost: 1, delivered: 0 })
  })

  it('do not become dead letters if they are rejected after their lease was lost: another replica decides', async () => {
    await bench.enqueue([1])
    const { log, lines } = listeningLog()
    const stolen = { ...damaging(bench.store.outbox, 1), settle: async () => ({ lost: 1, at: 0 }) }
    const exporter = bench.exporter([destination(backend.url)], {
      outbox: stolen,
      log,
    })
    exporter.start()
    await expect.poll(async () => (await queueOf(exporter)).counters.lost, { timeout: maxWaitMs }).toBe(1)
    await exporter.stop(maxWaitMs)
    expect(lines.map(({ message }) => message).filter(message => message.includes('dead letter'))).toEqual([])
    expect(lines.map(({ message }) => message).join()).toContain('another replica has taken over')
  })

  it('stay leased for longer than two requests with two timeouts each', async () => {
    await bench.enqueue([1])
    const leases: number[] = []
    const { outbox } = bench.store
    const noting: typeof outbox = {
      ...outbox,
      lease: async (queue, limit, leaseMs, maxBytes) => {
        leases.push(leaseMs)
        return outbox.lease(queue, limit, leaseMs, maxBytes)
      },
    }
    const exporter = bench.exporter([destination(backend.url, { timeoutMs: 60_000 })], { outbox: noting })
    exporter.start()
    await backend.until(allArrived(1))
    await exporter.flush(maxWaitMs)
    expect(Math.min(...leases)).toBeGreaterThan(2 * 2 * 60_000)
  })
})
