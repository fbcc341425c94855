// Starts the admin listener: health, `/metrics`, and the pages, whose code is only loaded where they are on.
import { metricSourcesOf } from './export.ts'
import { connectionLimits, openFilesLimit } from './listeners/connection-limits.ts'
import { memoryLimit } from '../lib/memory-limit.ts'
import { createGate } from '../console/access/gate.ts'
import { createHealth } from './listeners/health.ts'
import { createListener } from './listeners/listener.ts'
import { createMetricsPage } from './listeners/metrics-page.ts'
import { createScrapedMetrics } from '../core/send/scraped-metrics.ts'
import { drainDeadline } from './receiving.ts'
import { elapsed } from '../lib/clock.ts'
import { scopesOf } from './scopes.ts'
import { proveRoom } from '../core/store/maintenance/maintenance.ts'
import { wholeMetrics } from './listeners/exposition.ts'
import { createTurns, type Turns } from '../lib/turns.ts'
import { withoutPages } from './listeners/without-pages.ts'
import type { Feature, PartContext } from './feature.ts'
import type { OwnTelemetry } from './own-telemetry/own-telemetry.ts'
import type { Scope } from '../core/store/ports/scope.ts'
import type { Routes } from './listeners/listener.ts'
import type { Shown } from './pages.ts'
import type { Started } from './steps.ts'

/** The part is its URL. */
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
  const limits = { connections: connectionLimits(openFilesLimit(), memoryLimit()).admin }
  const listen = config.admin.listen.port === 0 ? { ...config.admin.listen, port: port ?? 0 } : config.admin.listen
  const turns = createTurns()
  const admin = createListener({ name: 'admin', ...listen, basePath, trustProxy, health, log, limits, turns })
  const scopeOf = scopesOf(config)
  const metrics = metricsPage(context, features, shown, own, scopeOf(undefined), turns)
  if (config.metrics.open) admin.register(metrics)
  const guarded = config.metrics.open ? [] : [metrics]
  if (config.pages.enabled) {
    const { pagesOf } = await import('./pages.ts')
    const parts = await Promise.all(features.map(async one => one.console?.(config as never, context)))
    admin.register(
      pagesOf(context, shown, { guarded, scopeOf, turns, features: parts.filter(part => part !== undefined) }),
    )
  } else {
    const gate = createGate({ token: () => config.admin.token.current(), now: () => clock.now() })
    admin.register(withoutPages(gate, guarded))
  }
  const { url } = await admin.start()
  return { part: url, why: 'keep answering health checks until the end', stop: async () => admin.stop(drainDeadline) }
}

/** `/metrics`: the metrics of pipelines, where metrics are on, those of features, and the daemon's own. */
function metricsPage(
  context: PartContext,
  features: readonly Feature[],
  { settings, scrapes }: Shown,
  own: Pick<OwnTelemetry, 'collect'>,
  scope: Scope,
  turns: Turns,
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
    ...{ maxSeries: config.metrics.scrapeMaxSeries, counts: scrapes, turns, log },
  })
}
