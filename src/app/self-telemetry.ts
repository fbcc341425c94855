// The daemon's own metrics and traces, and the page that shows them with the pipelines': part of the composition root.
import { createFamilies } from '../telemetry/metrics/families.ts'
import { createMeters, type OwnMeters } from '../self-telemetry/meters.ts'
import { createMetricsPage } from '../web/metrics-page.ts'
import { createScrape, localProvider } from '../self-telemetry/scrape.ts'
import { createWatch, type Watch } from '../self-telemetry/watch.ts'
import { destinationsOf } from '../config/destinations.ts'
import { hiddenPaths } from './pages.ts'
import { lookAtActive } from '../export/active-runs.ts'
import { startSelfSdk, type SelfTarget } from '../self-telemetry/sdk.ts'
import { version } from '../lib/version.ts'
import type { AskingParts } from './platform.ts'
import type { Budget } from '../platform/rest/budget.ts'
import type { Config } from '../config/options.ts'
import type { ConfiguredDestination, ConfiguredTarget } from '../config/destinations.ts'
import type { Exporter } from '../export/exporter.ts'
import type { FastifyPluginAsync } from 'fastify'
import type { Intake } from '../processing/intake.ts'
import type { MetricFlush } from '../export/metric-flush.ts'
import type { ProjectTotals } from '../model/totals.ts'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import type { Seen } from '../self-telemetry/table.ts'
import type { Snapshotter } from '../processing/take-snapshots.ts'
import type { SettleLoop } from '../processing/settle-loop.ts'
import type { Store } from '../store/ports/store.ts'
import type { TelemetrySettings } from '../telemetry/settings.ts'
import type { WebhookDoor } from '../ingress/webhook.ts'

export interface OwnTelemetry {
  readonly watch: Watch
  /** From now on the observed metrics are read here. */
  observe(look: () => Promise<Seen>): void
  collect(): Promise<readonly ScopeMetrics[]>
  stop(deadlineMs: number): Promise<void>
}

/** `now`: milliseconds of Unix time. The OpenTelemetry SDK is loaded when self telemetry is on, and not otherwise. */
export async function startOwnTelemetry(config: Config, now: () => number): Promise<OwnTelemetry> {
  const scrape = createScrape()
  const sdk = config.self.telemetry ? await startSelfSdk({ ...selfTargets(config), scrape }) : undefined
  const provider = sdk?.meters ?? localProvider(scrape)
  let look: (() => Promise<Seen>) | undefined
  const meters: OwnMeters = createMeters(provider.getMeter('pipespan', version), async () => {
    if (look === undefined) throw new Error('the daemon has not started yet')
    return look()
  })
  return {
    watch: createWatch({ meters, tracer: sdk?.tracer, now }),
    observe: found => {
      look = found
    },
    collect: async () => scrape.collect(),
    stop: async deadlineMs => sdk?.stop(deadlineMs),
  }
}

/** What the daemon's parts have to show. */
export interface Parts {
  readonly now: () => number
  readonly door: Pick<WebhookDoor, 'counts'>
  readonly intake: Pick<Intake, 'counters'>
  readonly freezer: Pick<Snapshotter, 'counters'>
  readonly settler: Pick<SettleLoop, 'counters'>
  readonly exporter: Pick<Exporter, 'status'>
  readonly flush: Pick<MetricFlush, 'status'>
  readonly store: Store
  readonly budget?: Pick<Budget, 'snapshot'> | undefined
  /** Who asks the platform; undefined while nobody does. */
  readonly asking?: (() => Pick<AskingParts, 'enricher' | 'poller' | 'redelivery'> | undefined) | undefined
}

/** Looks at all of them at once. */
export function lookAt(parts: Parts): () => Promise<Seen> {
  const { door, intake, freezer, settler, exporter, flush, store, budget, asking } = parts
  return async () => {
    const [now, queued, inbox, runs, counters, fullness, snapshot] = await Promise.all([
      store.now(),
      exporter.status(),
      store.inbox.state(),
      store.runs.count(),
      store.counters.all(),
      store.pruning.fullness(),
      budget?.snapshot(),
    ])
    const asked = asking?.()
    return {
      ...{ now, inbox, runs, counters, fullness, damagedRows: store.damaged.count },
      webhook: door.counts,
      intake: intake.counters,
      freezer: freezer.counters,
      settler: settler.counters,
      queues: [...queued, ...flush.status()],
      budget: snapshot,
      enricher: asked?.enricher.counters,
      poller: asked?.poller?.counters,
      redelivery: asked?.redelivery?.counters,
    }
  }
}

/** `/metrics`: totals of all projects, runs under way, and the daemon's own. */
export function metricsPage(
  config: Config,
  store: Pick<Store, 'totals' | 'repositories'>,
  own: OwnTelemetry,
  settings: TelemetrySettings,
): FastifyPluginAsync {
  const isHidden = hiddenBy(config)
  const { totals, repositories } = store
  const { recentRuns } = repositories
  const { platform, observability } = config
  const isOn = observability.export.includes('metrics')
  const active = lookAtActive({ totals, recentRuns, profile: platform.profile, maxSeries: settings.maxSeries })
  return createMetricsPage({
    collect: async () => {
      if (!isOn) return own.collect()
      const families = createFamilies(settings)
      let from: number | undefined
      let now = 0
      do {
        const page = await totals.read(50, from)
        for (const one of page.projects) if (!isHidden(one)) families.add(one, page.now)
        ;({ now, next: from } = page)
      } while (from !== undefined)
      for (const one of await active()) if (!isHidden(one)) families.addActive(one, now)
      return [...families.scopes(), ...(await own.collect())]
    },
  })
}

/** True for a project that the configuration hides. */
function hiddenBy(config: Config): (one: Pick<ProjectTotals, 'project'>) => boolean {
  const isHidden = hiddenPaths(config)
  return isHidden === undefined ? () => false : ({ project }) => isHidden(project.path ?? project.name ?? '')
}

/** Its own endpoint, without headers and tokens; else where the pipelines' telemetry goes, as it goes there. */
function selfTargets(config: Config): { readonly traces: SelfTarget; readonly metrics: SelfTarget } {
  const { self, otlp } = config
  const shared = { timeoutMs: otlp.timeout, compression: otlp.compression }
  if (self.otlpEndpoint !== undefined) {
    const base = self.otlpEndpoint.replace(/\/$/, '')
    const target = (signal: string): SelfTarget => ({ ...shared, url: `${base}/v1/${signal}`, headers: () => ({}) })
    return { traces: target('traces'), metrics: target('metrics') }
  }
  const [first] = destinationsOf({
    ...config,
    observability: { ...config.observability, export: ['traces', 'metrics'] },
  })
  const target = (signal: 'traces' | 'metrics'): SelfTarget => {
    const found = first?.targets[signal]
    return found === undefined || first === undefined
      ? { ...shared, url: `http://localhost:4318/v1/${signal}`, headers: () => ({}) }
      : targetOf(first, found)
  }
  return { traces: target('traces'), metrics: target('metrics') }
}

function targetOf({ token }: ConfiguredDestination, target: ConfiguredTarget): SelfTarget {
  const { certificate: caFile, clientCertificate: certFile, clientKey: keyFile } = target.tls
  return {
    url: target.url,
    headers: () => {
      const given = Object.fromEntries([...target.headers()].map(([name, value]) => [name, value.reveal()]))
      const bearer = token.current()
      return bearer === undefined ? given : { ...given, authorization: `Bearer ${bearer.reveal()}` }
    },
    timeoutMs: target.timeout,
    compression: target.compression,
    tls: { caFile, certFile, keyFile },
  }
}
