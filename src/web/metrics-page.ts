// The route `/metrics`, in the Prometheus text format. Other rooms decide what is measured and who may read it.
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { FastifyPluginAsync } from 'fastify'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'

export interface MetricsPageOptions {
  /** The current metrics. */
  readonly collect: () => Promise<readonly ScopeMetrics[]>
}

const contentType = 'text/plain; version=0.0.4; charset=utf-8'
const nowhere = resourceFromAttributes({})

export function createMetricsPage({ collect }: MetricsPageOptions): FastifyPluginAsync {
  // Without timestamps, target_info and the scope's labels: one target, one scope.
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
  let rendering: Promise<string> | undefined

  async function render(): Promise<string> {
    const scopeMetrics = (await collect()).filter(({ metrics }) => metrics.length > 0)
    // The serializer has its own copy of the SDK's types, with equal enums.
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
    return visible(serializer.serialize({ resource: nowhere, scopeMetrics }))
  }

  return async app => {
    app.get('/metrics', async (_request, reply) => {
      void reply.header('cache-control', 'no-store')
      // Concurrent scrapes share one collection.
      rendering ??= render().finally(() => {
        rendering = undefined
      })
      return reply.type(contentType).send(await rendering)
    })
  }
}

/**
 * Names of branches or jobs may contain control characters, of which the serializer escapes only line feeds: a carriage return ends a line for some
 * parsers, and the others act on a terminal. As `\u001b` they stay distinct.
 */
function visible(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]/gu, char => `\\\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
