// The main thread's side of the webhook door: part of the composition root. Starts the thread, hands it what it needs, hears
// what it tells, and ends the daemon should the thread ever end by itself: a daemon that hears nothing must not look alive.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import { beginDoorThread } from './begin-ingress-thread.ts'
import { ConfigError, reasonOf, StoreError } from '../lib/fault.ts'
import { after, every } from '../lib/timer.ts'
import { EndOfProcess } from '../lib/uncaught.ts'
import { readCounts, roomForCounts, type WebhookCounts } from '../ingress/webhook-counts.ts'
import type { Config } from '../config/options.ts'
import type { DoorNews, DoorOrder, DoorSecretTexts } from './ingress-thread.ts'
import type { Log } from '../lib/log.ts'
import type { ProfileName } from '../platform/profile.ts'
import type { TlsFiles } from '../web/listener.ts'
import type { JournalMarks } from '../store/sqlite/wal/positions.ts'

export interface DoorOptions {
  /** Where it was begun early; else it is begun now. */
  readonly thread?: Worker | undefined
  readonly config: Config<ProfileName>
  /** How far what it takes is written and understood, where the store is a file. */
  readonly marks: Pick<JournalMarks, 'shared'>
  /** Called after each commit that accepted something. */
  readonly onAccepted: () => void
  /** Called after each commit, or try of one. */
  readonly onPut: (tookMs: number, failed: boolean) => void
  readonly log: Log
}

export interface Door {
  readonly counts: WebhookCounts
  /** Resolves with its URL once webhooks are taken. Throws a Fault when the address or the store cannot be had. */
  open(): Promise<string>
  /** Secrets or certificates may have changed. */
  refresh(): void
  /** Accepts nothing more; requests in flight may take so long, ms. */
  stop(withinMs: number): Promise<void>
}

/** How often files of secrets are looked at, ms: as often as they are for everything else. */
const lookEvery = 1_000

/** The thread loads what it needs while the rest of the daemon is built; it takes nothing before `open`. */
export function startDoor(options: DoorOptions): Door {
  const { thread = beginDoorThread(), config, marks, onAccepted, onPut, log } = options
  thread.ref()
  const counts = roomForCounts()
  const tell = (order: DoorOrder): void => thread.postMessage(order)
  let told = JSON.stringify(secretTexts(config))
  let opened: ((url: string) => void) | undefined
  let refused: ((error: unknown) => void) | undefined
  let stopping = false

  thread.on('message', (message: DoorNews) => {
    switch (message.news) {
      case 'open':
        opened?.(message.url)
        break
      case 'failed':
        refused?.(faultOf(message))
        break
      case 'accepted':
        onAccepted()
        break
      case 'put':
        onPut(message.tookMs, message.failed)
        break
      case 'log':
        relay(message.line, log)
        break
      case 'stopped':
        break
    }
  })
  thread.on('error', error => {
    if (!stopping) throw new EndOfProcess(`The webhook door's thread failed: ${reasonOf(error)}.`)
  })
  thread.on('exit', code => {
    if (!stopping) throw new EndOfProcess(`The webhook door's thread ended by itself (exit code ${code}).`)
  })
  const looking = every(lookEvery, renewSecrets, failed)

  function renewSecrets(): void {
    const secrets = secretTexts(config)
    const text = JSON.stringify(secrets)
    if (text === told) return
    told = text
    tell({ order: 'secrets', secrets })
  }

  function failed(error: unknown): void {
    log.error({ reason: reasonOf(error) }, 'the thread of the webhook door could not be told something')
  }

  return {
    get counts() {
      return readCounts(counts)
    },
    open: () =>
      new Promise((resolve, reject) => {
        opened = resolve
        refused = reject
        const { store, listen, basePath, trustProxy, platform, webhook } = config
        const place = store.url.engine === 'sqlite' ? store.url.path : store.url.url.reveal()
        tell({
          order: 'open',
          settings: {
            logLevel: log.level,
            store: { engine: store.url.engine, place, maxSize: store.maxSize },
            listen: { ...listen, basePath, trustProxy },
            tls: tlsOf(config),
            profile: platform.profile,
            requireSignature: webhook.requireSignature,
            secrets: secretTexts(config),
            marks: marks.shared,
            counts,
          },
        })
      }),
    refresh: () => {
      renewSecrets()
      try {
        const tls = tlsOf(config)
        if (tls !== undefined) tell({ order: 'renew TLS', tls })
      } catch (error) {
        log.error({ reason: reasonOf(error) }, 'the TLS certificate could not be renewed; the old one stays in use')
      }
    },
    stop: async withinMs => {
      if (stopping) return
      stopping = true
      looking.stop()
      const gone = once(thread, 'exit')
      tell({ order: 'stop', withinMs })
      const tooLate = after(withinMs + 5_000, async () => thread.terminate(), failed)
      await gone
      tooLate.stop()
    },
  }
}

/** A line of the thread's log, as the daemon's own. */
function relay(line: string, log: Log): void {
  const { level, msg, ...facts } = JSON.parse(line) as { level: number; msg: string } & Record<string, unknown>
  const name = log.levels.labels[level] ?? 'info'
  log[name as 'info'](facts, msg)
}

function faultOf({ what, remedy }: { readonly what: string; readonly remedy: string | undefined }): Error {
  return remedy === undefined
    ? new StoreError(`The webhook door cannot be opened: ${what}.`, 'See the lines before this one.')
    : new ConfigError(what, remedy)
}

function secretTexts({ webhook }: Config): DoorSecretTexts {
  return {
    tokens: (webhook.token.current() ?? []).map(secret => secret.reveal()),
    signing: (webhook.signingToken.current() ?? []).map(secret => secret.reveal()),
  }
}

function tlsOf({ tls }: Config): TlsFiles | undefined {
  if (tls.certFile === undefined || tls.keyFile === undefined) return undefined
  // As text: a Buffer would reach the thread as another kind of array.
  return { cert: readFileSync(tls.certFile, 'utf8'), key: readFileSync(tls.keyFile, 'utf8') }
}
