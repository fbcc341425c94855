// The shape of a feature: what it adds to the line, the daemon, the console and the command line, and what it gets for that. A feature is one
// folder of `features/`, whose `feature.ts` exports such an object, and one line of `features.ts`, which passes it on. No other code knows a
// feature by its name. So the folder and its line can be deleted, and the rest is still a complete product.
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

/** Everything except the name is optional. `Slice`: the feature's own options, with types inferred from its table. */
export interface FeatureOf<Slice> {
  /** The name of its folder and of the folder of its tests. */
  readonly name: string
  /** The features whose `port.ts` it imports. Without them, this feature is left out, too. */
  readonly needs?: readonly string[]
  /** Its options, by the headings of the reference. If the core has a group of the same name, they are added to that group. */
  readonly options?: Sections
  /** The paths of its options that are patterns of projects. Such a pattern may name a platform. */
  readonly patterns?: readonly string[]
  /** Its tables in the store. The store is opened with the tables of all features. */
  readonly schema?: StorePart
  /** Checks across its options: faults, and warnings about what is allowed but probably not intended. */
  readonly faults?: (options: Slice & Config, faultOf: FaultOf) => readonly ConfigFault[]
  readonly warnings?: (options: Slice & Config, unreported: Unreported) => readonly string[]
  /** The conditions that it does not report under these options. */
  readonly unreported?: (options: Slice & Config) => Unreported
  /** Destinations of messages that are not telemetry. Each has its own format (`encode`). */
  readonly messages?: (options: Slice, surroundings: Surroundings) => readonly Destination[]
  /** Notifies people about conditions that other code reports. */
  readonly notifier?: (options: Slice, context: RuleContext) => Promise<Notifier>
  /** The word in PIPESPAN_EVENTS that selects the events that the feature itself makes. */
  readonly ownEvents?: string
  /** How long finished pipelines and jobs took. */
  readonly pastDurations?: (context: PartContext) => PastDurations
  /** Its step on the line: it observes runs, snapshots, the insides of jobs, and events. */
  readonly lineStep?: (options: Slice, context: PartContext) => LineStep
  /** Its parts that run in the daemon. */
  readonly parts?: readonly Part<Slice>[]
  /** What it runs for each token of each platform. */
  readonly perToken?: PerToken<Slice>
  /** Counters of its parts that become metrics of the daemon itself. */
  readonly counts?: readonly CountOf[]
  /** The metrics of what it counts, for events that have `figures`. */
  readonly figures?: readonly (FiguresTable & { readonly isOn?: (options: Slice) => boolean })[]
  /** How the insides of jobs are exported. Only one feature may have this. */
  readonly insides?: InsideTelemetry
  /** Metrics of projects that it measures each time metrics are exported or scraped. */
  readonly projectMetrics?: MeasuresProjects<Slice>
  /** The gauges that it exports. */
  readonly gauges?: readonly Gauges[]
  /** Metrics that only `/metrics` shows. They are read at each scrape. Undefined: there are none. */
  readonly scraped?: (
    options: Slice,
    context: PartContext,
    view: ScrapeView,
  ) => (() => Promise<readonly ScopeMetrics[]>) | undefined
  /** What is to be fetched at regular intervals. The answers are points of its gauges. For what is fetched from a platform, see `perToken`. */
  readonly things?: (options: Slice, surroundings: Surroundings) => readonly Thing[]
  /** Conditions that last until somebody acts; undefined: it has no such conditions. */
  readonly standing?: (options: Slice, context: PartContext) => Standing | undefined
  /** Pages and routes of the JSON API. Called only if the console is on, so it should load their code only then. */
  readonly console?: (options: Slice, context: PartContext) => Promise<ConsolePart>
  /** Adds its commands. The code of a command is loaded when it runs. */
  readonly commands?: (line: ConfiguredLine<Slice>) => void
  readonly checks?: readonly Check<Slice>[]
  /** How many requests it causes, in sentences for `config check`. */
  readonly costs?: (options: Slice, surroundings: Surroundings) => readonly string[]
  /** What `pipespan backfill` reads instead of pipelines, if a flag asks for it. */
  readonly backfill?: Backfill<Slice>
  /** How `pipespan setup` creates an ingest token at an observability instance. */
  readonly ingestTokens?: (instance: { readonly url: string; readonly apiKey: Secret }) => TokenMaker
}

/** A feature for callers, who do not know its options: they pass the whole configuration, which includes these options. */
export type Feature = FeatureOf<never>

/** Derives the types of a feature's functions from the table of its options. */
export function feature<const O extends Sections>(
  definition: FeatureOf<SliceOf<O>> & { readonly options?: O },
): Feature {
  return definition
}

/** The tables of features, with which the store is opened. */
export function tablesOf(features: readonly Pick<Feature, 'schema'>[]): readonly StorePart[] {
  return features.flatMap(({ schema }) => schema ?? [])
}

/** The configured values of sections of options. */
export type SliceOf<O extends Sections> = ConfigOf<Intersection<O[keyof O]>>

/** Something that runs from the start of the daemon, or a reload, until its stop or the next reload. */
export interface Part<Slice> {
  /** Why it can be stopped once everything that was started later has stopped. */
  readonly why: string
  /** True: it is started before anything is sent, and stopped after the last request. */
  readonly aroundSending?: true
  /** Creates what runs; undefined if there is nothing to run. */
  readonly create: (options: Slice, context: PartContext) => Running | undefined
}

/** What a part runs, with what it has counted. */
export interface Running extends Loop {
  readonly counters?: object
  /** Its counters as a client of the platform's API, for the pages. */
  readonly client?: { readonly name: string; readonly counters: object }
}

/** Each function gets the options and the configuration for one token, as if it were the only one. */
export interface PerToken<Slice> {
  readonly part?: Omit<Part<Slice>, 'create' | 'aroundSending'> & {
    readonly create: (options: Slice, context: TokenContext) => Running | undefined
  }
  /** What is to be fetched from the platform at regular intervals. */
  readonly things?: (options: Slice, config: Config) => readonly Thing[]
  readonly checks?: readonly TokenCheck<Slice>[]
  /** What `pipespan config check --online` tries. */
  readonly trials?: Trials<Slice>
  /** Like `costs` of a feature. */
  readonly costs?: (options: Slice, config: Config) => readonly string[]
}

/** How chunks are exported. */
export interface Outlets {
  /** The queues that chunks are written to for sending. */
  readonly queues: readonly Route<Signal>[]
  /** What a chunk adds to the totals; undefined if metrics are off. */
  readonly measure: ((chunk: AnyChunk) => ProjectIncrements | undefined) | undefined
}

export interface RuleContext extends Context, Omit<Surroundings, 'config'> {}

/** The line after all features have added to it. */
export interface Line {
  readonly lineSteps: readonly LineStep[]
  readonly pastDurations: PastDurations
}

export interface PartContext extends RuleContext, Outlets {
  /** The notifier to report conditions to. */
  readonly notifier: Notifier
  /** Every token of every platform. Empty until the parts without `aroundSending` start. */
  readonly tokens: () => readonly TokenContext[]
  /** The line; like `tokens`, it is empty until those parts start. */
  readonly line: () => Line
  /** The standing conditions of all features. */
  readonly standing: () => readonly Standing[]
  /** For `takeEvents`, which stores events that no delivery reported. */
  readonly taking: EventTaking
}

/** How scrapes show metrics, and of which projects. */
export interface ScrapeView {
  readonly settings: TelemetrySettings
  readonly scope: Scope
}

export interface TokenContext extends PartContext {
  readonly client: PlatformClient & InsideClient
  /** The runs that the token is for. */
  readonly territory: Territory
  /** The key of what is stored about the token. */
  readonly scope: string
  readonly errors: ErrorThrottle
  /** The name of the lease of this token's work. */
  readonly leaseOf: (work: string) => string
}

/** A feature's options for each token. `options`: its options in the whole configuration. */
export function perToken<Slice extends object>(
  { config }: { readonly config: Config },
  options: Slice,
): readonly (Slice & Config)[] {
  return platformViews(config).map(view => ({ ...options, ...view.config }))
}

export interface MeasuresProjects<Slice> {
  /** The heads of its metrics, for the reference. */
  readonly heads: readonly (MetricHead & { readonly attributes: readonly AttributeRow<never>[] })[]
  /** Undefined: the feature measures nothing. `now`: the time of all points. */
  readonly read: (
    options: Slice,
    context: Pick<Context, 'store'> & Pick<Surroundings, 'profile'> & { readonly settings: TelemetrySettings },
  ) => ((now: Millis) => Promise<readonly ProjectMetrics[]>) | undefined
}

/** A counter among the daemon's own metrics. */
export interface CountOf {
  readonly name: string
  readonly unit: string
  readonly description: string
  /** The name of the parts' counter; or the names of several counters, by the values of an attribute. */
  readonly counter: string | { readonly attribute: string; readonly values: Readonly<Record<string, string>> }
  /** If the counter is divided by a key, or by two keys: the attributes for these keys. */
  readonly attributes?: readonly string[]
}

/** The share of a token's API budget for pages: people who look at pages must not make other requests wait. */
export function perMinuteForPeople({ platform }: Pick<Config, 'platform'>): number {
  return Math.max(1, Math.floor(platform.budget * 0.1))
}

/** The names of the platforms; `default` for the platform that the settings outside of `platforms` configure. */
export function platformsOf(config: Config): readonly string[] {
  return [...new Set(platformViews(config).map(({ platform }) => platform))]
}

export { isOfView } from './configuration/platforms.ts'
export type { Config } from './configuration/options.ts'
export type { Surroundings } from './context.ts'

/** By condition: what to do so that it is reported. */
export type Unreported = Readonly<Partial<Record<ConditionKind, string>>>

/** `switch`: the option that turns the gauges on, for the docs page about metrics. */
export interface Gauges {
  readonly switch: string
  readonly metrics: readonly (GaugeHead & { readonly attributes: readonly string[] })[]
}

export interface Standing {
  readonly kind: ConditionKind
  /** All known conditions of that kind, whether broken or fixed. `now`: the time on the store's clock. */
  readonly look: (now: Millis) => Promise<readonly Condition[]>
}

/** A check of `pipespan doctor`. A check that throws does not hide the others. */
export interface Check<Slice> {
  readonly name: string
  readonly run: (options: Slice, surroundings: Surroundings) => Promise<Finding | readonly Finding[]>
}

/** A check for one token. `client`: undefined without a token; `store`: undefined if it cannot be opened. */
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
  /** A plural noun for what is tried. It is also the key in JSON. */
  readonly what: string
  /** Tries everything; the result is empty if nothing is configured. `client`: undefined without a token. */
  readonly run: (options: Slice, client: PlatformClient | undefined) => Promise<readonly Trial[]>
}

export interface Trial {
  readonly ok: boolean
  readonly what: string
}
