// Tests the counters of the intake for deliveries that are dropped, in whole or in part.
import { beforeEach, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { createSelection } from '../../../src/core/take-in/selection.ts'
import { instance, t0, takeInOf } from '../../flow/world.ts'
import { openSqlite } from '../../support/stores.ts'
import { pipelineEvent } from '../../bounds/pipelines.ts'
import type { Delivery } from '../../../src/core/take-in/take-in.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const none = {
  ...{ processed: 0, events: 0, unclaimedEvents: 0, ignored: 0, unparseable: 0, excluded: 0, droppedJobs: 0 },
  unknownStatuses: 0,
}
let store: Store
beforeEach(() => {
  store = closeAfterTest(openSqlite(':memory:', { now: () => t0, maxSize: 2 ** 30 }))
})

function delivery(body: string): Delivery {
  return { key: 'a', event: 'Pipeline Hook', instance, source: 'webhook', body: Buffer.from(body) }
}

it('accepts and counts a delivery of an excluded project, and stores nothing of it', async () => {
  const selection = createSelection({ projects: { exclude: ['acme/shop'] }, refs: {}, sources: {} })
  const takeIn = takeInOf(store, { selection })
  expect(await takeIn.take(delivery(pipelineEvent({ id: 1 })))).toBe('accepted')
  expect(takeIn.counters).toEqual({ ...none, excluded: 1 })
  expect((await store.runs.count()).runs).toBe(0)
})

it('drops and counts the jobs of a delivery that have no usable ID, and takes in its other jobs', async () => {
  const takeIn = takeInOf(store)
  const body = pipelineEvent({ id: 1, jobs: 3 }).replace('"id":10001,', '"id":"unknown",')
  expect(await takeIn.take(delivery(body))).toBe('accepted')
  expect(takeIn.counters).toEqual({ ...none, processed: 1, droppedJobs: 1 })
  const known = await store.runs.get({ instance, pipelineId: 1 })
  expect([...(known?.run.jobs.keys() ?? [])]).toEqual([10_000, 10_002])
})
