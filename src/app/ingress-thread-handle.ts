// The main thread's handle of the ingress thread: starts it, sends it orders, receives its messages and stops it. It ends the daemon if the
// thread dies: a daemon that receives nothing must not look alive.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { ConfigError, reasonOf, StoreError } from '../lib/fault.ts'
import { after, every } from '../lib/timer.ts'
import { EndOfProcess } from '../lib/uncaught.ts'
import { normalizeInstance } from '../model/instance.ts'
import { platformViews } from '../config/platforms.ts'
import { allEventKinds } from '../platform/webhook/event-kind.ts'
import { createWebhookCounts, type WebhookCounts } from '../ingress/webhook-counts.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'
import type { DaemonEvents } from './events.ts'
import type { IngressNews, IngressOrder, IngressSettings, SenderTexts } from './ingress-thread.ts'
import type { DeliveryPositions } from '../store/sqlite/deliveries/positions.ts'
import type { Log } from '../lib/log.ts'
import type { ProfileName } from './profile.ts'
import type { TlsFiles } from '../web/listener.ts'

export interface IngressOptions {
  readonly config: Config<ProfileName>
  /** Positions of accepted deliveries that both threads read and write, where the store is a file. */
  readonly positions: Pick<DeliveryPositions, 'shared'>
  readonly events: Pick<DaemonEvents, 'accepted' | 'committed'>
  readonly clock: Clock
  readonly log: Log
}

export interface Ingress {
  readonly counts: WebhookCounts
  /** Undefined until webhooks are accepted. */
  readonly url: string | undefined
  /** When it accepted something last, Unix ms. */
  readonly lastAccepted: number | undefined
  /** Resolves with its URL once webhooks are accepted. Throws a Fault when the address or the store cannot be had. */
  open(): Promise<string>
  /** Secrets or certificates may have changed, or another configuration is in use: undefined if it is still the same. */
  refresh(next?: Config<ProfileName>): void
  /** Accepts nothing more; requests in flight may take so long, ms. */
  stop(withinMs: number): Promise<void>
}

/** How long requests in flight may take when a listener stops, ms. */
export const drainDeadline = 5_000
/** How often the files of secrets are read again, ms: as often as everywhere else. */
const secretsEvery = 1_000

let begunEarly: Worker | undefined

/**
 * Begins the thread before anybody needs it: it loads its modules while the main thread loads its own, and waits for orders. Until it gets an order,
 * it does not keep the process alive.
 */
export function beginIngressThread(): void {
  begunEarly = newThread()
  begunEarly.unref()
}

function newThread(): Worker {
  const extension = path.extname(import.meta.url)
  return new Worker(new URL(`./ingress-thread${extension}`, import.meta.url), { name: 'ingress' })
}

/** The thread that was begun early, else a new one. It accepts nothing before `open`. */
export function takeIngressThread({ config: first, positions, events, clock, log }: IngressOptions): Ingress {
  let config = first
  const thread = begunEarly ?? newThread()
  begunEarly = undefined
  thread.ref()
  const counts = createWebhookCounts(allEventKinds)
  const order = (what: IngressOrder): void => thread.postMessage(what)
  let sent = JSON.stringify(settingsOf(config))
  let url: string | undefined
  let opened: ((url: string) => void) | undefined
  let refused: ((error: unknown) => void) | undefined
  let lastAccepted: number | undefined
  let stopping = false

  thread.on('message', (message: IngressNews) => {
    switch (message.news) {
      case 'open':
        ;({ url } = message)
        opened?.(url)
        break
      case 'failed':
        refused?.(faultOf(message))
        break
      case 'accepted':
        lastAccepted = clock.now()
        events.accepted.emit()
        break
      case 'committed':
        events.committed.emit(message.tookMs, message.failed)
        break
      case 'log':
        relay(message.line, log)
        break
    }
  })
  thread.on('error', error => {
    if (!stopping) throw new EndOfProcess(`The ingress thread failed: ${reasonOf(error)}.`)
  })
  thread.on('exit', code => {
    if (!stopping) throw new EndOfProcess(`The ingress thread exited (code ${code}).`)
  })
  const renewal = every(secretsEvery, renewSettings, failed)

  function renewSettings(): void {
    const settings = settingsOf(config)
    const text = JSON.stringify(settings)
    if (text === sent) return
    sent = text
    order({ order: 'settings', ...settings })
  }

  function failed(error: unknown): void {
    log.error({ reason: reasonOf(error) }, 'a call to the ingress thread failed')
  }

  return {
    get counts() {
      return counts.read()
    },
    get url() {
      return url
    },
    get lastAccepted() {
      return lastAccepted
    },
    open: () =>
      new Promise((resolve, reject) => {
        opened = resolve
        refused = reject
        const { store, listen, basePath, trustProxy } = config
        const place = store.url.engine === 'sqlite' ? store.url.path : store.url.url.reveal()
        order({
          order: 'open',
          settings: {
            logLevel: log.level,
            store: { engine: store.url.engine, place, maxSize: store.maxSize },
            listen: { ...listen, basePath, trustProxy },
            tls: tlsOf(config),
            profile: platformViews(config)[0]?.config.platform.profile ?? config.platform.profile,
            ...settingsOf(config),
            positions: positions.shared,
            counts: counts.room,
          },
        })
      }),
    refresh: next => {
      config = next ?? config
      renewSettings()
      try {
        const tls = tlsOf(config)
        if (tls !== undefined) order({ order: 'renew TLS', tls })
      } catch (error) {
        log.error({ reason: reasonOf(error) }, 'the TLS certificate could not be renewed; the old one stays in use')
      }
    },
    stop: async withinMs => {
      if (stopping) return
      stopping = true
      renewal.stop()
      const gone = once(thread, 'exit')
      order({ order: 'stop', withinMs })
      const tooLate = after(withinMs + 5_000, async () => thread.terminate(), failed)
      await gone
      tooLate.stop()
    },
  }
}

/** A line of the thread's log, written to the daemon's. */
function relay(line: string, log: Log): void {
  const { level, msg, ...facts } = JSON.parse(line) as { level: number; msg: string } & Record<string, unknown>
  const name = log.levels.labels[level] ?? 'info'
  log[name as 'info'](facts, msg)
}

function faultOf({ what, remedy }: { readonly what: string; readonly remedy: string | undefined }): Error {
  return remedy === undefined
    ? new StoreError(`Webhooks cannot be received: ${what}.`, 'See the log lines above.')
    : new ConfigError(what, remedy)
}

/** What can change while it runs. */
function settingsOf(config: Config): Pick<IngressSettings, 'senders' | 'events'> {
  return { senders: senderTexts(config), events: config.events }
}

/** One for each platform. If there are several, those without a secret send nothing. */
function senderTexts(config: Config): SenderTexts[] {
  const views = platformViews(config).filter(({ groups }) => groups.length === 0)
  const senders = views.map(({ config: { webhook, platform } }) => ({
    tokens: (webhook.token.current() ?? []).map(secret => secret.reveal()),
    signing: (webhook.signingToken.current() ?? []).map(secret => secret.reveal()),
    requireSignature: webhook.requireSignature,
    instance: config.platforms.length === 0 ? undefined : normalizeInstance(platform.url),
  }))
  if (config.platforms.length === 0) return senders
  return senders.filter(({ tokens, signing }) => tokens.length + signing.length > 0)
}

function tlsOf({ tls }: Config): TlsFiles | undefined {
  if (tls.certFile === undefined || tls.keyFile === undefined) return undefined
  // As text: a Buffer would arrive there as a plain Uint8Array.
  return { cert: readFileSync(tls.certFile, 'utf8'), key: readFileSync(tls.keyFile, 'utf8') }
}
