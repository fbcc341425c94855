import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { Backend, ok, rpcStatus, type Behaviour, type Received } from './backend.ts'
import { destination, queueOf, listeningLog, openBench, maxWaitMs, range, sorted, type Bench } from './bench.ts'

let bench: Bench
let backend: Backend
beforeEach(async () => {
  bench = closeAfterTest(openBench())
  backend = closeAfterTest(await Backend.start())
})

describe('an export that the backend never accepts', () => {
  const whenAmong =
    (ids: readonly number[], then: Behaviour) =>
    (request: Received): Behaviour =>
      request.ids.some(id => ids.includes(id)) ? then : ok

  it.each([400, 413, 422])(
    'turns an export that is rejected with %i into a dead letter, and delivers the others once',
    async status => {
      await bench.enqueue(range(1, 64))
      backend.behave = whenAmong([23, 24, 61], { status, ...rpcStatus('attribute ci.x is not allowed') })
      const exporter = bench.exporter([destination(backend.url)])
      exporter.start()
      await backend.until(({ accepted }) => accepted.length === 61)
      await exporter.flush(maxWaitMs)
      expect(sorted(backend.accepted)).toEqual(range(1, 64).filter(id => ![23, 24, 61].includes(id)))
      const dead = await bench.store.outbox.deadLetters(10)
      expect(sorted(dead.map(({ pipelineId = 0 }) => pipelineId))).toEqual([23, 24, 61])
      for (const letter of dead) expect(letter).toMatchObject({ status, error: 'attribute ci.x is not allowed' })
      expect((await queueOf(exporter)).counters).toMatchObject({ delivered: 61, rejected: 3, later: 0 })
    },
  )

  it('resends an export when its dead letter is retried, and delivers it once the backend accepts it', async () => {
    await bench.enqueue(range(1, 4))
    backend.behave = whenAmong([3], { status: 400 })
    const exporter = bench.exporter([destination(backend.url)])
    exporter.start()
    await exporter.flush(maxWaitMs)
    backend.behave = () => ok
    expect(await bench.store.outbox.retryDead('all')).toBe(1)
    await exporter.flush(maxWaitMs)
    expect(sorted(backend.accepted)).toEqual([1, 2, 3, 4])
  })

  it.each<[string, Behaviour]>([
    ['a 5xx', { status: 500, ...rpcStatus('panic') }],
    ['a cut connection', 'cut'],
  ])(
    'resends an export in ever smaller requests after its batch failed five times with %s, and delivers the others once',
    async (_name, behaviour) => {
      await bench.enqueue(range(1, 20))
      backend.behave = whenAmong([5], behaviour)
      const exporter = bench.exporter([destination(backend.url)])
      exporter.start()
      await backend.until(({ accepted }) => accepted.length === 19)
      await exporter.flush(maxWaitMs)
      expect(sorted(backend.accepted)).toEqual(range(1, 20).filter(id => id !== 5))
      const withIt = backend.requests.filter(({ ids }) => ids.includes(5))
      // The export is sent five times with arbitrary others, then with three others, and then with one.
      expect(withIt.filter(({ ids }) => ids.length > 1).length).toBeLessThanOrEqual(7)

      // From now on the failing export affects no others: new exports are delivered while it keeps failing.
      await bench.enqueue(range(21, 40))
      exporter.wake()
      await backend.until(({ accepted }) => accepted.length === 39)
      expect(
        backend.requests
          .filter(({ ids }) => ids.includes(5))
          .slice(7)
          .every(({ ids }) => ids.length === 1),
      ).toBe(true)
      await expect.poll(async () => queueOf(exporter)).toMatchObject({ pending: 1, dead: 0 })

      backend.behave = () => ok
      await backend.until(({ accepted }) => accepted.includes(5))
    },
  )

  it('lengthens the back-off of a failing export with each failure', async () => {
    await bench.enqueue(range(1, 3))
    backend.behave = whenAmong([2], { status: 500 })
    const pauses = { first: 50, max: 2_000 }
    const exporter = bench.exporter([destination(backend.url)], { limits: { pauses } })
    exporter.start()
    await backend.until(({ requests }) => requests.filter(({ ids }) => ids.join() === '2').length === 5)
    const alone = backend.requests.filter(({ ids }) => ids.join() === '2').map(({ at }) => at)
    expect(alone[4]! - alone[3]!).toBeGreaterThanOrEqual(199)
  })

  it('sends one request per back-off interval while the whole backend fails', async () => {
    await bench.enqueue(range(1, 8))
    backend.behave = () => ({ status: 503 })
    const exporter = bench.exporter([destination(backend.url)], { limits: { pauses: { first: 300, max: 300 } } })
    exporter.start()
    await backend.until(({ requests }) => requests.length === 9)
    const { requests } = backend
    expect(requests.slice(0, 5).every(({ ids }) => ids.length === 8)).toBe(true)
    expect(requests.slice(5).every(({ ids }) => ids.length <= 4)).toBe(true)
    // There is a pause of at least 150 ms before each request.
    expect(requests.slice(1).every(({ at }, index) => at - requests[index]!.at >= 140)).toBe(true)
    backend.behave = () => ok
    await backend.until(({ accepted }) => accepted.length === 8)
    expect(sorted(backend.accepted)).toEqual(range(1, 8))
  })
})

describe('a destination that rejects everything', () => {
  const refusal: Behaviour = { status: 400, headers: { 'content-type': 'text/plain' }, body: 'unknown path' }

  it('trips the circuit breaker if a destination rejects everything, logs this once, probes with small batches, and loses nothing', async () => {
    await bench.enqueue(range(1, 50))
    const { log, lines } = listeningLog()
    backend.behave = () => refusal
    const exporter = bench.exporter([destination(backend.url)], { log })
    exporter.start()
    await expect.poll(async () => (await queueOf(exporter)).cause).toBe('unacceptable')
    // A batch of eight is halved repeatedly until each export is sent alone. After that, probes have at most four exports.
    await backend.until(({ requests }) => requests.length > 15 + 14)
    expect(backend.requests[0]?.ids).toHaveLength(8)
    expect(backend.requests.slice(15).every(({ ids }) => ids.length <= 4)).toBe(true)
    expect(await queueOf(exporter)).toMatchObject({
      dead: 0,
      pending: 50,
      lastError: { message: 'unknown path', status: 400 },
    })
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1)

    backend.behave = () => ok
    await backend.until(({ accepted }) => accepted.length === 50)
    await exporter.flush(maxWaitMs)
    expect(sorted(backend.accepted)).toEqual(range(1, 50))
    expect(await queueOf(exporter)).toMatchObject({ state: 'closed', dead: 0, pending: 0 })
    expect(lines.filter(({ message }) => message.includes('circuit breaker closed'))).toHaveLength(1)
  })

  it('turns a rejected export into a dead letter as soon as another export is accepted', async () => {
    await bench.enqueue([1])
    backend.behave = request => (request.ids.includes(1) ? refusal : ok)
    const exporter = bench.exporter([destination(backend.url)])
    exporter.start()
    await expect.poll(async () => (await queueOf(exporter)).cause).toBe('unacceptable')
    expect(await queueOf(exporter)).toMatchObject({ dead: 0, pending: 1 })
    await bench.enqueue([2])
    exporter.wake()
    await backend.until(({ accepted }) => accepted.includes(2))
    await expect.poll(async () => (await queueOf(exporter)).dead).toBe(1)
    expect((await bench.store.outbox.deadLetters(1))[0]).toMatchObject({ pipelineId: 1, error: 'unknown path' })
  })
})
