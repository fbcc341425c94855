// Tests how pending exports are batched, sent, delayed, resent and counted.
import { decodeMetrics } from '../../support/otlp-decode.ts'
import { encodeMetrics } from '../../../src/core/telemetry/encode.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { Backend, encoderWith, ok, partialSuccess, rpcStatus, type Behaviour, type Received } from './backend.ts'
import {
  damaging,
  destination,
  endpoint,
  queueOf,
  listeningLog,
  openBench,
  maxWaitMs,
  range,
  sorted,
  traces,
  type Bench,
} from './bench.ts'

describe('pending exports', () => {
  let bench: Bench
  let backend: Backend

  beforeEach(async () => {
    bench = closeAfterTest(openBench())
    backend = closeAfterTest(await Backend.start())
  })
  const allArrived = (count: number) => (of: Backend) => of.accepted.length >= count

  it('delivers each export once, batching many into one request', async () => {
    await bench.enqueue(range(1, 300))
    const exporter = bench.exporter([destination(backend.url)])
    exporter.start()
    await backend.until(allArrived(300))
    await exporter.flush(maxWaitMs)
    expect(sorted(backend.accepted)).toEqual(range(1, 300))
    expect(backend.requests.length).toBeLessThan(20)
    expect(await queueOf(exporter)).toMatchObject({
      state: 'closed',
      pending: 0,
      counters: { delivered: 300, repeated: 0 },
    })
  })

  it('sends exports as soon as they are pending and the queue is woken', async () => {
    // In this test, no pause of the exporter ends by itself.
    const sleep: Clock['sleep'] = async (_ms, signal) => systemClock.sleep(3_600_000, signal)
    const exporter = bench.exporter([destination(backend.url)], { clock: { ...systemClock, sleep } })
    exporter.start()
    await exporter.flush(maxWaitMs)
    for (const id of range(1, 5)) {
      await bench.enqueue([id])
      exporter.wake()
      await backend.until(allArrived(id))
    }
  })

  it('batches exports up to the maximum request size, and sends a larger export on its own', async () => {
    bench.encode(encoderWith(id => (id === 7 ? 50_000 : 900)))
    await bench.enqueue(range(1, 30))
    const exporter = bench.exporter([destination(backend.url)], {
      limits: { batchBytes: 10_000, pauses: { first: 20, max: 80 } },
    })
    exporter.start()
    await backend.until(allArrived(30))
    expect(sorted(backend.accepted)).toEqual(range(1, 30))
    const large = backend.requests.filter(({ bytes }) => bytes > 10_000)
    expect(large.map(({ ids }) => ids)).toEqual([[7]])
  })

  it('turns exports with corrupt stored bytes into dead letters, and delivers the others', async () => {
    const { outbox } = bench.store
    await bench.enqueue(range(1, 9))
    const exporter = bench.exporter([destination(backend.url)], { outbox: damaging(outbox, 4) })
    exporter.start()
    await backend.until(allArrived(8))
    await exporter.flush(maxWaitMs)
    const dead = await outbox.deadLetters(10)
    expect(dead).toMatchObject([{ pipelineId: 4, status: 0, error: 'not sent: the stored data is damaged' }])
  })

  const passing: [string, Behaviour][] = [
    ...[301, 307, 404, 405, 408, 415, 429, 500, 502, 503, 504].map((status): [string, Behaviour] => [
      `HTTP ${status}`,
      { status, ...rpcStatus('come back later') },
    ]),
    ['a cut connection', 'cut'],
  ]
  it.each(passing)('waits until %s is over, and then delivers all exports', async (_name, behaviour) => {
    await bench.enqueue(range(1, 20))
    backend.behave = (_request, index) => (index < 3 ? behaviour : ok)
    const exporter = bench.exporter([destination(backend.url)])
    exporter.start()
    await backend.until(allArrived(20))
    await exporter.flush(maxWaitMs)
    expect(sorted(backend.accepted)).toEqual(range(1, 20))
    const { counters, state } = await queueOf(exporter)
    expect(state).toBe('closed')
    expect(counters).toMatchObject({ delivered: 20, rejected: 0, lost: 0 })
    expect(counters.repeated > 0).toBe(behaviour === 'cut')
    // Only small batches are sent until a request is accepted.
    expect(backend.requests.slice(0, 4).every(({ ids }) => ids.length <= 8)).toBe(true)
  })

  it.each([
    ['seconds', () => ['1', Date.now() + 990]],
    [
      'a date',
      () => {
        const date = new Date(Date.now() + 2_000).toUTCString()
        return [date, Date.parse(date) - 10]
      },
    ],
  ] as [string, () => [string, number]][])(
    "waits as long as the backend's Retry-After header requires, given as %s",
    async (_form, retryAfter) => {
      await bench.enqueue(range(1, 3))
      let due = Infinity
      backend.behave = (_request, index) => {
        if (index > 0) return ok
        const [header, at] = retryAfter()
        due = at
        return { status: 503, headers: { 'retry-after': header } }
      }
      const exporter = bench.exporter([destination(backend.url)])
      exporter.start()
      await backend.until(({ requests }) => requests.length === 1)
      // A new pending export does not shorten the pause.
      await bench.enqueue([4])
      exporter.wake()
      await backend.until(allArrived(4))
      expect(backend.requests[1]!.at).toBeGreaterThanOrEqual(due)
    },
  )

  it('delays exports that are already leased when another request gets a Retry-After', async () => {
    await bench.enqueue([1])
    const limits = { batchItems: 20, batchBytes: 1, inFlight: 3, pauses: { first: 20, max: 80 } }
    const exporter = bench.exporter([destination(backend.url)], { limits })
    exporter.start()
    await exporter.flush(maxWaitMs)
    backend.behave = (_request, index) => (index === 6 ? { status: 429, headers: { 'retry-after': '600' } } : ok)
    await bench.enqueue(range(2, 60))
    await exporter.flush(maxWaitMs)
    // There is one request per export. Requests that are in flight at the first rejection are completed, and no further ones are sent.
    expect(backend.requests.length).toBeGreaterThan(6)
    expect(backend.requests.length).toBeLessThanOrEqual(7 + 3)
    const due = await bench.store.outbox.lease(traces, 100, 1_000)
    expect(due.items.length).toBeGreaterThanOrEqual(60 - 7 - 3)
  })

  it('resends exports with identical bytes if the response was lost, and counts them as repeated', async () => {
    await bench.enqueue(range(1, 5))
    backend.behave = (_request, index) => (index === 0 ? 'cut' : ok)
    const exporter = bench.exporter([destination(backend.url)])
    exporter.start()
    await backend.until(allArrived(5))
    await exporter.flush(maxWaitMs)
    const [lost, again] = backend.requests
    expect(again!.body).toEqual(lost!.body)
    expect((await queueOf(exporter)).counters).toMatchObject({ repeated: 5, delivered: 5 })
  })

  it('counts, shows and logs partially accepted exports once, and does not resend them', async () => {
    await bench.enqueue([1])
    const { log, lines } = listeningLog()
    backend.behave = () => partialSuccess(2, 'attribute too long')
    const exporter = bench.exporter([destination(backend.url)], { log })
    exporter.start()
    await backend.until(allArrived(1))
    await bench.enqueue([2])
    await exporter.flush(maxWaitMs)
    expect(backend.requests).toHaveLength(2)
    expect(await queueOf(exporter)).toMatchObject({
      pending: 0,
      dead: 0,
      lastError: { message: 'attribute too long' },
      counters: { delivered: 2, partiallyRejected: 4 },
    })
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })

  it('limits the number of requests in flight', async () => {
    await bench.enqueue(range(1, 60))
    let now = 0
    let most = 0
    let areThree: () => void = () => undefined
    const three = new Promise<void>(resolve => (areThree = resolve))
    backend.behave = async (_request: Received, index) => {
      now += 1
      most = Math.max(most, now)
      if (now === 3) areThree()
      // The first request is sent alone, because nothing has been accepted yet. After that, no request gets a response until three are in flight.
      if (index > 0) await three
      await new Promise(resolve => setTimeout(resolve, 20))
      now -= 1
      return ok
    }
    const limits = { batchItems: 5, inFlight: 3, pauses: { first: 20, max: 80 } }
    const exporter = bench.exporter([destination(backend.url)], { limits })
    exporter.start()
    await backend.until(allArrived(60))
    expect(most).toBe(3)
    expect(sorted(backend.accepted)).toEqual(range(1, 60))
  })

  it('queues exports per destination and signal, so that an unreachable destination does not delay others', async () => {
    const down = await Backend.start()
    down.behave = () => 'hang'
    const signals = {
      traces: endpoint(`${backend.url}/v1/traces`),
      logs: endpoint(`${backend.url}/v1/logs`),
    }
    const to = [
      traces,
      { destination: 'default', signal: 'logs' as const },
      { destination: 'other', signal: 'traces' as const },
    ]
    await bench.enqueue(range(1, 40), to)
    const exporter = bench.exporter([
      destination(down.url, { name: 'other', timeoutMs: 3_600_000 }),
      destination('', { signals }),
    ])
    exporter.start()
    await backend.until(allArrived(80))
    const of = (path: string): number[] =>
      sorted(backend.requests.filter(request => request.path === path).flatMap(({ ids }) => ids))
    expect(of('/v1/traces')).toEqual(range(1, 40))
    expect(of('/v1/logs')).toEqual(range(1, 40))
    expect(await queueOf(exporter, 'other')).toMatchObject({ pending: 40 })
    await exporter.stop(100)
    await down.close()
  })

  it('counts exports, and measures how long their requests take', async () => {
    await bench.enqueue(range(1, 3))
    const requested: unknown[] = []
    const exporter = bench.exporter([destination(backend.url)], {
      meters: {
        requested: (queue, { as, items }) => requested.push([queue.destination, as, items]),
      },
    })
    exporter.start()
    await exporter.flush(maxWaitMs)
    const [queue] = await exporter.status()
    expect(queue?.counters).toMatchObject({ delivered: 3, repeated: 0 })
    expect(requested).toEqual([['default', 'delivered', 3]])
  })

  it('counts all pipelines of the same millisecond in one data point of delta metrics, and each pipeline once if the request is split', async () => {
    const settings = telemetrySettings({ profiles })
    bench.encode(chunk => encodeMetrics([chunk], settings))
    await bench.enqueue(range(1, 8), [{ destination: 'default', signal: 'metrics' }])
    const accepted: Buffer[] = []
    backend.behave = ({ body }, index) => {
      if (index === 0) return { status: 413 }
      accepted.push(body)
      return { status: 200 }
    }
    const exporter = bench.exporter([destination('', { signals: { metrics: endpoint(`${backend.url}/v1/metrics`) } })])
    exporter.start()
    await exporter.flush(maxWaitMs)
    await backend.until(() => accepted.length === 2)
    const counted = accepted.map(body => {
      const received = decodeMetrics(body)
      for (const { points } of received) {
        const keys = points.map(({ attributes, nanos }) => JSON.stringify([attributes, String(nanos)]))
        expect(new Set(keys).size).toBe(keys.length)
      }
      return received.flatMap(one =>
        one.kind === 'sum' && one.name === 'pipeline.status_total' ? [...one.points] : [],
      )
    })
    expect(counted.map(points => points.map(({ value, exemplars }) => [value, exemplars.length]))).toEqual([
      [[4, 4]],
      [[4, 4]],
    ])
  })
})
