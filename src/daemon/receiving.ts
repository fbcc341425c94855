// Receives webhooks with the public listener and its route. The listener is open from the start of the daemon until it stops. During a reload,
// deliveries wait until the parts that take them in have started again.
import { readFileSync } from 'node:fs'
import { createDeliveryHeaders } from '../platform/webhook/delivery-headers.ts'
import { createHealth } from './listeners/health.ts'
import { createListener, type TlsFiles } from './listeners/listener.ts'
import { createWebhookIngress } from '../core/receive/webhook.ts'
import { memoryLimit } from '../lib/small-heap.ts'
import { normalizeInstance } from '../model/instance.ts'
import { platformViews } from './configuration/platforms.ts'
import { proveRoom } from '../core/store/maintenance/fullness.ts'
import { reasonOf, StoreError } from '../lib/fault.ts'
import { selectEvents, type EventSelection } from '../platform/webhook/event-selection.ts'
import { within } from '../lib/timer.ts'
import { vendors } from '../platform/vendor.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from './configuration/options.ts'
import type { Log } from '../lib/log.ts'
import type { ProfileName } from './profile.ts'
import type { Sender } from '../core/receive/verify-delivery.ts'
import type { Store } from '../core/store/ports/store.ts'
import type { TakeIn } from '../core/take-in/take-in.ts'
import type { WebhookCounts } from '../core/receive/webhook-counts.ts'

export interface Receiving {
  readonly counts: WebhookCounts
  /** The URL of the webhook listener; undefined until webhooks are accepted. */
  readonly url: string | undefined
  /** When the last delivery was accepted, Unix ms. */
  readonly lastAccepted: number | undefined
  /** Starts listening unless it already is. Resolves with the URL. Throws a ConfigError if the address is not available. */
  open(): Promise<string>
  /** Sets the function that takes in deliveries from now on. If it is undefined, deliveries wait for the next call. */
  handTo(takeIn: TakeIn | undefined): void
  /** Loads changed secrets and certificates. `next` is the new configuration; undefined if the configuration has not changed. */
  refresh(next?: Config<ProfileName>): void
  /** Stops accepting requests. Requests in flight may take up to `withinMs`. */
  stop(withinMs: number): Promise<void>
}

export interface ReceivingOptions {
  readonly config: Config<ProfileName>
  readonly store: Store
  readonly isStopping: () => boolean
  readonly clock: Clock
  readonly log: Log
}

/** The maximum time for requests in flight while a listener stops, ms. */
export const drainDeadline = 5_000
/** The maximum time that a delivery waits for a reload, ms. After that, its sender must try again. */
const reloadTimeout = 5_000

export function createReceiving({ config: first, store, isStopping, clock, log }: ReceivingOptions): Receiving {
  let senders = sendersOf(first)
  let events = selectEvents(first.events)
  let config = first
  let url: string | undefined
  let lastAccepted: number | undefined
  let taking = Promise.withResolvers<TakeIn>()
  const headers = platformViews(config)[0]?.config.platform.profile ?? config.platform.profile
  const selected: Pick<EventSelection, 'takes'> = { takes: kind => events.takes(kind) }
  const memory = memoryLimit()
  let takeIn: TakeIn | undefined
  const ingress = createWebhookIngress({
    take: async delivery => {
      const outcome = await (takeIn ?? (await within(reloadTimeout, taking.promise, tooLate))).take(delivery)
      if (outcome === 'accepted') lastAccepted = clock.now()
      return outcome
    },
    senders: () => senders(),
    reads: createDeliveryHeaders(vendors[headers], selected),
    memory,
    now: () => Date.now(),
    log,
  })
  const listener = createListener({
    name: 'public',
    ...{ ...config.listen, basePath: config.basePath, trustProxy: config.trustProxy, tls: tlsOf(config), log },
    health: createHealth({
      proveWritable: async () => proveRoom(store),
      isInPlace: () => store.isInPlace?.() ?? true,
      stopping: isStopping,
      now: () => performance.now(),
      log,
    }),
  })
  listener.register(ingress.routes)
  return {
    get counts() {
      return ingress.counts
    },
    get url() {
      return url
    },
    get lastAccepted() {
      return lastAccepted
    },
    open: async () => {
      url ??= (await listener.start()).url
      return url
    },
    handTo: next => {
      takeIn = next
      if (next === undefined) taking = Promise.withResolvers()
      else taking.resolve(next)
    },
    refresh: next => {
      config = next ?? config
      senders = sendersOf(config)
      events = selectEvents(config.events)
      try {
        const tls = tlsOf(config)
        if (tls !== undefined) listener.renewTls(tls)
      } catch (error) {
        log.error(
          { reason: reasonOf(error) },
          'the TLS certificate could not be renewed; the old certificate stays in use',
        )
      }
    },
    stop: async withinMs => listener.stop(withinMs),
  }
}

function tooLate(): never {
  throw new StoreError(
    'The daemon has been reloading for 5 s.',
    'Send the request again; if this persists, see the log.',
  )
}

/** Returns one sender per platform, with its current secrets. With several platforms, a platform without a secret cannot send deliveries. */
function sendersOf(config: Config): () => readonly Sender[] {
  const views = platformViews(config).filter(({ groups }) => groups.length === 0)
  const isSingle = config.platforms.length === 0
  return () => {
    const senders = views.map(({ config: { webhook, platform } }) => ({
      secrets: { tokens: webhook.token.current() ?? [], signing: webhook.signingToken.current() ?? [] },
      requireSignature: webhook.requireSignature,
      instance: isSingle ? undefined : normalizeInstance(platform.url),
    }))
    return isSingle ? senders : senders.filter(({ secrets: { tokens, signing } }) => tokens.length + signing.length > 0)
  }
}

function tlsOf({ tls }: Config): TlsFiles | undefined {
  if (tls.certFile === undefined || tls.keyFile === undefined) return undefined
  return { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) }
}
