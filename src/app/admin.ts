// Starts the admin listener: health, the pages, and `/metrics`.
import { connectionLimits, openFilesLimit } from '../web/connection-limits.ts'
import { memoryLimit } from '../lib/memory-limit.ts'
import { createHealth } from '../web/health.ts'
import { createListener } from '../web/listener.ts'
import { createHiddenWords } from '../pages/access/hidden-words.ts'
import { createMetricsPage } from '../web/metrics-page.ts'
import { createScrapedMetrics } from '../export/scraped-metrics.ts'
import { drainDeadline } from './ingress-thread-handle.ts'
import { elapsed } from '../lib/clock.ts'
import { hiddenPaths, pagesOf, type Shown } from './pages.ts'
import { proveRoom } from '../store/maintenance/writable.ts'
import type { Context } from './context.ts'
import type { OwnTelemetry } from '../self-telemetry/own-telemetry.ts'
import type { Routes } from '../web/listener.ts'
import type { Started, Steps } from './steps.ts'

/** The part is its URL. */
export async function startAdmin(
  context: Context,
  shown: Shown,
  own: Pick<OwnTelemetry, 'collect'>,
  steps: Pick<Steps, 'isStopping'>,
): Promise<Started<string>> {
  const { config, store, clock, log } = context
  const { basePath, trustProxy } = config
  const health = createHealth({
    proveWritable: async () => proveRoom(store),
    stopping: () => steps.isStopping,
    now: () => elapsed(clock),
    log,
  })
  const limits = { connections: connectionLimits(openFilesLimit(), memoryLimit()).admin }
  const admin = createListener({ name: 'admin', ...config.admin.listen, basePath, trustProxy, health, log, limits })
  const metrics = metricsPage(context, shown, own)
  if (config.metrics.open) admin.register(metrics)
  admin.register(pagesOf(context, shown, config.metrics.open ? [] : [metrics]))
  const { url } = await admin.start()
  return { part: url, why: 'keep answering health checks until the end', stop: async () => admin.stop(drainDeadline) }
}

/** `/metrics`: those of pipelines, where metrics are on, and the daemon's own. */
function metricsPage({ config, store }: Context, { settings }: Shown, own: Pick<OwnTelemetry, 'collect'>): Routes {
  const { totals, repositories } = store
  const { recentRuns, gaugeReadings } = repositories
  const { profile } = config.platform
  const isHidden = hiddenPaths(config)
  const words = isHidden && createHiddenWords(isHidden)
  const ofPipelines = config.observability.export.includes('metrics')
    ? createScrapedMetrics({
        ...{ totals, recentRuns, gaugeReadings, profile, settings, isHidden },
        namesHidden: words && (text => words.names(text)),
        changes: settings.vcsMetrics ? store.changes : undefined,
      })
    : undefined
  return createMetricsPage({
    collect: async () => [...((await ofPipelines?.()) ?? []), ...(await own.collect())],
  })
}
