// The interface of a feature: what it adds to the core, the daemon, the console and the command line, and the context it receives. A feature is one
// folder in `features/`, whose `feature.ts` exports such an object, and one line in `features.ts`, which registers it. No other code refers to a
// feature by name. So the folder and its line can be deleted, and what remains is still a complete product.
import type { Condition, ConditionKind } from '../model/condition.ts'
import type { Config } from './configuration/options.ts'
import type { ConfigFault, FaultOf } from './configuration/config-fault.ts'
import type { ConfigOf, Intersection, Sections } from './configuration/option.ts'
import type { ConsolePart } from '../console/console-part.ts'
import type { Context, Surroundings } from './context.ts'
import type { Backfill, ConfiguredLine, TokenMaker } from './feature-commands.ts'
import type { AnyChunk } from '../model/event.ts'
import type { AttributeRow } from '../core/telemetry/mapping/row.ts'
import type { Destination } from '../core/send/destination.ts'
import type { EventTaking } from '../core/take-in/events.ts'
import type { Finding } from '../lib/finding.ts'
import type { FiguresTable, GaugeHead, MetricHead } from '../core/telemetry/mapping/metric-row.ts'
import type { InsideClient } from '../platform/port/inside.ts'
import type { LineStep, Notifier, PastDurations } from '../core/store/ports/reporter.ts'
import type { Loop } from '../lib/loop.ts'
import type { ErrorThrottle, PlatformClient } from '../platform/port.ts'
import type { Millis } from '../model/instant.ts'
import type { ProjectIncrements } from '../model/totals.ts'
import type { ProjectMetrics } from '../core/telemetry/metrics/cumulative.ts'
import type { Route } from '../model/route.ts'
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import type { Scope } from '../core/store/ports/scope.ts'
import type { Secret } from '../lib/secret.ts'
import { platformViews } from './configuration/platforms.ts'
import type { Signal } from '../core/store/ports/outbox.ts'
import type { StorePart } from '../core/store/ports/store-part.ts'
import type { SharedStore } from '../core/store/ports/store.ts'
import type { InsideTelemetry, TelemetrySettings } from '../core/telemetry/settings.ts'
import type { Territory } from '../model/territory.ts'
import type { Thing } from '../platform/port/asking.ts'

/** A feature. All properties except the name are optional. `Slice` is the type of the feature's own options, inferred from their table. */
export interface FeatureOf<Slice> {
  /** The name of the feature's folder and of its test folder. */
  readonly name: string
  /** The features whose `port.ts` this feature imports. If one of them is missing, this feature is left out as well. */
  readonly needs?: readonly string[]
  /**
   * The feature's options, grouped by the headings of the reference docs. If the core has a group with the same name, the options are added to that
   * group.
   */
  readonly options?: Sections
  /** The paths of the feature's options that contain project patterns. A project pattern may name a platform. */
  readonly patterns?: readonly string[]
  /** The feature's tables in the store. The store is opened with the tables of all features. */
  readonly schema?: StorePart
  /** Checks the feature's options. Returns faults, and warnings about settings that are allowed but probably unintended. */
  readonly faults?: (options: Slice & Config, faultOf: FaultOf) => readonly ConfigFault[]
  readonly warnings?: (options: Slice & Config, unreported: Unreported) => readonly string[]
  /** Returns the kinds of conditions that the feature does not report with these options. */
  readonly unreported?: (options: Slice & Config) => Unreported
  /** Returns destinations for notifications, which are not telemetry. Each destination has its own format (`encode`). */
  readonly messages?: (options: Slice, surroundings: Surroundings) => readonly Destination[]
  /** Creates a notifier, which notifies people about conditions reported by other code. */
  readonly notifier?: (options: Slice, context: RuleContext) => Promise<Notifier>
  /** The name in PIPESPAN_EVENTS that selects the events that the feature itself creates. */
  readonly ownEvents?: string
  /** Returns a source of the durations of finished pipelines and jobs. */
  readonly pastDurations?: (context: PartContext) => PastDurations
  /** Returns the feature's step in the processing line. It observes runs, snapshots, job internals (such as log sections), and events. */
  readonly lineStep?: (options: Slice, context: PartContext) => LineStep
  /** The feature's parts that run in the daemon. */
  readonly parts?: readonly Part<Slice>[]
  /** The functions that the feature runs for each token of each platform. */
  readonly perToken?: PerToken<Slice>
  /** The counters of the feature's parts, as the daemon exposes them among its own metrics. */
  readonly counts?: readonly CountOf[]
  /** The metrics that are computed from the figures of the feature's events. */
  readonly figures?: readonly (FiguresTable & { readonly isOn?: (options: Slice) => boolean })[]
  /** Defines how job internals (such as log sections) are exported. Only one feature may define this. */
  readonly insides?: InsideTelemetry
  /** The project metrics that the feature measures whenever metrics are exported or scraped. */
  readonly projectMetrics?: MeasuresProjects<Slice>
  readonly gauges?: readonly Gauges[]
  /** Returns a reader for metrics that are only exposed on `/metrics` and are read on each scrape. Undefined if there are none. */
  readonly scraped?: (
    options: Slice,
    context: PartContext,
    view: ScrapeView,
  ) => (() => Promise<readonly ScopeMetrics[]>) | undefined
  /**
   * Returns the inventory items that are fetched at regular intervals. The responses become data points of the feature's gauges. Items fetched from a
   * platform are in `perToken`.
   */
  readonly things?: (options: Slice, surroundings: Surroundings) => readonly Thing[]
  /** Returns the conditions that last until an operator acts; undefined if the feature has no such conditions. */
  readonly standing?: (options: Slice, context: PartContext) => Standing | undefined
  /** Returns the feature's pages and JSON API routes. It is called only if the console is enabled, so their code should be loaded only then. */
  readonly console?: (options: Slice, context: PartContext) => Promise<ConsolePart>
  /** Adds the feature's commands. A command's code is loaded when it runs. */
  readonly commands?: (line: ConfiguredLine<Slice>) => void
  readonly checks?: readonly Check<Slice>[]
  /** Returns how many requests the feature causes, as sentences for `config check`. */
  readonly costs?: (options: Slice, surroundings: Surroundings) => readonly string[]
  /** The data that `pipespan backfill` reads instead of pipelines if the feature's flag is given. */
  readonly backfill?: Backfill<Slice>
  /** Returns the client that `pipespan setup` uses to create an ingest token at an observability instance. */
  readonly ingestTokens?: (instance: { readonly url: string; readonly apiKey: Secret }) => TokenMaker
}

/** The type of a feature as callers see it. Callers do not know the feature's options, so they pass the whole configuration, which includes them. */
export type Feature = FeatureOf<never>

/** Declares a feature. The types of its functions are inferred from its option table. */
export function feature<const O extends Sections>(
  definition: FeatureOf<SliceOf<O>> & { readonly options?: O },
): Feature {
  return definition
}

/** Returns the features' tables, with which the store is opened. */
export function tablesOf(features: readonly Pick<Feature, 'schema'>[]): readonly StorePart[] {
  return features.flatMap(({ schema }) => schema ?? [])
}

/** The type of the configured values of option sections. */
export type SliceOf<O extends Sections> = ConfigOf<Intersection<O[keyof O]>>

/** A part of a feature. It runs from the start of the daemon, or a reload, until the daemon stops or the next reload. */
export interface Part<Slice> {
  /** Why it is safe to stop the part once everything that was started later has stopped. */
  readonly why: string
  /** If true, the part is started before anything is sent, and stopped after the last request. */
  readonly aroundSending?: true
  /** Creates the part's loop; undefined if there is nothing to run. */
  readonly create: (options: Slice, context: PartContext) => Running | undefined
}

/** Items that are to be read: `due` now, and `later` because an attempt failed or came too early. */
export interface ToRead {
  readonly due: number
  readonly later: number
}

/** The loop that a feature's part runs, and the part's counters. */
export interface Running extends Loop {
  readonly counters?: object
  /** Counts what the part still has to read about exported pipelines, such as job logs. `pipespan backfill --deliver` waits for what is due. */
  readonly toRead?: () => Promise<ToRead>
  /** The counters of the part's client of the platform's API, if it has one. The pages show them with the counters of the other clients. */
  readonly client?: { readonly name: string; readonly counters: object }
}

/** A feature's functions for each token. Each function receives the options and the configuration for one token, as if it were the only one. */
export interface PerToken<Slice> {
  readonly part?: Omit<Part<Slice>, 'create' | 'aroundSending'> & {
    readonly create: (options: Slice, context: TokenContext) => Running | undefined
  }
  /** Returns the inventory items that are fetched from the platform at regular intervals. */
  readonly things?: (options: Slice, config: Config) => readonly Thing[]
  readonly checks?: readonly TokenCheck<Slice>[]
  /** The requests that `pipespan config check --online` tries. */
  readonly trials?: Trials<Slice>
  /** Returns how many requests the feature causes with this token, as sentences for `config check`. */
  readonly costs?: (options: Slice, config: Config) => readonly string[]
}

/** Defines how chunks are exported. */
export interface Outlets {
  /** The export queues that chunks are written to. */
  readonly queues: readonly Route<Signal>[]
  /** Whether a destination accepts a project's metric totals, which are sent without a queue. */
  readonly takesTotals: NonNullable<Route['takes']>
  /** Returns the amounts that a chunk adds to the metric totals; undefined if metrics are disabled. */
  readonly measure: ((chunk: AnyChunk) => ProjectIncrements | undefined) | undefined
}

export interface RuleContext extends Context, Omit<Surroundings, 'config'> {}

/** The processing line: the steps from a delivery to its export, including the steps that features add. */
export interface Line {
  readonly lineSteps: readonly LineStep[]
  readonly pastDurations: PastDurations
}

export interface PartContext extends RuleContext, Outlets {
  /** The notifier to which a feature reports conditions. */
  readonly notifier: Notifier
  /** Returns every token of every platform. The list is empty while parts with `aroundSending` start, because they start first. */
  readonly tokens: () => readonly TokenContext[]
  /** Returns the processing line. It is empty while parts with `aroundSending` start, because they start first. */
  readonly line: () => Line
  /** Returns the standing conditions of all features. */
  readonly standing: () => readonly Standing[]
  /** The context for `takeEvents`, which stores events that were not reported by a delivery. */
  readonly taking: EventTaking
}

/** How metrics are exposed to scrapes, and for which projects. */
export interface ScrapeView {
  readonly settings: TelemetrySettings
  readonly scope: Scope
}

export interface TokenContext extends PartContext {
  readonly client: PlatformClient & InsideClient
  /** The territory of the token: the runs that are requested with it. */
  readonly territory: Territory
  /** The key under which facts about the token are stored. */
  readonly scope: string
  readonly errors: ErrorThrottle
  /** Returns the name of the lease for a kind of work done with this token. */
  readonly leaseOf: (work: string) => string
}

/** Returns a feature's options for each token. `options` are its options in the whole configuration. */
export function perToken<Slice extends object>(
  { config }: { readonly config: Config },
  options: Slice,
): readonly (Slice & Config)[] {
  return platformViews(config).map(view => ({ ...options, ...view.config }))
}

export interface MeasuresProjects<Slice> {
  /** The definitions of the feature's metrics, for the reference docs. */
  readonly heads: readonly (MetricHead & { readonly attributes: readonly AttributeRow<never>[] })[]
  /** Returns the function that measures projects; undefined if the feature measures nothing. `now` is the timestamp of all data points. */
  readonly read: (
    options: Slice,
    context: Pick<Context, 'store'> & Pick<Surroundings, 'profile'> & { readonly settings: TelemetrySettings },
  ) => ((now: Millis) => Promise<readonly ProjectMetrics[]>) | undefined
}

/** A feature's counter among the daemon's own metrics. */
export interface CountOf {
  readonly name: string
  readonly unit: string
  readonly description: string
  /** The name of the counter that the feature increments or, if the metric combines several counters, their names by attribute value. */
  readonly counter: string | { readonly attribute: string; readonly values: Readonly<Record<string, string>> }
  /** The attribute names for the counter's keys, if it is broken down by one or two keys. */
  readonly attributes?: readonly string[]
}

/** Returns the share of a token's API budget that the pages may use, in requests per minute. People viewing pages must not delay other requests. */
export function perMinuteForPeople({ platform }: Pick<Config, 'platform'>): number {
  return Math.max(1, Math.floor(platform.budget * 0.1))
}

/** Returns the platform names. `default` is the platform configured by the settings outside of `platforms`. */
export function platformsOf(config: Config): readonly string[] {
  return [...new Set(platformViews(config).map(({ platform }) => platform))]
}

export { isOfView } from './configuration/platforms.ts'
export type { Config } from './configuration/options.ts'
export type { Surroundings } from './context.ts'

/** For each kind of condition that is not reported: what the operator must do so that it is reported. */
export type Unreported = Readonly<Partial<Record<ConditionKind, string>>>

/** A feature's gauges. `switch` is the option that enables them, for the docs page about metrics. */
export interface Gauges {
  readonly switch: string
  readonly metrics: readonly (GaugeHead & { readonly attributes: readonly string[] })[]
}

export interface Standing {
  readonly kind: ConditionKind
  /** Returns all known conditions of this kind, both ongoing and resolved. `now` is the time on the store's clock. */
  readonly currentConditions: (now: Millis) => Promise<readonly Condition[]>
}

/** A check of `pipespan doctor`. If one check throws, the others are still shown. */
export interface Check<Slice> {
  readonly name: string
  readonly run: (options: Slice, surroundings: Surroundings) => Promise<Finding | readonly Finding[]>
}

/** A `pipespan doctor` check for one token. `client` is undefined without a token; `store` is undefined if it cannot be opened. */
export interface TokenCheck<Slice> {
  readonly name: string
  readonly run: (
    options: Slice,
    known: {
      readonly config: Config
      readonly client: PlatformClient | undefined
      readonly store: SharedStore | undefined
    },
  ) => Promise<Finding | readonly Finding[]>
}

export interface Trials<Slice> {
  /** A plural noun that names the tested requests. It is also their key in the JSON output. */
  readonly what: string
  /** Sends all requests as a test; the result is empty if none are configured. `client` is undefined without a token. */
  readonly run: (options: Slice, client: PlatformClient | undefined) => Promise<readonly Trial[]>
}

export interface Trial {
  readonly ok: boolean
  readonly what: string
}
