// Tests how deliveries are taken in on a real store if one delivery, or the store itself, fails: which deliveries share a transaction, and how and
// when they are answered.
import fc from 'fast-check'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { DataError, StoreError } from '../../../src/lib/fault.ts'
import { openSqlite } from '../../support/stores.ts'
import { runs } from '../../full.ts'
import { withoutVariables } from '../../../src/platform/webhook/parse-delivery.ts'
import { instance, t0, takeInOf } from '../../flow/world.ts'
import type { Delivery, TakeIn, TakenIn } from '../../../src/core/take-in/take-in.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

let store: Store
let takeIn: TakeIn
/** The keys of the deliveries in each committed transaction. */
let committed: (readonly (string | undefined)[])[]
/** Number of transactions that were requested. */
let begun: number
/** Each transaction waits for this promise. */
let gate: Promise<unknown>
/** Returns the error that a transaction with these keys throws, if any. */
let failure: (keys: readonly (string | undefined)[]) => Error | undefined
let full: boolean
const memory = { now: () => t0, maxSize: 2 ** 30 }
const outage = new StoreError('It cannot be written.', 'See the disk.')

beforeEach(() => {
  store = closeAfterTest(openSqlite(':memory:', memory))
  committed = []
  begun = 0
  gate = Promise.resolve()
  failure = () => undefined
  full = false
  takeIn = takeInOf(failing(store), { redact: withoutVariables })
})

function failing(real: Store): Store {
  return {
    ...real,
    isFull: async () => full,
    runs: {
      ...real.runs,
      takeIn: async taking => {
        begun += 1
        await gate
        const error = failure(taking.keys)
        if (error !== undefined) throw error
        const areNew = await real.runs.takeIn(taking)
        committed.push(taking.keys)
        return areNew
      },
    },
  }
}

function delivery(pipelineId: number, more: { key?: string; status?: string; source?: 'redelivery' } = {}): Delivery {
  const { key = `of ${pipelineId}`, status = 'running', source = 'webhook' } = more
  const body = {
    object_kind: 'pipeline',
    object_attributes: { id: pipelineId, status, ref: 'main', created_at: '2026-06-01 12:00:00 UTC' },
    project: { id: 3, name: 'shop', path_with_namespace: 'acme/shop', web_url: `${instance}/acme/shop` },
    builds: [],
  }
  return { key, event: 'Pipeline Hook', instance, source, body: Buffer.from(JSON.stringify(body)) }
}

function undecodable(key: string): Delivery {
  const variables = [{ key: 'PASSWORD', value: 'planted-value' }]
  const body = Buffer.from(JSON.stringify({ object_kind: 'pipeline', object_attributes: { variables } }))
  return { key, event: 'Pipeline Hook', instance, source: 'webhook', body }
}

/** Takes in all deliveries. Resolves with the outcome or the error of each delivery. */
async function takeAll(...deliveries: readonly Delivery[]): Promise<(TakenIn | Error)[]> {
  return Promise.all(deliveries.map(async one => takeIn.take(one).catch((error: unknown) => error as Error)))
}

/** Makes all transactions wait. Returns a function that lets them continue. */
function holdCommits(): () => void {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  gate = promise
  return () => resolve(undefined)
}

async function isKnown(pipelineId: number): Promise<boolean> {
  return (await store.runs.get({ instance, pipelineId })) !== undefined
}

describe('a delivery', () => {
  it('answers a delivery only after the transaction with its run has been committed', async () => {
    const open = holdCommits()
    let outcome: TakenIn | undefined
    const answered = takeIn.take(delivery(1)).then(taken => (outcome = taken))
    await expect.poll(() => begun).toBe(1)
    expect([outcome, await isKnown(1)]).toEqual([undefined, false])
    open()
    expect([await answered, await isKnown(1)]).toEqual(['accepted', true])
    expect(takeIn.counters).toMatchObject({ processed: 1, unparseable: 0 })
  })

  it('takes in all deliveries that arrive during a transaction together in the next one', async () => {
    const open = holdCommits()
    const first = takeIn.take(delivery(1))
    await expect.poll(() => begun).toBe(1)
    const others = takeAll(delivery(2), delivery(3), delivery(4))
    open()
    expect([await first, ...(await others)]).toEqual(Array.from({ length: 4 }, () => 'accepted'))
    expect(committed).toEqual([['of 1'], ['of 2', 'of 3', 'of 4']])
  })

  it('limits the deliveries per transaction to twice the number of runs that a transaction may change', async () => {
    const most = 2 * store.runsPerTransaction
    await takeAll(...Array.from({ length: most + 1 }, (_, at) => delivery(at + 1)))
    expect(committed.map(keys => keys.length)).toEqual([most, 1])
  })

  it('treats a delivery as a duplicate without effect if another one with its key was accepted before or in the same transaction', async () => {
    const again = delivery(1, { key: 'a', status: 'failed' })
    expect(await takeAll(delivery(1, { key: 'a' }), again)).toEqual(['accepted', 'duplicate'])
    expect(await takeAll(again)).toEqual(['duplicate'])
    expect((await store.runs.get({ instance, pipelineId: 1 }))?.run.pipeline?.record.facts.status).toBe('running')
    expect(takeIn.counters).toMatchObject({ processed: 1 })
  })

  it('merges a webhook and a redelivery of the same pipeline into one run, which records both sources', async () => {
    await takeAll(delivery(1, { key: 'a' }), delivery(1, { key: 'b', status: 'success', source: 'redelivery' }))
    const known = await store.runs.get({ instance, pipelineId: 1 })
    expect(known?.firstSeenBy).toEqual({ webhook: t0, redelivery: t0 })
    expect(known?.run.pipeline?.record.facts.status).toBe('success')
  })

  it('answers a delivery with nothing to export immediately, even while the store does not respond', async () => {
    holdCommits()
    const push = {
      event: 'Push Hook',
      instance,
      source: 'webhook',
      body: Buffer.from('{"object_kind":"push"}'),
    } as const
    expect(await takeIn.take(push)).toEqual({ ignored: 'push' })
    expect(takeIn.counters).toMatchObject({ ignored: 1, processed: 0 })
  })

  it('accepts and counts a delivery with a status that only a newer platform knows', async () => {
    await takeAll(delivery(1, { status: 'awaiting_quota' }), delivery(2))
    const known = await store.runs.get({ instance, pipelineId: 1 })
    expect(known?.run.pipeline?.record.facts.status).toBe('awaiting_quota')
    expect(takeIn.counters).toMatchObject({ processed: 2, unknownStatuses: 1 })
  })

  it('answers and counts a delivery in the same way, and produces the same runs, whichever other deliveries arrive with it', async () => {
    const some = fc.record({
      id: fc.integer({ min: 1, max: 3 }),
      key: fc.integer({ min: 1, max: 8 }),
      status: fc.constantFrom('created', 'running', 'success'),
      isBad: fc.boolean(),
    })
    const property = fc.asyncProperty(fc.array(some, { maxLength: 12 }), async found => {
      const deliveries = found.map(({ id, key, status, isBad }) =>
        isBad ? undecodable(`key ${key}`) : delivery(id, { key: `key ${key}`, status }),
      )
      const [one, other] = [openSqlite(':memory:', memory), openSqlite(':memory:', memory)]
      const [together, inTurn] = [takeInOf(one), takeInOf(other)]
      const outcomes = await Promise.all(deliveries.map(async each => together.take(each)))
      const expected: TakenIn[] = []
      for (const each of deliveries) expected.push(await inTurn.take(each))
      expect(outcomes).toEqual(expected)
      expect(together.counters).toEqual(inTurn.counters)
      for (const pipelineId of [1, 2, 3]) {
        const key = { instance, pipelineId }
        expect((await one.runs.get(key))?.run).toEqual((await other.runs.get(key))?.run)
      }
      await one.close()
      await other.close()
    })
    await fc.assert(property, runs(100))
  })
})

describe('a bad delivery', () => {
  it('accepts an undecodable delivery, keeps it redacted with the reason, and takes in the other deliveries normally', async () => {
    expect(await takeAll(delivery(1), undecodable('bad'), delivery(2))).toEqual(['accepted', 'accepted', 'accepted'])
    expect([await isKnown(1), await isKnown(2)]).toEqual([true, true])
    const [kept, ...others] = await store.quarantine.list(10)
    expect(others).toEqual([])
    expect(kept).toMatchObject({ event: 'Pipeline Hook', instance, source: 'webhook', version: '1.0.0' })
    const body = Buffer.from((await store.quarantine.show(kept!.id))!.body).toString()
    expect(body).toContain('object_attributes')
    expect(body).not.toContain('planted-value')
    expect(takeIn.counters).toMatchObject({ processed: 2, unparseable: 1 })
  })

  it.each([new DataError('It does not fit.', 'Please report it.'), new TypeError('It does not fit.')])(
    'quarantines only the delivery that causes an error (%o), with its reason, and takes in the deliveries next to it',
    async error => {
      failure = keys => (keys.includes('of 2') ? error : undefined)
      expect(await takeAll(delivery(1), delivery(2), delivery(3))).toEqual(['accepted', 'accepted', 'accepted'])
      expect([await isKnown(1), await isKnown(2), await isKnown(3)]).toEqual([true, false, true])
      const [kept] = await store.quarantine.list(10)
      expect(kept?.reason).toContain('It does not fit.')
      expect(await store.quarantine.count()).toBe(1)
      expect(takeIn.counters).toMatchObject({ processed: 2, unparseable: 1 })
    },
  )

  it('rejects the rest of a group, without quarantine, if a bad delivery has used up the time for all of them', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    failure = keys => {
      if (!keys.includes('of 1')) return undefined
      vi.advanceTimersByTime(3_000)
      return new DataError('It does not fit.', 'Please report it.')
    }
    const [bad, rest] = await takeAll(delivery(1), delivery(2))
    expect([bad, await store.quarantine.count()]).toEqual(['accepted', 1])
    expect(rest).toMatchObject({ remedy: 'Check that the database is fast enough.' })
    expect(await takeAll(delivery(2))).toEqual(['accepted'])
    expect(await isKnown(2)).toBe(true)
  })

  it('decodes a delivery once when it is released from quarantine, and removes it from there on success', async () => {
    failure = keys => (keys.includes('of 2') ? new DataError('It does not fit.', 'Please report it.') : undefined)
    await takeAll(delivery(2))
    expect(await takeIn.retryQuarantined()).toBe(0)
    await store.quarantine.retry('all')
    expect(await takeIn.retryQuarantined()).toBe(1)
    expect([await isKnown(2), await store.quarantine.count(), await takeIn.retryQuarantined()]).toEqual([true, 0, 0])
  })

  it('quarantines a released delivery again if it causes another error, and takes in the other released ones', async () => {
    const isWithout = ([key]: readonly (string | undefined)[]): boolean => key === undefined
    let refused = 0
    failure = keys => (isWithout(keys) ? undefined : new DataError('It does not fit.', 'Please report it.'))
    await takeAll(delivery(1))
    await takeAll(delivery(2))
    await store.quarantine.retry('all')
    // Makes the first of the two quarantined deliveries fail again. A delivery that is retried from the quarantine has no key.
    failure = keys => (isWithout(keys) && (refused += 1) === 1 ? new DataError('Still not.', 'Report it.') : undefined)
    await takeIn.retryQuarantined()
    expect([await isKnown(1), await isKnown(2)]).toEqual([false, true])
    expect((await store.quarantine.list(10)).map(({ reason }) => reason)).toEqual([
      expect.stringContaining('Still not.'),
    ])
    expect(await takeIn.retryQuarantined()).toBe(0)
  })
})

describe('a store that fails or is full', () => {
  it('fails all deliveries of a group if the store cannot write, and quarantines, counts or records none of them', async () => {
    failure = () => outage
    const three = [delivery(1), delivery(2), delivery(3)]
    expect(await takeAll(...three)).toEqual([outage, outage, outage])
    expect(await store.quarantine.count()).toBe(0)
    expect(takeIn.counters).toMatchObject({ processed: 0, unparseable: 0 })
    failure = () => undefined
    expect(await takeAll(...three)).toEqual(['accepted', 'accepted', 'accepted'])
  })

  it('neither loses nor repeats a delivery if the store sometimes fails and senders retry', async () => {
    let asked = 0
    failure = () => ((asked += 1) % 3 === 0 ? undefined : outage)
    let left = Array.from({ length: 40 }, (_, at) => delivery(at + 1))
    while (left.length > 0) {
      const outcomes = await takeAll(...left)
      left = left.filter((_, at) => outcomes[at] instanceof Error)
    }
    expect(asked).toBeGreaterThan(3)
    expect(takeIn.counters).toMatchObject({ processed: 40, unparseable: 0 })
    expect([(await store.runs.count()).runs, await store.quarantine.count()]).toEqual([40, 0])
  })

  it('fails a bad delivery that the store cannot even quarantine, so that it is sent again', async () => {
    failure = ([key]) => (key === undefined ? outage : new DataError('It does not fit.', 'Please report it.'))
    expect(await takeAll(delivery(1))).toEqual([outage])
  })

  it('takes in nothing while the store is full, and does not treat a delivery that is resent later as a duplicate', async () => {
    full = true
    expect(await takeAll(delivery(1), undecodable('bad'))).toEqual(['full', 'full'])
    expect([committed, await store.quarantine.count()]).toEqual([[], 0])
    full = false
    expect(await takeAll(delivery(1))).toEqual(['accepted'])
  })

  it('fails deliveries if the store does not respond within 5 s, and deduplicates the stored ones when they are resent', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const open = holdCommits()
    const first = takeAll(delivery(1))
    while (begun === 0) await new Promise(setImmediate)
    const second = takeAll(delivery(2))
    await new Promise(setImmediate)
    vi.advanceTimersByTime(5_000)
    for (const [error] of [await first, await second]) {
      expect(error).toBeInstanceOf(StoreError)
      expect((error as Error).message).toContain('has not answered within 5 s')
    }
    open()
    await takeIn.drain()
    // The second delivery was still queued, so its transaction was not started.
    expect(committed).toEqual([['of 1']])
    expect(await takeAll(delivery(1), delivery(2))).toEqual(['duplicate', 'accepted'])
  })
})
