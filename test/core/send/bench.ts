// Sets up a store with pending exports and an exporter for tests, with functions shared by several test files.
import {
  createExporter,
  type Exporter,
  type ExporterOptions,
  type ExportQueueStatus,
} from '../../../src/core/send/exporter.ts'
import { encode } from './backend.ts'
import { messagesBy, type Encode } from '../../../src/core/send/messages.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import { observedRun } from '../../../src/model/run.ts'
import { openSqlite } from '../../support/stores.ts'
import { silentLog, type Log } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { Destination, Endpoint } from '../../../src/core/send/destination.ts'
import {
  type EncodeMessages,
  type ExportQueue,
  type Outbox,
  signals,
  type Signal,
} from '../../../src/core/store/ports/outbox.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

export const traces: ExportQueue = { destination: 'default', signal: 'traces' }

/** Short pauses for the exporter, so that a test can observe many of them. */
export const quick = {
  limits: { pauses: { first: 20, max: 80 } },
  probes: { first: 20, max: 80 },
} satisfies Partial<ExporterOptions>

/** Maximum time for a flush or a stop that is expected to complete, ms. No machine takes this long. */
export const maxWaitMs = 300_000

/** An address on which nothing listens. A port that was free a moment ago cannot be used, because another process may be listening on it by now. */
export const nowhere = 'http://127.0.0.1:1'

export interface Bench {
  readonly store: Store
  /** Sets the encoder for exports that are enqueued from now on. */
  encode(encoder: Encode): void
  /** Adds one pending export for each pipeline ID. */
  enqueue(ids: readonly number[], to?: readonly ExportQueue[]): Promise<void>
  /** Creates an exporter that uses the store. It is stopped at the end of the test. */
  exporter(destinations: readonly Destination[], options?: Partial<ExporterOptions>): Exporter
  dispose(): Promise<void>
}

export function openBench(): Bench {
  const exporters: Exporter[] = []
  let encodeMessages: EncodeMessages
  const store = openSqlite(':memory:', {
    ...{ now: () => Date.now(), maxSize: 2 ** 30 },
    encode: (chunk, to) => encodeMessages(chunk, to),
  })
  const encodeBy = (encoder: Encode): void => {
    const bySignal = new Map<Signal, Encode>(signals.map(signal => [signal, chunk => encoder(chunk)]))
    encodeMessages = messagesBy(({ signal }) => bySignal.get(signal))
  }
  encodeBy(encode)
  return {
    store,
    encode: encodeBy,
    enqueue: async (ids, to = [traces]) => {
      await store.runs.transact(ids.map(id => snapshotOf(id, to)))
    },
    exporter: (destinations, options = {}) => {
      const base = { destinations, outbox: store.outbox, clock: systemClock, log: silentLog() }
      const exporter = createExporter({ ...base, ...quick, ...options })
      exporters.push(exporter)
      return exporter
    },
    dispose: async () => {
      await Promise.all(exporters.map(exporter => exporter.stop(0)))
      await store.close()
    },
  }
}

function snapshotOf(pipelineId: number, to: readonly ExportQueue[]): Parameters<Store['runs']['transact']>[0][number] {
  const key = { instance: 'https://git.example.com', pipelineId }
  return {
    key,
    jobs: 'all',
    decide: (_known, now) => {
      const run = observedRun({
        key,
        origin: 'webhook',
        project: { id: 3, name: 'shop', path: 'acme/shop' },
        pipeline: { facts: { status: 'success' }, times: { createdAt: now - 60_000, finishedAt: now } },
        jobs: [],
      })
      const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: pipelineId }
      const { run: after, chunks } = snapshotAttempt(run, [], trace, false, 0, { chunkSize: 500 })
      return { run: after, timing: { changedAt: now }, pending: chunks.map(chunk => ({ chunk, to })) }
    },
  }
}

export function endpoint(url: string, options: Partial<Endpoint> = {}): Endpoint {
  return { url, headers: {}, timeoutMs: 120_000, compression: 'gzip', ...options }
}

/** An outbox in which this pipeline's encoded message is corrupt. */
export function damaging(outbox: Outbox, pipelineId: number): Outbox {
  return {
    ...outbox,
    lease: async (...given) => {
      const lease = await outbox.lease(...given)
      const items = lease.items.map(item =>
        item.pipelineId === pipelineId ? { ...item, body: Buffer.from('?') } : item,
      )
      return { ...lease, items }
    },
  }
}

/** A destination that receives traces at one address. */
export function destination(url: string, options: Partial<Destination & Endpoint> = {}): Destination {
  const { name = 'default', bearer, proxy, signals: own, ...rest } = options
  return {
    name,
    signals: own ?? { traces: endpoint(`${url}/v1/traces`, rest) },
    ...(bearer === undefined ? {} : { bearer }),
    ...(proxy === undefined ? {} : { proxy }),
  }
}

/** Returns the status of one export queue. */
export async function queueOf(
  exporter: Exporter,
  name = 'default',
  signal: Signal = 'traces',
): Promise<ExportQueueStatus> {
  const found = (await exporter.status()).find(queue => queue.destination === name && queue.signal === signal)
  if (found === undefined) throw new Error(`no queue ${signal} of ${name}`)
  return found
}

/** A log that records its lines for the test. */
export function listeningLog(): { log: Log; lines: { level: string; message: string }[] } {
  const lines: { level: string; message: string }[] = []
  const note = (level: string) => (_facts: unknown, message: string) => lines.push({ level, message })
  const log = {
    ...{ error: note('error'), warn: note('warn'), info: note('info'), debug: note('debug') },
    child: () => log,
  } as unknown as Log
  return { log, lines }
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

export function sorted(ids: readonly number[]): number[] {
  return [...ids].sort((a, b) => a - b)
}
