// The intake on a real store, where one delivery or the store itself fails.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { DataError, StoreError } from '../../src/lib/fault.ts'
import { withoutVariables } from '../../src/platform/webhook/without-variables.ts'
import { type Intake } from '../../src/processing/intake.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import type { Runs } from '../../src/store/ports/runs.ts'
import type { Store } from '../../src/store/ports/store.ts'
import { instance, t0, intakeOf } from '../flow/world.ts'

let store: Store
let intake: Intake

/** How often in a row a process died while it read what is leased. */
let deaths: number
let redact: (body: Uint8Array, onlyBeginning: boolean) => Uint8Array | Promise<Uint8Array>

/** Deliveries of each transaction. */
let taken: number[]

/** What is thrown for a transaction about these pipelines, if anything. */
let failure: (pipelineIds: readonly number[]) => Error | undefined
const outage = new StoreError('It cannot be written.', 'See the disk.')

/** The store's clock: leases run out by it. */
let now: number
const afterTheLease = 20_000

beforeEach(() => {
  failure = () => undefined
  deaths = 0
  redact = body => body
  now = t0
  taken = []
  store = closeAfterTest(openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 }))
  const runs: Runs = {
    ...store.runs,
    transact: async (work, processed) => {
      const error = failure(work.map(({ key }) => key.pipelineId))
      if (error !== undefined) throw error
      taken.push(processed?.ids.length ?? 0)
      return store.runs.transact(work, processed)
    },
  }
  intake = intakeOf(store, {
    inbox: {
      ...store.inbox,
      lease: async (...limits) => {
        const lease = await store.inbox.lease(...limits)
        return { ...lease, items: lease.items.map(item => ({ ...item, ...(deaths > 0 && { deaths }) })) }
      },
    },
    runs,
    redact: (body, onlyBeginning) => redact(body, onlyBeginning),
    clock: { now: () => t0, sleep: async () => undefined },
  })
})
async function post(...pipelineIds: number[]): Promise<void> {
  await postAs('success', ...pipelineIds)
}

async function postAs(status: string, ...pipelineIds: number[]): Promise<void> {
  await postWith('', status, ...pipelineIds)
}

/** `message`: of the commit, as long as the delivery is to be. */
async function postWith(message: string, status: string, ...pipelineIds: number[]): Promise<void> {
  await store.inbox.put(
    pipelineIds.map((id, number) => ({
      key: `delivery ${number} of ${id}`,
      event: 'Pipeline Hook',
      instance,
      source: 'webhook' as const,
      body: Buffer.from(
        JSON.stringify({
          object_kind: 'pipeline',
          object_attributes: { id, status, ref: 'main', created_at: '2026-06-01 12:00:00 UTC' },
          project: { id: 3, name: 'shop', path_with_namespace: 'acme/shop', web_url: `${instance}/acme/shop` },
          commit: { id: 'abc', message },
          builds: [],
        }),
      ),
    })),
  )
}

describe('the intake', () => {
  const known = async (pipelineId: number): Promise<boolean> =>
    (await store.runs.get({ instance, pipelineId })) !== undefined

  it('has counted nothing before the first delivery', () => {
    expect(new Set(Object.values(intake.counters))).toEqual(new Set([0]))
  })

  it.each([new DataError('It does not fit.', 'Please report it.'), new TypeError('It does not fit.')])(
    'quarantines a delivery that causes an error (%o), with its reason, so that others continue',
    async error => {
      failure = ids => (ids.includes(2) ? error : undefined)
      await post(1, 2, 3)
      await intake.drain()
      expect([await known(1), await known(3)]).toEqual([true, true])
      expect(await store.inbox.state()).toMatchObject({ waiting: 0, quarantined: 1 })
      expect(intake.counters).toMatchObject({ processed: 2, unparseable: 1 })
      const [kept] = await store.inbox.listQuarantined(1)
      expect(kept?.reason).toContain('It does not fit.')
      failure = () => undefined
      await store.inbox.retryQuarantined('all')
      await intake.drain()
      expect(await known(2)).toBe(true)
    },
  )

  it.each([
    [3, 'redacted'],
    [4, 'cut to its beginning, as redacting it may be what kills'],
  ])('quarantines a delivery whose reader crashed %i times in a row, %s', async (times, how) => {
    deaths = times
    redact = (body, onlyBeginning) => (onlyBeginning ? withoutVariables(body, true) : Buffer.from('redacted'))
    await postWith('x'.repeat(10_000), 'success', 1)
    await intake.drain()
    const [{ id } = { id: 0 }] = await store.inbox.listQuarantined(1)
    const body = Buffer.from((await store.inbox.showQuarantined(id))!.body).toString()
    if (how === 'redacted') expect(body).toBe('redacted')
    else expect([body.startsWith('{'), body.length <= 4_096]).toEqual([true, true])
  })

  it('quarantines a delivery that causes an error when it is alone in its batch, too', async () => {
    failure = () => new RangeError('It does not fit.')
    await post(1)
    await intake.drain()
    expect(await store.inbox.state()).toMatchObject({ waiting: 0, quarantined: 1 })
  })

  it('leaves everything in the inbox, uncounted, while the store accepts nothing', async () => {
    failure = () => outage
    await post(1, 2, 3)
    await expect(intake.drain()).rejects.toThrow('It cannot be written.')
    expect(await store.inbox.state()).toMatchObject({ waiting: 3, quarantined: 0 })
    expect(intake.counters).toMatchObject({ processed: 0, unparseable: 0 })
    failure = () => undefined
    now += afterTheLease
    await intake.drain()
    expect(await store.inbox.state()).toMatchObject({ waiting: 0, quarantined: 0 })
    expect(intake.counters).toMatchObject({ processed: 3, unparseable: 0 })
  })

  it('leaves everything in the inbox if every one of several fails, because then no single delivery is the cause', async () => {
    failure = () => new DataError('It does not fit.', 'Please report it.')
    await post(1, 2, 3)
    await expect(intake.drain()).rejects.toThrow('It does not fit.')
    expect(await store.inbox.state()).toMatchObject({ waiting: 3, quarantined: 0 })
  })

  it('quarantines nothing and counts nothing twice while the store fails now and then', async () => {
    let asked = 0
    failure = () => ((asked += 1) % 3 === 0 ? undefined : outage)
    const ids = Array.from({ length: 40 }, (_, at) => at + 1)
    await post(...ids)
    let failures = 0
    while ((await store.inbox.state()).waiting > 0) {
      expect((await store.inbox.state()).quarantined).toBe(0)
      await intake.drain().catch(() => (failures += 1))
      now += afterTheLease
    }
    expect(failures).toBeGreaterThan(0)
    expect(await store.inbox.state()).toMatchObject({ waiting: 0, quarantined: 0 })
    expect(intake.counters).toMatchObject({ processed: ids.length, unparseable: 0, lost: 0 })
    expect((await store.runs.count()).runs).toBe(ids.length)
  })

  it('retries a delivery that the store keeps refusing ever more rarely, without delaying others', async () => {
    let asked = 0
    failure = ids => {
      if (!ids.includes(2)) return undefined
      asked += 1
      return outage
    }
    await post(1, 2, 3)
    await expect(intake.drain()).rejects.toThrow('It cannot be written.')
    expect([await known(1), await known(2), await known(3)]).toEqual([true, false, true])
    asked = 0
    taken = []
    for (let round = 1; round <= 40; round += 1) {
      now += afterTheLease
      await post(100 + round, 200 + round)
      await intake.drain().catch(() => undefined)
    }
    // The others go together: it is not among them.
    expect(taken).toEqual(Array.from({ length: 40 }, () => 2))
    expect(asked).toBeGreaterThan(3)
    expect(asked).toBeLessThan(10)
    expect(await store.inbox.state()).toMatchObject({ waiting: 1, quarantined: 0 })
    failure = () => undefined
    await expect
      .poll(async () => {
        now += afterTheLease
        await intake.drain()
        return known(2)
      })
      .toBe(true)
  })

  it('processes many small deliveries of few runs in one transaction, but fewer large ones or of many runs', async () => {
    const ofRuns = (runs: number, deliveries: number): number[] =>
      Array.from({ length: deliveries }, (_, n) => 1 + (n % runs))
    const most = store.runsPerTransaction
    await post(...ofRuns(5, 6 * most))
    await intake.drain()
    expect(taken).toEqual([4 * most, 2 * most])
    taken = []
    await postWith('x'.repeat(25_000), 'running', ...ofRuns(5, 2.5 * most).map(id => 100 + id))
    await intake.drain()
    expect(taken).toEqual([most, most, most / 2])
    taken = []
    await post(...ofRuns(2 * most + 1, 2 * most + 1).map(id => 200 + id))
    await intake.drain()
    // Nothing is taken in alone: then nobody could tell whether it or the store is to blame when that fails.
    expect(taken).toEqual([most, most + 1])
  })

  it('accepts and counts a status that only a newer platform knows', async () => {
    await postAs('awaiting_quota', 1)
    await post(2)
    await intake.drain()
    expect((await store.runs.get({ instance, pipelineId: 1 }))?.run.pipeline?.record.facts.status).toBe(
      'awaiting_quota',
    )
    expect(intake.counters).toMatchObject({ processed: 2, unknownStatuses: 1 })
  })
})
