// Connects the redelivery to a simulated platform that records the deliveries of two webhooks.
import { pino } from 'pino'
import { createRedelivery, type Redelivery } from '../../../src/core/find/redelivery.ts'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { openPolledWorld, type PolledWorld } from './polled-world.ts'
import { createDeliveryHeaders } from '../../../src/platform/webhook/delivery-headers.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { StoreError } from '../../../src/lib/fault.ts'
import { everyEvent } from '../../../src/platform/webhook/event-selection.ts'
import type { Delivery } from '../../../src/simulator/platform/delivery.ts'
import { takeInOf } from '../../flow/world.ts'
import type { Delivery as TakenDelivery } from '../../../src/core/take-in/take-in.ts'
import { hooksOf, type RestHook } from '../../support/rest-hooks.ts'

/** The daemon's own webhook. */
export const own: RestHook = { id: 7, url: 'https://pipespan.example.com/webhooks', owner: { group: 'brightwater' } }
/** A webhook of another service. */
export const foreign: RestHook = { id: 8, url: 'https://chat.example.com/webhooks', owner: { group: 'brightwater' } }

export function delivery(
  id: number,
  body = JSON.stringify({
    object_kind: 'pipeline',
    object_attributes: { id, status: 'running', ref: 'main', created_at: '2026-06-01 12:00:00 UTC' },
    project: { id: 3, path_with_namespace: 'brightwater/shop', web_url: 'https://git.example.com/brightwater/shop' },
  }),
): Delivery {
  return { kind: 'pipeline', at: 0, pipelineId: id, jobId: undefined, key: `key-${id}`, body }
}

/** Adds a delivery with this HTTP status to the platform's records of the webhook. */
export function record(world: PolledWorld, hook: RestHook, status: string, one: Delivery): void {
  const options = { headerPrefix: 'X-Service-', instance: world.api.url }
  hooksOf(world.api).record(hook, one, status, options, world.now(), new Random(1))
}

/** Opens a simulated platform with both webhooks, and the redelivery that reads their records. */
export async function openRedelivery({ redelivers = true, publicUrl = 'https://pipespan.example.com' } = {}) {
  const world = await openPolledWorld()
  hooksOf(world.api).hooks.push(own, foreign)
  const oversize: (string | undefined)[] = []
  const accepted: TakenDelivery[] = []
  let failure: StoreError | undefined
  const takeIn = takeInOf(world.store)
  const logged: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  const again = (how: { redelivers: boolean }): Redelivery =>
    createRedelivery({
      ...how,
      name: 'redelivery',
      client: world.client,
      take: async delivery => {
        if (failure !== undefined) throw failure
        const outcome = await takeIn.take(delivery)
        if (outcome === 'accepted') accepted.push(delivery)
        return outcome
      },
      repositories: world.store.repositories,
      leases: world.store.leases,
      projects: [],
      groups: ['brightwater'],
      publicUrl,
      profile: 'generic',
      reads: createDeliveryHeaders(profiles.generic, everyEvent),
      errors: createErrorThrottle(silentLog()),
      onOversize: project => oversize.push(project),
      clock: { now: () => world.now(), sleep: async () => undefined },
      log,
    })
  const redelivery = again({ redelivers })
  const keys = (): (string | undefined)[] => accepted.map(({ key }) => key).sort()
  return {
    world,
    redelivery,
    again,
    oversize,
    logged,
    takeIn,
    failWith: (error?: StoreError) => (failure = error),
    accepted,
    keys,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}
