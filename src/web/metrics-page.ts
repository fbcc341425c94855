// The route `/metrics`, in the format that the client asks for. Other rooms decide what is measured and who may read it.
import type { FastifyPluginAsync } from 'fastify'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { contentTypes, expositionOf, type Exposition } from './exposition.ts'

/** `collect`: the current metrics. */
export function createMetricsPage(collect: () => Promise<readonly ScopeMetrics[]>): FastifyPluginAsync {
  let collecting: Promise<readonly ScopeMetrics[]> | undefined
  return async app => {
    app.get('/metrics', async ({ headers }, reply) => {
      void reply.header('cache-control', 'no-store').header('vary', 'accept')
      // Concurrent scrapes share one collection.
      collecting ??= collect().finally(() => {
        collecting = undefined
      })
      const format = formatFor(headers.accept)
      return reply.type(contentTypes[format]).send(expositionOf(await collecting, format))
    })
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
