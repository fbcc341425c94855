// The telemetry settings. They are prepared once from the configuration and used for all pipelines.
import { globs, type PlatformOf } from '../../lib/chooser.ts'
import {
  attributePolicy,
  type AttributePolicy,
  type AttributePolicyOptions,
  type AttributeStyle,
} from './attributes.ts'
import {
  customAttributes,
  projectPoints,
  type AttributeSetter,
  type CustomAttributesOf,
  type ProjectPoints,
} from './custom-attributes.ts'
import { vendorPrefix, type Conventions, type RowVariant } from './mapping/row.ts'
import { defaultBounds } from '../../model/totals.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { FiguresRow, FiguresTable, GaugeHead, MetricRow } from './mapping/metric-row.ts'
import type { JobInside } from '../../model/inside.ts'
import type { LogRecord, Span } from './otlp/messages.ts'
import type { AttributeValue } from './otlp/attribute-value.ts'
import type { PipelineFacts, ProjectFacts } from '../../model/observation.ts'

/** The names that telemetry uses for one platform. */
export interface TelemetryProfile {
  /** Prefix of the vendor's own attributes, including the dot. */
  readonly namespace: string
  /** The value of the attribute `vcs.provider.name`. */
  readonly provider: string
}

/** Converts job internals (log sections and lines, reports) into telemetry. A feature implements this interface. */
export interface InsideTelemetry {
  readonly spans: (chunk: Chunk, inside: JobInside, settings: TelemetrySettings) => Span[]
  readonly records: (chunk: Chunk, inside: JobInside, settings: TelemetrySettings) => LogRecord[]
  readonly metrics: readonly MetricRow[]
}

export interface TelemetryOptions extends AttributePolicyOptions {
  /** The telemetry profiles by name. A chunk is sent with the profile of its snapshot, even if a different one is configured now. */
  readonly profiles?: Readonly<Record<string, TelemetryProfile>> | undefined
  /** The value of `service.name`; default: the project's name. */
  readonly serviceName?: string | undefined
  /** The configured resource attributes, except those with reserved names. */
  readonly resourceAttributes?: Readonly<Record<string, AttributeValue>> | undefined
  /** The rules by which the operator sets attributes. If several rules set the same attribute, the last one wins. */
  readonly attributeRules?: readonly AttributeSetter[] | undefined
  /** Finds the platform of an instance, for rules whose patterns name a platform. */
  readonly platformOf?: PlatformOf | undefined
  /** The format of a pipeline span's name: `pipeline: {name or ref}`, or `RUN {name}` as in the semantic conventions. */
  readonly spanNames?: 'legacy' | 'conventions' | undefined
  /** The set of attribute names; default: `contract`. */
  readonly conventions?: Conventions | undefined
  /** The refs that keep their names in metrics; default: `branches`. */
  readonly metricRefs?: MetricRefs | undefined
  /** The pipelines whose jobs get metrics by job name: the pipelines of the default branch, all pipelines, or none. */
  readonly jobMetrics?: 'default-branch' | 'all' | 'off' | undefined
  /** Upper bounds of the histogram buckets, ascending, seconds. */
  readonly histogramBounds?: readonly number[] | undefined
  /** The unit of prices; default: `min`. */
  readonly costUnit?: string | undefined
  /** Maximum number of series per metric in a project; default: 2000, as in the OpenTelemetry SDKs. */
  readonly maxSeries?: number | undefined
  /** The gauges of the inventory, without their data points. */
  readonly gauges?: readonly GaugeHead[] | undefined
  /** The metrics that are computed from figures that features have counted. */
  readonly figures?: readonly FiguresTable[] | undefined
  /** Converts chunks with job internals. If undefined, such chunks produce no telemetry. */
  readonly insides?: InsideTelemetry | undefined
  /** Whether an event's name is also exported as an attribute. */
  readonly eventNameAttribute?: boolean | undefined
  /** Whether gauges about a group or a whole platform name its instance; default: false. */
  readonly namesInstances?: boolean | undefined
}

/** The options that are stored in a prepared form or have no default. */
type Prepared =
  | keyof AttributePolicyOptions
  | 'serviceName'
  | 'insides'
  | 'attributeRules'
  | 'platformOf'
  | 'metricRefs'
  | 'gauges'
  | 'figures'

/** All other options, each with its configured value or its default. */
type Defaulted = {
  readonly [Name in Exclude<keyof TelemetryOptions, Prepared>]-?: NonNullable<TelemetryOptions[Name]>
}

export interface TelemetrySettings extends Defaulted, Pick<TelemetryOptions, 'serviceName' | 'insides'> {
  readonly policy: AttributePolicy
  /** Undefined if the operator has configured no attribute rules. */
  readonly custom?: CustomAttributesOf | undefined
  /** Adds attributes to the data points of a project. Undefined if no rule applies to metrics. */
  readonly projectPoints?: ProjectPoints | undefined
  /** The variants of attribute tables that are enabled. Some rows exist only in some variants. */
  readonly variants: ReadonlySet<RowVariant>
  readonly foldRef: FoldRef
  readonly gauges: ReadonlyMap<string, GaugeHead>
  /** The metrics that are computed from the figures in events, by event kind. */
  readonly figures: ReadonlyMap<string, readonly FiguresRow<never>[]>
}

const defaultMaxSeries = 2_000

function variantsOf({ spanNames, conventions = 'contract' }: TelemetryOptions): ReadonlySet<RowVariant> {
  return new Set([conventions, ...(spanNames === 'conventions' ? (['run'] as const) : [])])
}

/** The profile for a snapshot whose own profile does not exist in this version. It uses the names in the tables unchanged. */
const unnamedProfile: TelemetryProfile = { namespace: vendorPrefix, provider: 'platform' }

export function telemetrySettings(options: TelemetryOptions = {}): TelemetrySettings {
  const policy = attributePolicy(options)
  return {
    profiles: options.profiles ?? {},
    serviceName: options.serviceName,
    insides: options.insides,
    resourceAttributes: options.resourceAttributes ?? {},
    spanNames: options.spanNames ?? 'legacy',
    conventions: options.conventions ?? 'contract',
    policy,
    custom: customAttributes(options.attributeRules ?? [], policy, options.platformOf),
    projectPoints: projectPoints(options.attributeRules ?? [], policy, options.platformOf),
    variants: variantsOf(options),
    foldRef: refFolder(options.metricRefs ?? 'branches'),
    jobMetrics: options.jobMetrics ?? 'default-branch',
    histogramBounds: options.histogramBounds ?? defaultBounds,
    costUnit: options.costUnit ?? 'min',
    maxSeries: options.maxSeries ?? defaultMaxSeries,
    eventNameAttribute: options.eventNameAttribute ?? false,
    namesInstances: options.namesInstances ?? false,
    gauges: new Map((options.gauges ?? []).map(gauge => [gauge.name, gauge])),
    figures: new Map(
      [...Map.groupBy(options.figures ?? [], ({ kind }) => kind)].map(([kind, tables]) => [
        kind,
        tables.flatMap(({ rows }) => rows),
      ]),
    ),
  }
}

/** A chunk, or another object that was created under a telemetry profile. */
export interface Profiled {
  readonly trace: { readonly profile: string }
}

export function profileOf({ trace }: Profiled, settings: TelemetrySettings): TelemetryProfile {
  const { profiles } = settings
  return (Object.hasOwn(profiles, trace.profile) ? profiles[trace.profile] : undefined) ?? unnamedProfile
}

/** The attribute style of a chunk. All chunks of a profile get the same object, because attribute tables are cached by this object. */
export function styleOf(chunk: Profiled, settings: TelemetrySettings): AttributeStyle {
  const { namespace } = profileOf(chunk, settings)
  const styles = stylesOf.get(settings) ?? new Map<string, AttributeStyle>()
  const style = styles.get(namespace) ?? { namespace, policy: settings.policy, variants: settings.variants }
  stylesOf.set(settings, styles.set(namespace, style))
  return style
}

const stylesOf = new WeakMap<TelemetrySettings, Map<string, AttributeStyle>>()

/**
 * The refs that keep their names in metrics. `branches`: all refs except those of merge requests; `all`: all refs; `default`: only the default
 * branch; a list: the refs that match its globs.
 */
export type MetricRefs = 'branches' | 'all' | 'default' | readonly string[]

/** The value that replaces all refs of merge requests in metrics. No real ref contains a `*` (git-check-ref-format). */
export const mergeRequestRefs = 'refs/merge-requests/*'
/** In metrics, this value replaces every ref that does not keep its name, except merge request refs. */
export const otherRefs = '*'

export type FoldRef = (chunk: {
  readonly pipeline: { readonly facts: Pick<PipelineFacts, 'ref' | 'source' | 'tag'> }
  readonly project: ProjectFacts
}) => string

function refFolder(refs: MetricRefs): FoldRef {
  const isKept = keeperOf(refs)
  return ({ pipeline, project }) => {
    const { ref = '', source } = pipeline.facts
    if (refs === 'all') return ref
    if (source === 'merge_request_event' || ref.startsWith('refs/merge-requests/')) return mergeRequestRefs
    return isKept(ref, pipeline.facts.tag === true ? undefined : project.defaultBranch) ? ref : otherRefs
  }
}

function keeperOf(refs: MetricRefs): (ref: string, defaultBranch: string | undefined) => boolean {
  if (refs === 'branches' || refs === 'all') return () => true
  if (refs === 'default') return (ref, defaultBranch) => ref === defaultBranch
  return globs(refs)
}
