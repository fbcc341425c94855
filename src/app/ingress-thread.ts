// The webhook door on a thread of its own: part of the composition root. Whatever the rest of the daemon is busy with, a sender
// waits for nothing but its commit. What it is told and what it tells is in `DoorOrder` and `DoorNews`.
import { parentPort, type MessagePort } from 'node:worker_threads'
import { pino } from 'pino'
import { ConfigError, reasonOf } from '../lib/fault.ts'
import { logSerializers } from '../lib/log-error.ts'
import { connectionLimits, memoryLimit, openFilesLimit } from '../web/connection-limits.ts'
import { createHealth } from '../web/health.ts'
import { createListener, type Listener, type ListenerOptions, type TlsFiles } from '../web/listener.ts'
import { createProvenPeers } from '../lib/proven-peers.ts'
import { createWebhookDoor } from '../ingress/webhook.ts'
import { openInboxDoor, journalMarks, type StoreLocation } from '../store/open-store.ts'
import { outliveErrors } from '../lib/uncaught.ts'
import { profiles, type ProfileName } from '../platform/profile.ts'
import { Secret } from '../lib/secret.ts'
import type { InboxWriter } from '../store/ports/inbox.ts'
import type { Log } from '../lib/log.ts'

/** All that the thread needs, as values: threads share no objects. */
export interface DoorSettings {
  readonly logLevel: string
  readonly store: { readonly engine: StoreLocation['engine']; readonly place: string; readonly maxSize: number }
  readonly listen: Pick<ListenerOptions, 'host' | 'port' | 'basePath' | 'trustProxy'>
  readonly tls?: TlsFiles | undefined
  readonly profile: ProfileName
  readonly requireSignature: boolean
  readonly secrets: DoorSecretTexts
  readonly marks: SharedArrayBuffer
  readonly counts: SharedArrayBuffer
}

export interface DoorSecretTexts {
  readonly tokens: readonly string[]
  readonly signing: readonly string[]
}

export type DoorOrder =
  | { readonly order: 'open'; readonly settings: DoorSettings }
  | { readonly order: 'secrets'; readonly secrets: DoorSecretTexts }
  | { readonly order: 'renew TLS'; readonly tls: TlsFiles }
  /** Not ready any more; requests in flight may take so long, ms. */
  | { readonly order: 'stop'; readonly withinMs: number }

export type DoorNews =
  | { readonly news: 'open'; readonly url: string }
  | { readonly news: 'failed'; readonly what: string; readonly remedy: string | undefined }
  | { readonly news: 'accepted' }
  /** One commit, or the try of one. */
  | { readonly news: 'put'; readonly tookMs: number; readonly failed: boolean }
  /** One line of the log, JSON. */
  | { readonly news: 'log'; readonly line: string }
  | { readonly news: 'stopped' }

interface OpenDoor {
  readonly store: InboxWriter
  readonly listener: Listener
}

/** Serves one door over the port: opened once, stopped once. */
function serveDoor(port: MessagePort): void {
  const tell = (news: DoorNews): void => port.postMessage(news)
  const log: Log = pino(
    { base: null, timestamp: false, serializers: logSerializers },
    { write: line => tell({ news: 'log', line }) },
  )
  let secrets: DoorSecretTexts = { tokens: [], signing: [] }
  let held = secretsOf(secrets)
  let stopping = false
  let door: OpenDoor | undefined

  async function timed<T>(put: () => Promise<T>): Promise<T> {
    const since = performance.now()
    let failed = true
    try {
      const outcomes = await put()
      failed = false
      return outcomes
    } finally {
      tell({ news: 'put', tookMs: performance.now() - since, failed })
    }
  }

  async function open(settings: DoorSettings): Promise<void> {
    log.level = settings.logLevel
    ;({ secrets } = settings)
    held = secretsOf(secrets)
    const { engine, place, maxSize } = settings.store
    const location: StoreLocation = engine === 'sqlite' ? { engine, path: place } : { engine, url: new Secret(place) }
    const store = await openInboxDoor(location, { maxSize, marks: journalMarks(settings.marks), log })
    const now = (): number => Date.now()
    const health = createHealth({
      proveWritable: async () => store.proveWritable(),
      stopping: () => stopping,
      now: () => performance.now(),
      log,
    })
    const peers = createProvenPeers()
    const { routes } = createWebhookDoor({
      inbox: { abreast: store.abreast, put: async deliveries => timed(() => store.put(deliveries)) },
      secrets: () => held,
      requireSignature: settings.requireSignature,
      profile: profiles[settings.profile],
      counts: settings.counts,
      peers,
      onAccepted: () => tell({ news: 'accepted' }),
      now,
      log,
    })
    const limits = { connections: connectionLimits(openFilesLimit(), memoryLimit()).public }
    const listener = createListener({
      name: 'public',
      ...settings.listen,
      ...{ tls: settings.tls, health, log, limits, peers },
    })
    listener.register(routes)
    door = { store, listener }
    const { url } = await listener.start()
    outliveErrors(log)
    tell({ news: 'open', url })
  }

  async function stop(withinMs: number): Promise<void> {
    stopping = true
    await door?.listener.stop(withinMs)
    await door?.store.close()
    tell({ news: 'stopped' })
    port.close()
  }

  async function obey(message: DoorOrder): Promise<void> {
    switch (message.order) {
      case 'open':
        return open(message.settings)
      case 'secrets':
        held = secretsOf(message.secrets)
        return undefined
      case 'renew TLS':
        try {
          door?.listener.renewTls(message.tls)
        } catch (error) {
          log.error({ reason: reasonOf(error) }, 'the TLS certificate could not be renewed; the old one stays in use')
        }
        return undefined
      case 'stop':
        return stop(message.withinMs)
    }
  }

  port.on('message', (message: DoorOrder) => {
    obey(message).catch((error: unknown) => {
      const remedy = error instanceof ConfigError ? error.remedy : undefined
      const sentence = reasonOf(error)
      const what = remedy === undefined ? sentence : sentence.slice(0, -remedy.length - 1)
      tell({ news: 'failed', what, remedy })
    })
  })
}

function secretsOf({ tokens, signing }: DoorSecretTexts): { tokens: Secret[]; signing: Secret[] } {
  const made = (texts: readonly string[]): Secret[] => texts.map(text => new Secret(text))
  return { tokens: made(tokens), signing: made(signing) }
}

if (parentPort !== null) serveDoor(parentPort)
