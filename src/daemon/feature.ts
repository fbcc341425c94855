// The shape of a feature: what one adds to the line, the daemon, the console and the command line, and what it is given for that. A feature is one
// folder of `features/`, whose `feature.ts` has one of these, and one line of `features.ts`, which is handed down from there: nothing else knows a
// feature by its name. So the folder and its line can be deleted, and what remains is a whole product.
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

/** All of it but the name is optional. `Slice`: the feature's own options, as its table infers them. */
export interface FeatureOf<Slice> {
  /** That of its folder, and of the folder of its tests. */
  readonly name: string
  /** The features whose `port.ts` it imports: without them it is not there either. */
  readonly needs?: readonly string[]
  /** Its options, by the headings of the reference; those of a group that the core has, too, are added to it. */
  readonly options?: Sections
  /** Paths of its options that are patterns of projects: a pattern may name a platform. */
  readonly patterns?: readonly string[]
  /** Its tables in the store. Whoever opens the store gives it those of all features. */
  readonly schema?: StorePart
  /** What is wrong with its options beyond a single value, and what is allowed but probably not intended. */
  readonly faults?: (options: Slice & Config, faultOf: FaultOf) => readonly ConfigFault[]
  readonly warnings?: (options: Slice & Config, unreported: Unreported) => readonly string[]
  /** Conditions that it does not report under these options. */
  readonly unreported?: (options: Slice & Config) => Unreported
  /** Destinations of messages that are no telemetry: each has a format of its own (`encode`). */
  readonly messages?: (options: Slice, surroundings: Surroundings) => readonly Destination[]
  /** Notifies people about conditions that others report. */
  readonly notifier?: (options: Slice, context: RuleContext) => Promise<Notifier>
  /** The word of PIPESPAN_EVENTS that selects the events that it makes itself. */
  readonly ownEvents?: string
  /** How long what finished took. */
  readonly pastDurations?: (context: PartContext) => PastDurations
  /** What it takes from the line. */
  readonly lineStep?: (options: Slice, context: PartContext) => LineStep
  /** What runs in the daemon. */
  readonly parts?: readonly Part<Slice>[]
  /** What it does with each token of each platform. */
  readonly perToken?: PerToken<Slice>
  /** Counters of its parts that are metrics of the daemon itself. */
  readonly counts?: readonly CountOf[]
  /** The metrics of what it counts: of events that have `figures`. */
  readonly figures?: readonly (FiguresTable & { readonly isOn?: (options: Slice) => boolean })[]
  /** How the insides of jobs look; of one feature. */
  readonly insides?: InsideTelemetry
  /** Metrics of projects that it measures whenever metrics are exported or scraped. */
  readonly projectMetrics?: MeasuresProjects<Slice>
  /** The gauges that it exports. */
  readonly gauges?: readonly Gauges[]
  /** Metrics that only `/metrics` shows, read at each scrape. Undefined: there are none. */
  readonly scraped?: (
    options: Slice,
    context: PartContext,
    view: ScrapeView,
  ) => (() => Promise<readonly ScopeMetrics[]>) | undefined
  /** What is to be asked from time to time, whose answers are points of its gauges; of a platform see `perToken`. */
  readonly things?: (options: Slice, surroundings: Surroundings) => readonly Thing[]
  /** Conditions that last until somebody acts; undefined: there are none to look at. */
  readonly standing?: (options: Slice, context: PartContext) => Standing | undefined
  /** Pages and routes of the JSON API. It is called only where the console is on, so it loads them. */
  readonly console?: (options: Slice, context: PartContext) => Promise<ConsolePart>
  /** Adds its commands. What a command does is loaded when it runs. */
  readonly commands?: (line: ConfiguredLine<Slice>) => void
  readonly checks?: readonly Check<Slice>[]
  /** How many requests it costs, in sentences for `config check`. */
  readonly costs?: (options: Slice, surroundings: Surroundings) => readonly string[]
  /** What `pipespan backfill` reads instead of pipelines, where a flag asks for it. */
  readonly backfill?: Backfill<Slice>
  /** How `pipespan setup` makes an ingest token at an observability instance. */
  readonly ingestTokens?: (instance: { readonly url: string; readonly apiKey: Secret }) => TokenMaker
}

/** A feature whose options nobody but itself knows: whoever calls it hands it the whole configuration, which has them. */
export type Feature = FeatureOf<never>

/** Types a feature's functions by the table of its options. */
export function feature<const O extends Sections>(
  definition: FeatureOf<SliceOf<O>> & { readonly options?: O },
): Feature {
  return definition
}

/** The tables of features, for the store that is opened with them. */
export function tablesOf(features: readonly Pick<Feature, 'schema'>[]): readonly StorePart[] {
  return features.flatMap(({ schema }) => schema ?? [])
}

/** The configured values of sections of options. */
export type SliceOf<O extends Sections> = ConfigOf<Intersection<O[keyof O]>>

/** Something that runs between the start of the daemon and its stop, or a reload. */
export interface Part<Slice> {
  /** Why it can be stopped once all that was started later has stopped. */
  readonly why: string
  /** Started before anything is sent, and stopped after the last request. */
  readonly aroundSending?: true
  /** Undefined: there is nothing to run. */
  readonly create: (options: Slice, context: PartContext) => Running | undefined
}

/** What a part runs, with what it has counted. */
export interface Running extends Loop {
  readonly counters?: object
  /** What it counts as a client of the platform's API, for the pages. */
  readonly client?: { readonly name: string; readonly counters: object }
}

/** The options and the configuration of each function are those of one token, as if it were the only one. */
export interface PerToken<Slice> {
  readonly part?: Omit<Part<Slice>, 'create' | 'aroundSending'> & {
    readonly create: (options: Slice, context: TokenContext) => Running | undefined
  }
  /** What is to be asked of the platform from time to time. */
  readonly things?: (options: Slice, config: Config) => readonly Thing[]
  readonly checks?: readonly TokenCheck<Slice>[]
  /** What `pipespan config check --online` tries. */
  readonly trials?: Trials<Slice>
  /** As `costs` of a feature. */
  readonly costs?: (options: Slice, config: Config) => readonly string[]
}

/** How chunks are exported. */
export interface Outlets {
  /** Where they are put for sending. */
  readonly queues: readonly Route<Signal>[]
  /** What one adds to the totals; undefined when metrics are off. */
  readonly measure: ((chunk: AnyChunk) => ProjectIncrements | undefined) | undefined
}

export interface RuleContext extends Context, Omit<Surroundings, 'config'> {}

/** What is known of the line once all features have added to it. */
export interface Line {
  readonly lineSteps: readonly LineStep[]
  readonly pastDurations: PastDurations
}

export interface PartContext extends RuleContext, Outlets {
  /** Whom to report conditions to. */
  readonly notifier: Notifier
  /** Every token of every platform, once the parts start that are not around sending. */
  readonly tokens: () => readonly TokenContext[]
  /** As long as `tokens`. */
  readonly line: () => Line
  /** Those of all features. */
  readonly standing: () => readonly Standing[]
  /** With `takeEvents`: events that no delivery reported. */
  readonly taking: EventTaking
}

/** What scrapes show, and of which projects. */
export interface ScrapeView {
  readonly settings: TelemetrySettings
  readonly scope: Scope
}

export interface TokenContext extends PartContext {
  readonly client: PlatformClient & InsideClient
  /** The runs that it is for. */
  readonly territory: Territory
  /** The key of what is stored about it. */
  readonly scope: string
  readonly errors: ErrorThrottle
  /** The name of the lease of this token's work. */
  readonly leaseOf: (work: string) => string
}

/** A feature's options for each token. `options`: those of the whole configuration. */
export function perToken<Slice extends object>(
  { config }: { readonly config: Config },
  options: Slice,
): readonly (Slice & Config)[] {
  return platformViews(config).map(view => ({ ...options, ...view.config }))
}

export interface MeasuresProjects<Slice> {
  /** For the reference. */
  readonly heads: readonly (MetricHead & { readonly attributes: readonly AttributeRow<never>[] })[]
  /** Undefined: it measures nothing. `now`: the time of all points. */
  readonly read: (
    options: Slice,
    context: Pick<Context, 'store'> & Pick<Surroundings, 'profile'> & { readonly settings: TelemetrySettings },
  ) => ((now: Millis) => Promise<readonly ProjectMetrics[]>) | undefined
}

/** A row of the daemon's own metrics: a counter. */
export interface CountOf {
  readonly name: string
  readonly unit: string
  readonly description: string
  /** The counter of the feature's parts; or several, by the values of an attribute. */
  readonly counter: string | { readonly attribute: string; readonly values: Readonly<Record<string, string>> }
  /** Where the counter consists of several by a key, or by two keys: the attributes that have the keys. */
  readonly attributes?: readonly string[]
}

/** A share of the API budget of a token, so that people who look at pages do not make other requests wait. */
export function perMinuteForPeople({ platform }: Pick<Config, 'platform'>): number {
  return Math.max(1, Math.floor(platform.budget * 0.1))
}

/** The names of the platforms; `default` for that of the settings outside of `platforms`. */
export function platformsOf(config: Config): readonly string[] {
  return [...new Set(platformViews(config).map(({ platform }) => platform))]
}

export { isOfView } from './configuration/platforms.ts'
export type { Config } from './configuration/options.ts'
export type { Surroundings } from './context.ts'

/** What to do to have them reported. */
export type Unreported = Readonly<Partial<Record<ConditionKind, string>>>

/** `switch`: the option that turns them on, for the page of metrics. */
export interface Gauges {
  readonly switch: string
  readonly metrics: readonly (GaugeHead & { readonly attributes: readonly string[] })[]
}

export interface Standing {
  readonly kind: ConditionKind
  /** All of that kind that are known, broken or fixed. `now`: the store's clock. */
  readonly look: (now: Millis) => Promise<readonly Condition[]>
}

/** A check of the doctor. One that throws does not hide the others. */
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
  /** What is tried: a noun in the plural, which is also its key in JSON. */
  readonly what: string
  /** Empty: nothing of it is configured. `client`: undefined without a token. */
  readonly run: (options: Slice, client: PlatformClient | undefined) => Promise<readonly Trial[]>
}

export interface Trial {
  readonly ok: boolean
  readonly what: string
}
