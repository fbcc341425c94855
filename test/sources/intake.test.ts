// The intake on a real store, where one delivery or the store itself is in trouble.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StoreError } from '../../src/lib/fault.ts'
import { silentLog } from '../../src/lib/log.ts'
import { parseDelivery } from '../../src/platform/parse-delivery.ts'
import { profiles } from '../../src/platform/profile.ts'
import { createFreezer } from '../../src/sources/freezer.ts'
import { createIntake, type Intake } from '../../src/sources/intake.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import type { Runs } from '../../src/store/runs.ts'
import type { Store } from '../../src/store/store.ts'
import { everything, instance, rules, t0 } from '../flow/world.ts'

let store: Store
let intake: Intake

/** Deliveries of each transaction. */
let taken: number[]

/** Pipelines for which the store fails. */
let troubled: (pipelineId: number) => boolean

beforeEach(() => {
  troubled = () => false
  taken = []
  store = openSqlite(':memory:', { now: () => t0, maxSize: 2 ** 30 })
  const runs: Runs = {
    ...store.runs,
    transact: async (work, understood) => {
      if (work.some(({ key }) => troubled(key.pipelineId)))
        throw new StoreError('It cannot be written.', 'See the disk.')
      taken.push(understood?.ids.length ?? 0)
      return store.runs.transact(work, understood)
    },
  }
  intake = createIntake({
    inbox: store.inbox,
    runs,
    runsPerTransaction: store.runsPerTransaction,
    rules,
    freezer: createFreezer({
      ...{ rules, selection: everything },
      family: { scheme: 'instance', profile: 'generic', bridgesWillCome: false },
      to: [],
      onFrozen: () => undefined,
    }),
    selection: everything,
    parse: delivery => parseDelivery(delivery, { profile: profiles.generic, traceparent: false }),
    redact: body => body,
    version: '1.0.0',
    onChange: () => undefined,
    clock: { now: () => t0, sleep: async () => undefined },
    log: silentLog(),
  })
})
afterEach(async () => store.close())

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
  it('moves a delivery that the store cannot take in out of the way of the others, with its reason', async () => {
    troubled = id => id === 2
    await post(1, 2, 3)
    await intake.drain()
    expect(await store.runs.get({ instance, pipelineId: 1 })).toBeDefined()
    expect(await store.runs.get({ instance, pipelineId: 3 })).toBeDefined()
    expect(await store.inbox.state()).toMatchObject({ waiting: 0, kept: 1 })
    const [kept] = await store.inbox.listKept(1)
    expect(kept?.reason).toContain('It cannot be written.')
    troubled = () => false
    await store.inbox.retryKept('all')
    await intake.drain()
    expect(await store.runs.get({ instance, pipelineId: 2 })).toBeDefined()
  })

  it('leaves everything in the inbox while the store takes nothing', async () => {
    troubled = () => true
    await post(1, 2, 3)
    await expect(intake.drain()).rejects.toThrow('It cannot be written.')
    expect(await store.inbox.state()).toMatchObject({ waiting: 3, kept: 0 })
  })

  it('takes in many small deliveries at once where they tell of few runs, and of large ones or of many runs fewer', async () => {
    const ofRuns = (runs: number, deliveries: number): number[] =>
      Array.from({ length: deliveries }, (_, n) => 1 + (n % runs))
    await post(...ofRuns(5, 100))
    await intake.drain()
    expect(taken).toEqual([64, 36])
    taken = []
    await postWith('x'.repeat(25_000), 'running', ...ofRuns(5, 40).map(id => 100 + id))
    await intake.drain()
    expect(taken).toEqual([16, 16, 8])
    taken = []
    await post(...ofRuns(33, 33).map(id => 200 + id))
    await intake.drain()
    // Nothing is taken in alone: then nobody could tell whether it or the store is to blame when that fails.
    expect(taken).toEqual([16, 17])
  })

  it('takes in a status that only a newer platform knows, and counts it', async () => {
    await postAs('awaiting_quota', 1)
    await post(2)
    await intake.drain()
    expect((await store.runs.get({ instance, pipelineId: 1 }))?.run.pipeline?.record.facts.status).toBe(
      'awaiting_quota',
    )
    expect(intake.counters).toMatchObject({ understood: 2, unknownStatuses: 1 })
  })
})
