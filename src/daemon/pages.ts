// Connects the pages with the parts of the daemon whose state they show.
import { createPages, type PagesOptions } from '../console/routes.ts'
import { fingerprintOf } from '../lib/secret.ts'
import { meaningOf } from '../core/telemetry/mapping/failure-reasons.ts'
import { hasSpan, isDerivedTraceId, jobSpanId } from '../core/telemetry/otlp/ids.ts'
import { refusals } from '../core/receive/webhook-counts.ts'
import { signals, type Signal } from '../core/store/ports/outbox.ts'
import { plainAttributes } from '../core/telemetry/otlp/attribute.ts'
import { literalOf } from '../core/telemetry/custom-attributes.ts'
import { signalResourceOf } from '../core/telemetry/resource.ts'
import { legacyNameOf, shownSpans } from '../core/telemetry/shown-span.ts'
import { eventRulesOf } from './processing.ts'
import { normalizeInstance } from '../model/instance.ts'
import { operatorEvent } from '../console/access/operator-event.ts'
import { operatorWord } from '../platform/webhook/event-selection.ts'
import { reasonOf } from '../lib/fault.ts'
import { takeEvents } from '../core/take-in/events.ts'
import { flowOf, type Flow } from '../console/overview/flow.ts'
import { configWithin, flowWithin, queuesWithin, setupWithin } from '../console/access/within-scope.ts'
import { platformViews } from './configuration/platforms.ts'
import { inSettingsOf } from '../platform/port/error.ts'
import { summedIfAny } from '../lib/summed.ts'
import type { Connection } from './connections.ts'
import type { Context } from './context.ts'
import type { PartContext, Running } from './feature.ts'
import type { PlatformParts } from './platform-parts.ts'
import type { Config } from './configuration/options.ts'
import { contentsOf } from '../core/send/shown-message.ts'
import type { Destination } from '../core/send/destination.ts'
import type { Exporter } from '../core/send/exporter.ts'
import type { OperatorAction, PagesSettings, PagesSources } from '../console/ports.ts'
import type { Scope } from '../core/store/ports/scope.ts'
import type { ScopeOf } from './scopes.ts'
import type { ExportedSpan } from '../console/layout/attributes.ts'
import type { ExportQueueStatus } from '../console/exports/columns.ts'
import type { ConfigStatus, Setup } from '../console/sources/setup-shape.ts'
import type { Chunk } from '../model/chunk.ts'
import type { TakeIn } from '../core/take-in/take-in.ts'
import type { MetricFlush } from '../core/send/metric-flush.ts'
import type { Route } from '../model/route.ts'
import type { Routes } from './listeners/listener.ts'
import type { ScrapeCounts } from './listeners/metrics-page.ts'
import type { Snapshotter } from '../core/settle/take-snapshots.ts'
import type { TelemetrySettings } from '../core/telemetry/settings.ts'
import type { Receiving } from './receiving.ts'

/** The running parts whose state the pages show. */
export interface Shown {
  readonly ingress: Pick<Receiving, 'counts' | 'lastAccepted' | 'url'>
  readonly intake: Pick<TakeIn, 'counters'>
  readonly snapshotter: Pick<Snapshotter, 'counters'>
  readonly exporter: Pick<Exporter, 'status' | 'wake' | 'tryNow'>
  readonly flush: Pick<MetricFlush, 'status' | 'tryNow'>
  /** The parts that use the platform's API; undefined if there are none. */
  readonly platform: PlatformParts | undefined
  /** The counters of the features' platform API clients. */
  readonly clients: readonly NonNullable<Running['client']>[]
  /** The connections to the platforms, one per token. */
  readonly connections: readonly Connection[]
  readonly destinations: readonly Destination[]
  /** The export queues that events are written to. */
  readonly queues: readonly Route<Signal>[]
  readonly settings: TelemetrySettings
  readonly configStatus: (() => ConfigStatus) | undefined
  readonly scrapes: ScrapeCounts
}

/** Creates the pages. `guarded` are additional routes that need the same protection as the pages. */
export function pagesOf(
  context: PartContext,
  shown: Shown,
  { features, guarded, scopeOf }: Pick<PagesOptions, 'features' | 'guarded'> & { readonly scopeOf: ScopeOf },
): Routes {
  const { config, store, clock, log } = context
  const { ingress, intake, snapshotter, exporter, flush, platform, settings, configStatus } = shown
  const { quarantine, counters } = store
  const startedAt = clock.now()
  const onAction = recorderOf(context, shown.queues)
  return createPages({
    ...{ features, guarded },
    settings: {
      adminToken: () => config.admin.token.current(),
      traceLink: config.traceLink,
      costUnit: config.costs.unit,
      groupBy: groupingOf(config),
      hasPrices: config.costs.rules.length > 0,
      people: peopleOf(config),
    },
    sessions: store.repositories.sessions,
    sourcesOf: choice => sourcesWithin(scopeOf(choice)),
  })

  function sourcesWithin(scope: Scope): PagesSources {
    const reads = store.reads(scope)
    const shownName = shownNames(config, scope)
    return {
      ...{ ...reads, bounds: scope.bounds, counters, log },
      quarantine: scope.bounds === 'none' ? quarantine : { count: async () => quarantine.count() },
      queues: async () => queuesWithin([...(await exporter.status()), ...flush.status()].sort(byDestination), scope),
      flow: () => flowWithin(currentFlow(shownName), scope),
      contentsOf,
      exported: chunks => chunks.flatMap(chunk => spansOf(chunk, settings)),
      legacyName: legacyNameOf,
      isTraceOf: (traceId, { instance, pipelineId }) => isDerivedTraceId(traceId, instance, pipelineId),
      hasSpan,
      failureDomain: reason => meaningOf(reason ?? '').domain,
      configStatus: configStatus && (() => configWithin(configStatus(), scope)),
      setup: () => setupWithin(setupOf(config, shown, { shownName, scope }), scope),
      tryNow: async destination => {
        const { due, probes } = await exporter.tryNow(destination)
        const tried = { due, probes: probes + flush.tryNow(destination) }
        log.info({ destination, ...tried }, 'postponed exports are sent now, as requested on the pages')
        return tried
      },
      onAction,
      onRetried: () => exporter.wake(),
      clockOffset: instance => shown.connections.find(({ client }) => client.instance === instance)?.clockOffset(),
      now: () => clock.now(),
    }
  }

  function currentFlow(shownName: (name: string) => string): Flow {
    return flowOf({
      ...{ startedAt, refusals, webhooks: ingress.counts, lastAccepted: ingress.lastAccepted },
      ...{ deliveries: intake.counters, snapshots: snapshotter.counters },
      platform: {
        details: platform?.enricher,
        poller: summedIfAny(platform?.pollers.map(({ poller }) => poller) ?? []),
        redelivery: summedIfAny(platform?.redeliveries.map(({ redelivery }) => redelivery) ?? []),
        ...Object.fromEntries(shown.clients.map(({ name, counters }) => [name, { counters }])),
      },
      platformErrors: (platform?.errors() ?? []).map(({ name, error }) => ({
        name: shownName(name),
        error: { message: inSettingsOf(name, error.message), remedy: inSettingsOf(name, error.remedy) },
      })),
      platformAnswered: platform?.hasAnswered() === true,
    })
  }
}

function peopleOf({ admin }: Pick<Config, 'admin'>): PagesSettings['people'] {
  const { trustedHeader: header, trustedProxies: proxies = [], people } = admin
  if (header === undefined) return undefined
  const entries = people.map(({ who, role, projects: { include = [], exclude = [] } }) => ({
    ...{ who, role },
    projects: include.length + exclude.length === 0 ? undefined : { include, exclude },
  }))
  return { header, proxies, hosts: admin.hosts, people: entries }
}

/** Logs operators' actions, and exports each as an event if such events are selected. */
function recorderOf(context: Context, queues: Shown['queues']): (action: OperatorAction) => Promise<void> {
  const { config, store, clock, log } = context
  const taking = {
    ...{ runs: store.runs, selection: { project: () => true }, now: () => clock.now() },
    rules: eventRulesOf({ ...context, queues }),
  }
  const instance = normalizeInstance(platformViews(config)[0]?.config.platform.url) ?? 'https://platform.invalid'
  return async action => {
    log.info(action, 'an operator retried or dropped exports')
    if (!config.events.includes(operatorWord)) return
    await takeEvents([operatorEvent(action, instance, clock.now())], taking).catch((error: unknown) =>
      log.error({ reason: reasonOf(error) }, 'the event of an operator’s action could not be stored'),
    )
  }
}

function groupingOf({ pages, attributes }: Pick<Config, 'pages' | 'attributes'>): PagesSettings['groupBy'] {
  const { groupBy: name } = pages
  return name === undefined ? undefined : { name, valueOf: literalOf(attributes.rules, name) }
}

/** Orders queues: the `default` destination comes first, then the others by name; signals are in their usual order. */
function byDestination(a: ExportQueueStatus, b: ExportQueueStatus): number {
  const place = ({ destination }: ExportQueueStatus): string => (destination === 'default' ? '' : destination)
  return place(a).localeCompare(place(b), 'en') || signals.indexOf(a.signal) - signals.indexOf(b.signal)
}

/** Returns the spans in their exported form. They are encoded again from the same chunk by the same code. */
function spansOf(chunk: Chunk, settings: TelemetrySettings): ExportedSpan[] {
  const jobs = new Map(chunk.jobs.map(job => [jobSpanId(chunk, job), job.id]))
  const resource = plainAttributes(signalResourceOf(chunk, settings))
  return shownSpans(chunk, settings).map(({ traceId, spanId, name, kind, start, end, attributes }) => ({
    ...{ attempt: chunk.attempt, name, kind, traceId, spanId, start, end, attributes },
    jobId: jobs.get(spanId),
    resource,
  }))
}

function setupOf(
  config: Config,
  { destinations, ingress }: Pick<Shown, 'destinations' | 'ingress'>,
  { shownName, scope }: { readonly shownName: (name: string) => string; readonly scope: Scope },
): Setup {
  const { observability } = config
  const views = platformViews(config)
  const hasSecret = ({ webhook }: Config): boolean =>
    webhook.token.current() !== undefined || webhook.signingToken.current() !== undefined
  return {
    webhooks: `${config.publicUrl?.replace(/\/+$/, '') ?? ingress.url ?? ''}/webhooks`,
    platform: views[0]?.config.platform.url,
    hasPlatformToken: views.some(view => view.config.platform.token.current() !== undefined),
    // With several platforms, deliveries from a platform without a secret are rejected.
    hasWebhookSecret: config.platforms.length > 0 || hasSecret(config),
    platforms: views.map(({ name, groups, config: own }) => {
      const token = own.platform.token.current()
      return {
        ...{ name: shownName(name), url: own.platform.url },
        groups: groups.map(group => (seesGroup(scope, own, group) ? group : hiddenGroup)),
        fingerprint: token === undefined ? undefined : fingerprintOf(token),
        perMinute: own.platform.budget,
        hasWebhookSecret: hasSecret(own),
      }
    }),
    destinations: destinations.map(({ name, signals, bearer }) => {
      const token = bearer?.current()
      return {
        name,
        endpoints: Object.entries(signals).map(([signal, endpoint]) => ({ signal, url: withoutQuery(endpoint.url) })),
        fingerprint: token === undefined ? undefined : fingerprintOf(token),
        tokenFrom: tokenFrom(config, name),
      }
    }),
    isExportOff: observability.export.length === 0,
  }
}

const hiddenGroup = '[hidden]'

/** Returns the display name of a connection. The name may contain a group's path, which may have to be hidden. */
function shownNames(config: Config, scope: Scope): (name: string) => string {
  const hidden = platformViews(config).filter(({ groups, config: own }) =>
    groups.some(group => !seesGroup(scope, own, group)),
  )
  const names = new Map(hidden.map(({ platform, name }, index) => [name, `${platform}/${hiddenGroup} ${index + 1}`]))
  return name => names.get(name) ?? name
}

function seesGroup(scope: Scope, { platform }: Pick<Config, 'platform'>, path: string): boolean {
  return scope.sees({ instance: normalizeInstance(platform.url) ?? '', path })
}

function tokenFrom(config: Config, name: string): string | undefined {
  const own = config.destinations.find(one => one.name === name)
  const secret = own === undefined ? config.observability.token : own.token
  if (secret.current() === undefined) return undefined
  return secret.path ?? 'a fixed value; a new value needs a restart'
}

/** Removes the query string from a URL before it is shown, because some backends accept a key as a parameter. */
function withoutQuery(address: string): string {
  const { origin, pathname } = new URL(address)
  return origin + pathname
}
