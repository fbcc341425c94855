// The ingress on its own thread: a sender waits only for its commit, whatever the rest of the daemon does. The main
// thread sends it an `IngressOrder`, and it sends back `IngressNews` (`ingress-thread-handle.ts`).
import { parentPort, type MessagePort } from 'node:worker_threads'
import { pino } from 'pino'
import { ConfigError, reasonOf } from '../lib/fault.ts'
import { logSerializers } from '../lib/log-error.ts'
import { connectionLimits, openFilesLimit } from '../web/connection-limits.ts'
import { memoryLimit } from '../lib/memory-limit.ts'
import { createHealth } from '../web/health.ts'
import { createListener, type Listener, type ListenerOptions, type TlsFiles } from '../web/listener.ts'
import { createProvenPeers } from '../lib/proven-peers.ts'
import { bodyBytesWithin } from '../ingress/body-budget.ts'
import { createWebhookIngress } from '../ingress/webhook.ts'
import { openInboxWriter } from '../store/open-inbox-writer.ts'
import { deliveryPositions } from '../store/sqlite/deliveries/positions.ts'
import { collectAfterStart } from '../lib/small-heap.ts'
import { outliveErrors } from '../lib/uncaught.ts'
import { vendors, type VendorName } from '../platform/vendor.ts'
import { Secret } from '../lib/secret.ts'
import { createDeliveryHeaders } from '../platform/webhook/delivery-headers.ts'
import { selectEvents } from '../platform/webhook/event-selection.ts'
import type { Sender } from '../ingress/verify-delivery.ts'
import type { InboxWriter } from '../store/ports/inbox.ts'
import type { StoreLocation } from '../store/store-location.ts'
import type { Log } from '../lib/log.ts'
import type { Timer } from '../lib/timer.ts'

/** All that the thread needs, as values: threads share no objects. */
export interface IngressSettings {
  readonly logLevel: string
  readonly store: { readonly engine: StoreLocation['engine']; readonly place: string; readonly maxSize: number }
  readonly listen: Pick<ListenerOptions, 'host' | 'port' | 'basePath' | 'trustProxy'>
  readonly tls?: TlsFiles | undefined
  readonly profile: VendorName
  /** The names of the accepted events. */
  readonly events: readonly string[]
  readonly senders: readonly SenderTexts[]
  readonly positions: SharedArrayBuffer
  readonly counts: SharedArrayBuffer
}

/** A sender with its secrets as texts. */
export interface SenderTexts extends Omit<Sender, 'secrets'> {
  readonly tokens: readonly string[]
  readonly signing: readonly string[]
}

export type IngressOrder =
  | { readonly order: 'open'; readonly settings: IngressSettings }
  /** They have changed. */
  | { readonly order: 'settings'; readonly senders: readonly SenderTexts[]; readonly events: readonly string[] }
  | { readonly order: 'renew TLS'; readonly tls: TlsFiles }
  /** Not ready any more; requests in flight may take so long, ms. */
  | { readonly order: 'stop'; readonly withinMs: number }

export type IngressNews =
  | { readonly news: 'open'; readonly url: string }
  | { readonly news: 'failed'; readonly what: string; readonly remedy: string | undefined }
  | { readonly news: 'accepted' }
  /** One commit, or the attempt of one. */
  | { readonly news: 'committed'; readonly tookMs: number; readonly failed: boolean }
  /** One line of the log, JSON. */
  | { readonly news: 'log'; readonly line: string }

interface OpenIngress {
  readonly store: InboxWriter
  readonly listener: Listener
  readonly collecting: Timer
}

/** Follows the orders that come over the port: opened once, stopped once. */
function serveIngress(port: MessagePort): void {
  const report = (news: IngressNews): void => port.postMessage(news)
  const log: Log = pino(
    { base: null, timestamp: false, serializers: logSerializers },
    { write: line => report({ news: 'log', line }) },
  )
  let senders: readonly Sender[] = []
  let events = selectEvents([])
  let stopping = false
  let ingress: OpenIngress | undefined

  async function timed<T>(put: () => Promise<T>): Promise<T> {
    const since = performance.now()
    let failed = true
    try {
      const outcomes = await put()
      failed = false
      return outcomes
    } finally {
      report({ news: 'committed', tookMs: performance.now() - since, failed })
    }
  }

  async function open(settings: IngressSettings): Promise<void> {
    log.level = settings.logLevel
    senders = sendersOf(settings.senders)
    events = selectEvents(settings.events)
    const { engine, place, maxSize } = settings.store
    const location: StoreLocation = engine === 'sqlite' ? { engine, path: place } : { engine, url: new Secret(place) }
    const store = await openInboxWriter(location, { maxSize, positions: deliveryPositions(settings.positions), log })
    const now = (): number => Date.now()
    const health = createHealth({
      proveWritable: async () => store.proveWritable(),
      isInPlace: () => store.isInPlace?.() ?? true,
      stopping: () => stopping,
      now: () => performance.now(),
      log,
    })
    const peers = createProvenPeers()
    const memory = memoryLimit()
    const { routes } = createWebhookIngress({
      inbox: { concurrency: store.concurrency, put: async deliveries => timed(() => store.put(deliveries)) },
      senders: () => senders,
      reads: createDeliveryHeaders(vendors[settings.profile], { takes: kind => events.takes(kind) }),
      counts: settings.counts,
      maxInFlight: bodyBytesWithin(memory),
      peers,
      onAccepted: () => report({ news: 'accepted' }),
      now,
      log,
    })
    const limits = { connections: connectionLimits(openFilesLimit(), memory).public }
    const listener = createListener({
      name: 'public',
      ...settings.listen,
      ...{ tls: settings.tls, health, log, limits, peers },
    })
    listener.register(routes)
    const collecting = collectAfterStart('all', error =>
      log.debug({ reason: reasonOf(error) }, 'the garbage of the start stays'),
    )
    ingress = { store, listener, collecting }
    const { url } = await listener.start()
    outliveErrors(log)
    report({ news: 'open', url })
  }

  async function stop(withinMs: number): Promise<void> {
    stopping = true
    ingress?.collecting.stop()
    await ingress?.listener.stop(withinMs)
    await ingress?.store.close()
    port.close()
  }

  async function follow(message: IngressOrder): Promise<void> {
    switch (message.order) {
      case 'open':
        return open(message.settings)
      case 'settings':
        senders = sendersOf(message.senders)
        events = selectEvents(message.events)
        return undefined
      case 'renew TLS':
        try {
          ingress?.listener.renewTls(message.tls)
        } catch (error) {
          log.error({ reason: reasonOf(error) }, 'the TLS certificate could not be renewed; the old one stays in use')
        }
        return undefined
      case 'stop':
        return stop(message.withinMs)
    }
  }

  port.on('message', (message: IngressOrder) => {
    follow(message).catch((error: unknown) => {
      const remedy = error instanceof ConfigError ? error.remedy : undefined
      const sentence = reasonOf(error)
      const what = remedy === undefined ? sentence : sentence.slice(0, -remedy.length - 1)
      report({ news: 'failed', what, remedy })
    })
  })
}

function sendersOf(senders: readonly SenderTexts[]): Sender[] {
  const made = (texts: readonly string[]): Secret[] => texts.map(text => new Secret(text))
  return senders.map(({ tokens, signing, ...sender }) => ({
    ...sender,
    secrets: { tokens: made(tokens), signing: made(signing) },
  }))
}

if (parentPort !== null) serveIngress(parentPort)
