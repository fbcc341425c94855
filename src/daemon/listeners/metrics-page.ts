// The route `/metrics`, in the format that the client prefers. The response is streamed in pieces: it waits for slow clients, yields to the event
// loop between pieces, and ends when the client disconnects. Other modules decide what is measured and who may read it.
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyPluginAsync } from 'fastify'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { after } from '../../lib/timer.ts'
import { createBusyLimit, retryAfter } from '../../lib/busy-limit.ts'
import { reasonOf } from '../../lib/fault.ts'
import { contentTypes, endOf, expositionOf, isGauge, wholeMetrics } from './exposition.ts'
import type { Exposition, ScrapedMetric, SeriesBudget } from './exposition.ts'
import type { Log } from '../../lib/log.ts'

export interface MetricsPageOptions {
  /** Returns the pipeline metrics without their points, which are read while the response is being written. */
  readonly ofPipelines: () => Promise<readonly ScrapedMetric[]>
  /** Returns the daemon's own metrics. The series limit does not apply to them. */
  readonly own: () => Promise<readonly ScopeMetrics[]>
  /** The maximum number of series in the pipeline metrics. */
  readonly maxSeries: number
  /** Counts the series omitted from all scrapes. */
  readonly counts: ScrapeCounts
  readonly log: Log
}

export interface ScrapeCounts {
  leftOut: number
}

/** The maximum number of concurrent scrapes. A scrape needs little memory, but reads many rows. */
const maxScrapes = 10
/** The time after which a client that has not read the whole response is disconnected, ms. It is longer than a scrape may take. */
const maxScrapeMs = 60_000

export function createMetricsPage({ log, ...options }: MetricsPageOptions): FastifyPluginAsync {
  const limit = createBusyLimit(maxScrapes)
  const failed = (error: unknown): void => log.warn({ reason: reasonOf(error) }, 'a scrape ended early')
  return async app => {
    app.get('/metrics', async ({ headers, method }, reply) => {
      void reply.header('cache-control', 'no-store').header('vary', 'accept')
      const format = formatFor(headers.accept)
      if (method === 'HEAD') return reply.type(contentTypes[format]).send('')
      const answer = await limit.run(async () => {
        // A failure before the first piece results in an error response.
        const text = Readable.from(scrape(options, format)).once('error', failed)
        void reply.type(contentTypes[format]).send(text)
        const cut = after(maxScrapeMs, () => void reply.raw.destroy(), failed)
        await finished(reply.raw).catch(() => undefined)
        cut.stop()
        return 'answered' as const
      })
      if (answer === 'answered') return reply
      const message = 'Too many scrapes are under way. Try again in a few seconds.'
      return reply.code(429).header('retry-after', String(retryAfter)).send({ message })
    })
  }
}

type ScrapeOptions = Pick<MetricsPageOptions, 'ofPipelines' | 'own' | 'maxSeries' | 'counts'>

/** Writes the daemon's own gauges first. The daemon's other metrics come last, because they also count the series omitted from this scrape. */
async function* scrape(
  { ofPipelines, own, maxSeries, counts }: ScrapeOptions,
  format: Exposition,
): AsyncGenerator<string> {
  const [before, pipelines] = [await own(), await ofPipelines()]
  const budget: SeriesBudget = { left: maxSeries, leftOut: 0 }
  const unlimited: SeriesBudget = { left: Infinity, leftOut: 0 }
  yield* expositionOf(wholeMetrics(before).filter(isGauge), format, unlimited)
  yield* expositionOf(pipelines, format, budget)
  counts.leftOut += budget.leftOut
  const since = budget.leftOut === 0 ? before : await own()
  yield* expositionOf(
    wholeMetrics(since).filter(one => !isGauge(one)),
    format,
    unlimited,
  )
  yield endOf[format]
}

/** Returns OpenMetrics if the client prefers it to plain text, as Prometheus does. Browsers and curl get plain text. */
function formatFor(accept = ''): Exposition {
  const [openmetrics = 0, ...texts] = ['application/openmetrics-text', 'text/plain', 'text/*', '*/*'].map(type =>
    qualityOf(accept, type),
  )
  return openmetrics > Math.max(...texts) ? 'openmetrics' : 'text'
}

/** Returns a media type's quality value in the `Accept` header (RFC 9110, section 12.5.1); 0 if the header does not contain the type. */
function qualityOf(accept: string, type: string): number {
  const found = accept.split(',').map(one => one.split(';').map(part => part.trim().toLowerCase()))
  const qualities = found
    .filter(([name]) => name === type)
    .map(([, ...parameters]) => Number(parameters.find(one => one.startsWith('q='))?.slice(2) ?? 1))
  return Math.max(0, ...qualities.filter(Number.isFinite))
}
