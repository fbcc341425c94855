// Tests how a worker extends, ends and loses its lease on an item of the enrichment queue.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { event, instance, minute, t0 } from '../../flow/world.ts'
import { observedRun } from '../../../src/model/run.ts'
import { openSqlite } from '../../support/stores.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const key = { instance, pipelineId: 7 }

describe('an item of the enrichment queue', () => {
  let now: number
  let store: Store
  beforeEach(async () => {
    now = t0
    store = closeAfterTest(openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 }))
    await enqueue()
    expect(await isLeased()).toBe(true)
  })

  async function enqueue(): Promise<void> {
    const run = observedRun(event('running', {}, []))
    const enrichment = { detail: 'state', priority: 'fresh', at: now } as const
    await store.runs.transact([{ key, jobs: [], decide: () => ({ run, timing: { changedAt: now }, enrichment }) }])
  }

  /** Leases the item for a minute, if it is due. */
  const isLeased = async (): Promise<boolean> => (await store.enrichment.take('fresh', 10, minute)).length === 1

  it('stays with its worker while the lease is extended, and is due when the lease expires', async () => {
    now += minute - 1
    await store.enrichment.extend([key], minute)
    now += minute - 1
    expect(await isLeased()).toBe(false)
    now += 1
    expect(await isLeased()).toBe(true)
  })

  it('is due at once if its lease is released', async () => {
    await store.enrichment.extend([key], 0)
    expect(await isLeased()).toBe(true)
  })

  it('is due after its pause if it is deferred', async () => {
    await store.enrichment.defer(key, 10)
    now += 9
    expect(await isLeased()).toBe(false)
    now += 1
    expect(await isLeased()).toBe(true)
  })

  it('is due at once if it is requested again while it is leased, even if its worker then extends or defers it', async () => {
    now += 1
    await enqueue()
    await store.enrichment.extend([key], minute)
    await store.enrichment.defer(key, minute)
    expect(await isLeased()).toBe(true)
  })
})
