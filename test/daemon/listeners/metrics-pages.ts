// Formats metrics as text, and serves a metrics page with metrics other than the daemon's, for tests.
import { expositionOf, type Exposition, type ScrapedMetric } from '../../../src/daemon/listeners/exposition.ts'
import { createMetricsPage, type MetricsPageOptions } from '../../../src/daemon/listeners/metrics-page.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { FastifyPluginAsync } from 'fastify'

export function metricsPageOf(options: Partial<MetricsPageOptions>): FastifyPluginAsync {
  return createMetricsPage({
    ofPipelines: async () => Promise.resolve([]),
    own: async () => Promise.resolve([]),
    ...{ maxSeries: Infinity, counts: { leftOut: 0 }, log: silentLog() },
    ...options,
  })
}

/** Returns the whole exposition text without its end marker. */
export async function expositionText(metrics: readonly ScrapedMetric[], format: Exposition): Promise<string> {
  let text = ''
  const room = { left: Infinity, leftOut: 0 }
  for await (const piece of expositionOf(metrics, format, room)) text += piece
  return text
}
