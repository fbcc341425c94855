// Converts the configured destinations into the form that the exporter needs, and starts everything that sends to them.
import { defaultPlatform, platformViews } from './configuration/platforms.ts'
import { destinationsOf, proxiesOf, type ConfiguredDestination } from './configuration/destinations.ts'
import { projectChooser, type PlatformOf } from '../lib/chooser.ts'
import { createExporter, type Exporter } from '../core/send/exporter.ts'
import { createMetricFlush, type MetricFlush, type MetricFlushOptions } from '../core/send/metric-flush.ts'
import { createSeriesCap } from '../core/telemetry/metrics/delta.ts'
import { hookMetrics } from '../core/find/hook-gauges.ts'
import { encodeLogs, encodeMetrics, encodeTraces } from '../core/telemetry/encode.ts'
import { measure } from '../core/telemetry/metrics/samples.ts'
import { platformNames, profileBy } from './connections.ts'
import { profiles } from './profile.ts'
import { telemetrySettings, type TelemetrySettings, type MetricRefs } from '../core/telemetry/settings.ts'
import type { Context } from './context.ts'
import type { Config } from './configuration/options.ts'
import type { Bearer, Destination, Endpoint } from '../core/send/destination.ts'
import { messagesBy, type Encode } from '../core/send/messages.ts'
import type { EncodeMessages, OtlpSignal, Signal } from '../core/store/ports/outbox.ts'
import type { GaugeHead } from '../core/telemetry/mapping/metric-row.ts'
import type { LiveSecret } from './configuration/live-secret.ts'
import type { MetricSources } from '../core/send/active-runs.ts'
import type { ExportMeters } from '../core/send/export-stats.ts'
import type { Secret } from '../lib/secret.ts'
import type { Feature, Outlets, Surroundings } from './feature.ts'
import type { Started } from './steps.ts'
import type { Subject } from '../model/route.ts'
import { literalOf } from '../core/telemetry/custom-attributes.ts'
import { namesIn } from '../lib/template.ts'
import type { Headers } from './configuration/pair-kinds.ts'

type Gauging = readonly Pick<Feature, 'gauges' | 'figures' | 'insides'>[]

const gaugesOf = ({ gauges = [] }: Pick<Feature, 'gauges'>): readonly GaugeHead[] => gauges.flatMap(one => one.metrics)

export interface ExportParts extends Outlets {
  /** All destinations with their queued signals. Metrics are queued only if their temporality is delta. */
  readonly destinations: readonly Destination[]
  /** All destinations with all their signals, including metrics that are not queued. */
  readonly whole: readonly Destination[]
  readonly metricDestinations: MetricFlushOptions['destinations']
  readonly settings: TelemetrySettings
}

export function exportDestinations(config: Config, features: Gauging): ExportParts {
  const settings = telemetryOf(config, features)
  const all = destinationsOf(config).map(one => ({
    ...destinationOf(one, config),
    temporality: one.temporality,
  }))
  const destinations = all.map(({ temporality, ...destination }) =>
    temporality === 'delta' ? destination : { ...destination, signals: withoutMetrics(destination) },
  )
  const queues = destinations.flatMap(({ name, signals, takes }) =>
    Object.keys(signals).map(signal => ({ destination: name, signal: signal as Signal, takes })),
  )
  return {
    ...{ destinations, whole: all },
    metricDestinations: all.filter(({ signals }) => signals.metrics !== undefined),
    queues,
    takesTotals: subject =>
      all.some(
        ({ temporality, signals, takes }) =>
          temporality !== 'delta' && signals.metrics !== undefined && (takes?.(subject) ?? true),
      ),
    measure: config.observability.export.includes('metrics') ? chunk => measure(chunk, settings) : undefined,
    settings,
  }
}

/** Returns the function that encodes chunks as messages. `others` are the destinations with their own message formats. */
function encodeFor(settings: TelemetrySettings, others: readonly Destination[]): EncodeMessages {
  const cap = createSeriesCap(settings.maxSeries)
  const encoders: Readonly<Record<OtlpSignal, Encode>> = {
    traces: chunk => encodeTraces([chunk], settings),
    metrics: chunk => encodeMetrics([chunk], settings, cap),
    logs: chunk => encodeLogs([chunk], settings),
  }
  return messagesBy(({ destination, signal }) =>
    signal === 'notifications' ? others.find(({ name }) => name === destination)?.encode : encoders[signal],
  )
}

export function encoderOf(config: Config, features: readonly Feature[]): EncodeMessages {
  return encodeFor(telemetryOf(config, features), messageDestinations(config, features))
}

/** Returns the features' destinations, which receive notifications in their own formats instead of telemetry. */
export function messageDestinations(
  config: Config,
  features: readonly Feature[],
  surroundings = surroundingsOf(config, features),
): Destination[] {
  return features.flatMap(one => one.messages?.(config as never, surroundings) ?? [])
}

/** Returns the configuration that is passed to features, with values derived from it. */
export function surroundingsOf(
  config: Config,
  features: Gauging,
  { whole }: Pick<ExportParts, 'whole'> = exportDestinations(config, features),
): Surroundings {
  return {
    ...{ config, destinations: whole, proxies: proxiesOf(config) },
    ...{ platformOf: platformNames(config), profile: profileBy(config) },
  }
}

export function startExporter(
  { store, events, clock, log }: Context,
  { destinations }: Pick<ExportParts, 'destinations'>,
  meters: ExportMeters,
): Started<Exporter> {
  const exporter = createExporter({
    ...{ destinations, clock, log, meters },
    outbox: store.outbox,
  })
  events.pending.on(() => exporter.wake())
  exporter.start()
  return {
    part: exporter,
    why: 'send the exports that are due; the rest stays pending in the store',
    stop: async left => {
      await exporter.flush(left())
      await exporter.stop(Math.max(1_000, left()))
    },
  }
}

export function startMetricFlush(
  { config, store, clock, log }: Context,
  { metricDestinations: destinations, settings }: Pick<ExportParts, 'metricDestinations' | 'settings'>,
  features: readonly Feature[],
  meters: ExportMeters,
): Started<MetricFlush> {
  const flush = createMetricFlush({
    ...metricSourcesOf({ config, store }, settings, features),
    ...{ destinations, leases: store.leases },
    ...{ interval: config.metrics.interval, clock, log, meters },
  })
  const isMeasured = destinations.length > 0 || config.observability.export.includes('metrics')
  if (isMeasured) flush.start()
  return {
    part: flush,
    why: 'all metrics are counted: send the totals',
    stop: async left => (isMeasured ? flush.finish(left()) : undefined),
  }
}

export function metricSourcesOf(
  { config, store }: Pick<Context, 'config' | 'store'>,
  settings: TelemetrySettings,
  features: readonly Feature[],
): MetricSources {
  const { totals, repositories } = store
  const { recentRuns, gaugeReadings } = repositories
  const profile = profileBy(config)
  const others = features.flatMap(one => one.projectMetrics?.read(config as never, { store, profile, settings }) ?? [])
  return {
    ...{ totals, recentRuns, gaugeReadings, profile, settings },
    others: async now => (await Promise.all(others.map(async read => read(now)))).flat(),
  }
}

/** Returns the operator's settings that determine the form of the telemetry. */
export function telemetryOf(config: Config, features: Gauging): TelemetrySettings {
  return telemetrySettings({
    profiles,
    serviceName: config.service.name,
    resourceAttributes: config.resource.attributes,
    attributeRules: config.attributes.rules,
    platformOf: platformNames(config),
    spanNames: config.traces.spanName,
    conventions: config.conventions,
    drop: config.attributes.drop ?? [],
    hash: config.attributes.hash ?? [],
    valueLengthLimit: config.attributes.valueLengthLimit,
    metricRefs: refsOf(config.metrics.refs),
    jobMetrics: config.jobMetrics,
    histogramBounds: config.metrics.histogramBounds,
    costUnit: config.costs.unit,
    maxSeries: config.metrics.maxSeries,
    eventNameAttribute: config.eventsNameAttribute,
    namesInstances: platformViews(config).some(({ platform }) => platform !== defaultPlatform),
    insides: features.find(({ insides }) => insides !== undefined)?.insides,
    gauges: [...hookMetrics, ...features.flatMap(gaugesOf)],
    figures: features.flatMap(({ figures = [] }) => figures.filter(({ isOn }) => isOn?.(config as never) ?? true)),
  })
}

function refsOf(refs: readonly string[] | undefined): MetricRefs | undefined {
  const [word, ...others] = refs ?? []
  return others.length === 0 && (word === 'all' || word === 'default') ? word : refs
}

function withoutMetrics({ signals }: Destination): Destination['signals'] {
  const { metrics: _, ...others } = signals
  return others
}

function destinationOf(
  { name, token, projects, templates, targets }: ConfiguredDestination,
  config: Config,
): Destination {
  const signals: Partial<Record<Signal, Endpoint>> = {}
  for (const [signal, target] of Object.entries(targets)) {
    const { url, headers, timeout: timeoutMs, compression, tls } = target
    const { certificate: caFile, clientCertificate: certFile, clientKey: keyFile } = tls
    signals[signal as Signal] = {
      url,
      get headers() {
        return Object.fromEntries(headers())
      },
      timeoutMs,
      compression,
      tls: { caFile, certFile, keyFile },
    }
  }
  const headerValues = templates && headerValuesOf(templates(), config)
  return {
    name,
    signals,
    takes: acceptsOnly(projects, platformNames(config), headerValues),
    headerValues,
    bearer: bearerOf(token),
    proxy: proxiesOf(config),
  }
}

/**
 * Returns a predicate for the subjects that a destination accepts: it accepts only subjects with a project or group, and with a value for every
 * header template.
 */
function acceptsOnly(
  projects: ConfiguredDestination['projects'],
  platformOf: PlatformOf,
  headerValues: Destination['headerValues'],
): Destination['takes'] {
  if (projects === undefined && headerValues === undefined) return undefined
  const isChosen = projects && projectChooser(projects, platformOf)
  return subject =>
    (isChosen === undefined || (subject.path !== undefined && isChosen(subject.path, subject.instance ?? ''))) &&
    (headerValues === undefined || headerValues(subject) !== undefined)
}

/** Creates a bearer token. When a backend rejects it, its file is read again immediately. */
function bearerOf(token: LiveSecret<Secret>): Bearer {
  return {
    file: token.path,
    current: () => token.current(),
    reload: async () => {
      const before = token.current()?.reveal()
      token.reload()
      return token.current()?.reveal() !== before
    },
  }
}

// The values of a destination's header templates: `{platform}`, the platform's name in `platforms`; `{group}`, the top-level group; `{project.id}`;
// `{own.NAME}`, an attribute whose value in `attributes.rules` depends only on the project (checked in `daemon/configuration/destination-checks.ts`).
/** Returns the function that computes the values of header templates, percent-encoded. Undefined if the headers contain no templates. */
function headerValuesOf(headers: Headers, config: Config): Destination['headerValues'] {
  const names = new Set([...headers.values()].flatMap(value => namesIn(value.reveal())))
  if (names.size === 0) return undefined
  const platformOf = platformNames(config)
  const known = [...names].map(name => [name, valueOf(name, config.attributes.rules, platformOf)] as const)
  return subject => {
    const values: Record<string, string> = {}
    for (const [name, of] of known) {
      const value = of(subject) ?? ''
      if (value === '') return undefined
      values[name] = encodeURIComponent(value)
    }
    return values
  }
}

function valueOf(
  name: string,
  rules: Config['attributes']['rules'],
  platformOf: PlatformOf,
): (subject: Subject) => string | undefined {
  if (name === 'platform') return ({ instance = '' }) => platformOf(instance)
  if (name === 'group') return ({ path }) => (path === undefined ? undefined : /^[^/]+/.exec(path)?.[0])
  if (name === 'project.id') return ({ projectId }) => projectId?.toString()
  const literal = literalOf(rules, name.replace(/^own\./, ''), platformOf)
  return ({ path, instance }) => (path === undefined ? undefined : literal(path, '', instance))
}
