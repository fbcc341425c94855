// The route `/metrics`, in the format that the client asks for, written in pieces: it waits for the client, gives way to other work, and ends when the
// client goes away. Other rooms decide what is measured and who may read it.
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyPluginAsync } from 'fastify'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { after } from '../../lib/timer.ts'
import { createBusyLimit, retryAfter, type Place } from '../../lib/busy-limit.ts'
import { reasonOf } from '../../lib/fault.ts'
import { contentTypes, endOf, expositionOf, isGauge, wholeMetrics } from './exposition.ts'
import type { Exposition, ScrapedMetric, SeriesRoom } from './exposition.ts'
import type { Log } from '../../lib/log.ts'
import type { Turns } from '../../lib/turns.ts'

export interface MetricsPageOptions {
  /** Those of pipelines, without the points that are read while they are written. */
  readonly ofPipelines: () => Promise<readonly ScrapedMetric[]>
  /** The daemon's own, which have no maximum. */
  readonly own: () => Promise<readonly ScopeMetrics[]>
  /** Of those of pipelines. */
  readonly maxSeries: number
  /** Counts the series that are left out of all scrapes. */
  readonly counts: ScrapeCounts
  /** How many clients may read on without a place; one more ends the oldest. Default: 16. */
  readonly maxSlow?: number | undefined
  readonly turns: Turns
  readonly log: Log
}

export interface ScrapeCounts {
  leftOut: number
}

/** A scrape keeps little in memory, but reads much. */
const limits = { maxRunning: 2, maxWaiting: 8 }
/** A client that has not read all by then is cut off, ms: longer than scrapes may take. */
const maxScrapeMs = 120_000
/** Whoever has been waited for this long in one scrape, ms, gives its place to others, so that no client keeps them from theirs. */
const maxWaitMs = 1_000

export function createMetricsPage({
  log,
  turns,
  ofPipelines,
  maxSlow = 16,
  ...options
}: MetricsPageOptions): FastifyPluginAsync {
  const limit = createBusyLimit(turns, limits)
  const ends = new Set<() => void>()
  const slow: SlowReaders = {
    has: end => ends.has(end),
    add: end => {
      ends.add(end)
      if (ends.size > maxSlow) [...ends][0]?.()
    },
    delete: end => ends.delete(end),
  }
  let collecting: ReturnType<typeof ofPipelines> | undefined
  // Concurrent scrapes share what is read as a whole.
  const collect = async (): ReturnType<typeof ofPipelines> =>
    (collecting ??= ofPipelines().finally(() => {
      collecting = undefined
    }))
  const failed = (error: unknown): void => log.warn({ reason: reasonOf(error) }, 'a scrape ended early')
  return async app => {
    app.get('/metrics', async ({ headers, ip, method }, reply) => {
      void reply.header('cache-control', 'no-store').header('vary', 'accept')
      const format = formatFor(headers.accept)
      if (method === 'HEAD') return reply.type(contentTypes[format]).send('')
      const answer = await limit.run(ip, reply.raw, async place => {
        const text = scrape({ ...options, ofPipelines: collect }, format, turns)
        const end = (): void => void reply.raw.destroy()
        // What fails before the first piece is answered as an error.
        const first = await text.next()
        void reply
          .type(contentTypes[format])
          .send(Readable.from(unhindered(resumed(first, text, failed), { place, slow, end })))
        const cut = after(maxScrapeMs, end, failed)
        await finished(reply.raw).catch(() => undefined)
        cut.stop()
        return 'answered' as const
      })
      if (answer === 'answered') return reply
      const message = 'Too many scrapes wait for their answers. Ask again in a few seconds.'
      return reply.code(429).header('retry-after', String(retryAfter)).send({ message })
    })
  }
}

type ScrapeOptions = Pick<MetricsPageOptions, 'ofPipelines' | 'own' | 'maxSeries' | 'counts'>

/** The daemon's own gauges first. Its other metrics come last, because they count what was left out of this scrape, too. */
async function* scrape(
  { ofPipelines, own, maxSeries, counts }: ScrapeOptions,
  format: Exposition,
  turns: Turns,
): AsyncGenerator<string> {
  const [before, pipelines] = [await own(), await ofPipelines()]
  const room: SeriesRoom = { left: maxSeries, leftOut: 0 }
  const giveWay = async (): Promise<void> => turns.giveWay()
  const unlimited: SeriesRoom = { left: Infinity, leftOut: 0 }
  yield* expositionOf(wholeMetrics(before).filter(isGauge), format, unlimited, giveWay)
  yield* expositionOf(pipelines, format, room, giveWay)
  counts.leftOut += room.leftOut
  const since = room.leftOut === 0 ? before : await own()
  yield* expositionOf(
    wholeMetrics(since).filter(one => !isGauge(one)),
    format,
    unlimited,
    giveWay,
  )
  yield endOf[format]
}

async function* resumed(
  first: IteratorResult<string>,
  rest: AsyncGenerator<string>,
  failed: (error: unknown) => void,
): AsyncGenerator<string> {
  try {
    if (first.done !== true) yield first.value
    yield* rest
  } catch (error) {
    failed(error)
    throw error
  }
}

/** Those without a place, by what ends them. */
type SlowReaders = Record<'has' | 'delete', (end: () => void) => boolean> & { add(end: () => void): void }

interface Reader {
  readonly place: Place
  readonly slow: SlowReaders
  readonly end: () => void
}

/** The same pieces. A client that is slow to read them reads on without a place. */
async function* unhindered(pieces: AsyncGenerator<string>, { place, slow, end }: Reader): AsyncGenerator<string> {
  let left = maxWaitMs
  const giveUp = (): void => {
    slow.add(end)
    place.leave()
  }
  try {
    for await (const piece of pieces) {
      const began = performance.now()
      const waiting = slow.has(end) ? undefined : after(Math.max(0, left), giveUp, giveUp)
      try {
        yield piece
      } finally {
        waiting?.stop()
        left -= performance.now() - began
      }
    }
  } finally {
    if (slow.delete(end)) place.enter()
  }
}

/** OpenMetrics if the client prefers it to plain text, as Prometheus does. Browsers and curl get plain text. */
function formatFor(accept = ''): Exposition {
  const [openmetrics = 0, ...texts] = ['application/openmetrics-text', 'text/plain', 'text/*', '*/*'].map(type =>
    qualityOf(accept, type),
  )
  return openmetrics > Math.max(...texts) ? 'openmetrics' : 'text'
}

/** The quality that a type has in the header `Accept` (RFC 9110, section 12.5.1), 0 if it is not in it. */
function qualityOf(accept: string, type: string): number {
  const found = accept.split(',').map(one => one.split(';').map(part => part.trim().toLowerCase()))
  const qualities = found
    .filter(([name]) => name === type)
    .map(([, ...parameters]) => Number(parameters.find(one => one.startsWith('q='))?.slice(2) ?? 1))
  return Math.max(0, ...qualities.filter(Number.isFinite))
}
