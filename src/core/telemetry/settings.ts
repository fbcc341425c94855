// The settings of telemetry, prepared once from the configuration and used for all pipelines.
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

/** A platform's names in telemetry. */
export interface TelemetryProfile {
  /** Prefix of the vendor's own attributes, with its dot. */
  readonly namespace: string
  /** `vcs.provider.name`. */
  readonly provider: string
}

/** How a feature turns what was read about the inside of a job into telemetry. */
export interface InsideTelemetry {
  readonly spans: (chunk: Chunk, inside: JobInside, settings: TelemetrySettings) => Span[]
  readonly records: (chunk: Chunk, inside: JobInside, settings: TelemetrySettings) => LogRecord[]
  readonly metrics: readonly MetricRow[]
}

export interface TelemetryOptions extends AttributePolicyOptions {
  /** The profiles by name. A chunk is sent with the profile of its snapshot, even if another one is configured now. */
  readonly profiles?: Readonly<Record<string, TelemetryProfile>> | undefined
  /** `service.name`; by default the project's name. */
  readonly serviceName?: string | undefined
  /** The configured resource attributes, except for reserved names. */
  readonly resourceAttributes?: Readonly<Record<string, AttributeValue>> | undefined
  /** The rules by which the operator sets attributes; the last one wins. */
  readonly attributeRules?: readonly AttributeSetter[] | undefined
  /** For rules whose patterns name a platform. */
  readonly platformOf?: PlatformOf | undefined
  /** How pipeline spans are named: `pipeline: {name or ref}`, or `RUN {name}` as in the conventions. */
  readonly spanNames?: 'legacy' | 'conventions' | undefined
  /** `contract` by default. */
  readonly conventions?: Conventions | undefined
  /** The refs that keep their names in metrics; `branches` by default. */
  readonly metricRefs?: MetricRefs | undefined
  /** The pipelines whose jobs are measured by name: those of the default branch, all, or none. */
  readonly jobMetrics?: 'default-branch' | 'all' | 'off' | undefined
  /** Upper bounds of the histograms' buckets, ascending, seconds. */
  readonly histogramBounds?: readonly number[] | undefined
  /** The unit of prices; `min` by default. */
  readonly costUnit?: string | undefined
  /** Most series of one metric of a project; 2000 by default, as in the OpenTelemetry SDKs. */
  readonly maxSeries?: number | undefined
  /** The gauges of the inventory, without their points. */
  readonly gauges?: readonly GaugeHead[] | undefined
  /** The metrics of what features count. */
  readonly figures?: readonly FiguresTable[] | undefined
  /** Undefined: chunks of the insides of jobs have no telemetry. */
  readonly insides?: InsideTelemetry | undefined
  /** Write an event's name as an attribute too. */
  readonly eventNameAttribute?: boolean | undefined
  /** Whether gauges of groups and of a whole platform name its instance; false by default. */
  readonly namesInstances?: boolean | undefined
}

/** Options that are prepared, or have no default. */
type Prepared =
  | keyof AttributePolicyOptions
  | 'serviceName'
  | 'insides'
  | 'attributeRules'
  | 'platformOf'
  | 'metricRefs'
  | 'gauges'
  | 'figures'

/** The other options, or their defaults. */
type Defaulted = {
  readonly [Name in Exclude<keyof TelemetryOptions, Prepared>]-?: NonNullable<TelemetryOptions[Name]>
}

export interface TelemetrySettings extends Defaulted, Pick<TelemetryOptions, 'serviceName' | 'insides'> {
  readonly policy: AttributePolicy
  /** Undefined without rules. */
  readonly custom?: CustomAttributesOf | undefined
  /** Undefined without rules that also count on metrics. */
  readonly projectPoints?: ProjectPoints | undefined
  /** The rows of the tables that only some settings have. */
  readonly variants: ReadonlySet<RowVariant>
  readonly foldRef: FoldRef
  readonly gauges: ReadonlyMap<string, GaugeHead>
  /** The tables by the kind of their events. */
  readonly figures: ReadonlyMap<string, readonly FiguresRow<never>[]>
}

const defaultMaxSeries = 2_000

function variantsOf({ spanNames, conventions = 'contract' }: TelemetryOptions): ReadonlySet<RowVariant> {
  return new Set([conventions, ...(spanNames === 'conventions' ? (['run'] as const) : [])])
}

/** For a snapshot with a profile that this version does not have: the names as in the tables. */
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

/** Something made with a profile. */
export interface Profiled {
  readonly trace: { readonly profile: string }
}

export function profileOf({ trace }: Profiled, settings: TelemetrySettings): TelemetryProfile {
  const { profiles } = settings
  return (Object.hasOwn(profiles, trace.profile) ? profiles[trace.profile] : undefined) ?? unnamedProfile
}

/** The style of this chunk's attributes; the same object for all chunks of a profile, as tables are cached by it. */
export function styleOf(chunk: Profiled, settings: TelemetrySettings): AttributeStyle {
  const { namespace } = profileOf(chunk, settings)
  const styles = stylesOf.get(settings) ?? new Map<string, AttributeStyle>()
  const style = styles.get(namespace) ?? { namespace, policy: settings.policy, variants: settings.variants }
  stylesOf.set(settings, styles.set(namespace, style))
  return style
}

const stylesOf = new WeakMap<TelemetrySettings, Map<string, AttributeStyle>>()

/** The refs that keep their names. `branches`: all except those of merge requests; `all`: these too; `default`: the default branch; or globs. */
export type MetricRefs = 'branches' | 'all' | 'default' | readonly string[]

/** Replaces all refs of merge requests. No real ref contains a `*` (git-check-ref-format). */
export const mergeRequestRefs = 'refs/merge-requests/*'
/** Replaces other refs that are folded. */
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
