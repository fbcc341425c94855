// Starts the admin listener: health checks, `/metrics`, and the pages. The pages' code is loaded only if they are enabled.
import { metricSourcesOf } from './export.ts'
import { createGate, refuse, type Gate } from '../console/access/gate.ts'
import { createHealth } from './listeners/health.ts'
import { createListener, type Routes } from './listeners/listener.ts'
import { createMetricsPage } from './listeners/metrics-page.ts'
import { createScrapedMetrics } from '../core/send/scraped-metrics.ts'
import { drainDeadline } from './receiving.ts'
import { elapsed } from '../lib/clock.ts'
import { scopesOf } from './scopes.ts'
import { proveRoom } from '../core/store/maintenance/fullness.ts'
import { wholeMetrics } from './listeners/exposition.ts'
import type { Feature, PartContext } from './feature.ts'
import type { OwnTelemetry } from './own-telemetry/own-telemetry.ts'
import type { Scope } from '../core/store/ports/scope.ts'
import type { Shown } from './pages.ts'
import type { Started } from './steps.ts'
import type { FastifyPluginAsync } from 'fastify'

/** Starts the admin listener. Returns the step that stops it, whose `part` is the listener's URL. */
export async function startAdmin(
  context: PartContext,
  features: readonly Feature[],
  shown: Shown,
  own: Pick<OwnTelemetry, 'collect'>,
  { isStopping, port }: { readonly isStopping: () => boolean; readonly port: number | undefined },
): Promise<Started<string>> {
  const { config, store, clock, log } = context
  const { basePath, trustProxy } = config
  const health = createHealth({
    proveWritable: async () => proveRoom(store),
    isInPlace: () => store.isInPlace?.() ?? true,
    stopping: isStopping,
    now: () => elapsed(clock),
    log,
  })
  const listen = config.admin.listen.port === 0 ? { ...config.admin.listen, port: port ?? 0 } : config.admin.listen
  const admin = createListener({ name: 'admin', ...listen, basePath, trustProxy, health, log })
  const scopeOf = scopesOf(config)
  const metrics = metricsPage(context, features, shown, own, scopeOf(undefined))
  if (config.metrics.open) admin.register(metrics)
  const guarded = config.metrics.open ? [] : [metrics]
  if (config.pages.enabled) {
    const { pagesOf } = await import('./pages.ts')
    const parts = await Promise.all(features.map(async one => one.console?.(config as never, context)))
    admin.register(pagesOf(context, shown, { guarded, scopeOf, features: parts.filter(part => part !== undefined) }))
  } else {
    const gate = createGate({ token: () => config.admin.token.current(), now: () => clock.now() })
    admin.register(withoutPages(gate, guarded))
  }
  const { url } = await admin.start()
  return { part: url, why: 'keep answering health checks until the end', stop: async () => admin.stop(drainDeadline) }
}

/** Creates the `/metrics` route: pipeline metrics if metrics are enabled, features' metrics, and the daemon's own metrics. */
function metricsPage(
  context: PartContext,
  features: readonly Feature[],
  { settings, scrapes }: Shown,
  own: Pick<OwnTelemetry, 'collect'>,
  scope: Scope,
): Routes {
  const { config, log } = context
  const ofPipelines = config.observability.export.includes('metrics')
    ? createScrapedMetrics({
        ...metricSourcesOf(context, settings, features),
        scope,
      })
    : undefined
  const ofFeatures = features.flatMap(one => one.scraped?.(config as never, context, { settings, scope }) ?? [])
  return createMetricsPage({
    ofPipelines: async () => [
      ...((await ofPipelines?.()) ?? []),
      ...wholeMetrics((await Promise.all(ofFeatures.map(async scrape => scrape()))).flat()),
    ],
    own: async () => own.collect(),
    ...{ maxSeries: config.metrics.scrapeMaxSeries, counts: scrapes, log },
  })
}

// If the pages are disabled, the admin listener serves only health checks and, to authorized clients, `/metrics`. Its response to any other path is
// this message.
const message =
  'The pages and their JSON API are off: PIPESPAN_PAGES=false (pages.enabled). To see them, set it to true and restart the daemon. /healthz, /readyz and /metrics are still served.'

/** Creates the admin listener's routes when the pages are disabled. `guarded` are the routes that only authorized clients may use. */
function withoutPages(gate: Gate, guarded: readonly FastifyPluginAsync[]): FastifyPluginAsync {
  return async app => {
    app.addHook('preClose', async () => gate.close())
    for (const path of ['/', '/*'])
      app.get(path, { config: { isCatchAll: true } }, async (_request, reply) => reply.code(404).send({ message }))
    await app.register(async inner => {
      inner.addHook('onRequest', async (request, reply) => {
        void reply.header('cache-control', 'no-store')
        const found = await gate.check(request)
        return found === 'loopback' || found === 'bearer' ? undefined : refuse(reply, found)
      })
      for (const routes of guarded) await inner.register(routes)
    })
  }
}
