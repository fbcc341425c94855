// `/metrics` in the Prometheus text format: who may read it, and how it is written. It knows nothing of what is measured.
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import type { Secret } from '../lib/secret.ts'

export interface MetricsPageOptions {
  /** What is measured now. */
  readonly collect: () => Promise<readonly ScopeMetrics[]>
  /** Readable without a token. */
  readonly isOpen: boolean
  /** The token of this moment; undefined: where the page is not open, nobody may read it. */
  readonly token: () => Secret | undefined
}

const contentType = 'text/plain; version=0.0.4; charset=utf-8'
const nowhere = resourceFromAttributes({})

export function createMetricsPage({ collect, isOpen, token }: MetricsPageOptions): FastifyPluginAsync {
  // Without timestamps, target_info and the scope's labels: one target, one scope.
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
  let rendering: Promise<string> | undefined

  async function render(): Promise<string> {
    const scopeMetrics = (await collect()).filter(({ metrics }) => metrics.length > 0)
    // The serializer brings a copy of the SDK with the same enums under another roof.
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
    return serializer.serialize({ resource: nowhere, scopeMetrics })
  }

  return async app => {
    app.get('/metrics', async (request, reply) => {
      void reply.header('cache-control', 'no-store')
      if (!isOpen && !isAdmitted(request, token())) {
        void reply.code(401).header('www-authenticate', 'Bearer realm="pipespan"')
        return reply.send({ message: 'The metrics need the admin token as a bearer token (PIPESPAN_ADMIN_TOKEN).' })
      }
      // Scrapers that come together share one reading.
      rendering ??= render().finally(() => {
        rendering = undefined
      })
      return reply.type(contentType).send(await rendering)
    })
  }
}

function isAdmitted(request: FastifyRequest, token: Secret | undefined): boolean {
  const [, given] = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  return token !== undefined && given !== undefined && token.equals(given)
}
