// Computes the samples of a chunk, that is, the data points of all its metrics before they become delta points. Also computes the increments that the
// chunk adds to its project's running totals.
import { branchClassOf } from '../../../model/pipeline.ts'
import { carriesPipeline, type Chunk } from '../../../model/chunk.ts'
import { isEvent, type AnyChunk, type EventChunk } from '../../../model/event.ts'
import type { Millis } from '../../../model/instant.ts'
import { attributesOf, keyUnder, namedAttributes, type AttributeStyle } from '../attributes.ts'
import { plainAttributes } from '../otlp/attribute.ts'
import { rowsIn, type AttributeRow } from '../mapping/row.ts'
import { styleOf, type TelemetrySettings } from '../settings.ts'
import { contextOfJob, pipelineSpanId, traceIdOf } from '../otlp/ids.ts'
import { pipelineTimes } from '../span-time.ts'
import { ATTR_VCS_REF_HEAD_NAME } from '../mapping/semconv.ts'
import {
  bucketed,
  type Amount,
  type Exemplar,
  type LimitedName,
  type ProjectIncrements,
} from '../../../model/totals.ts'
import { sumOf, type PointAttributes } from './data.ts'
import { attemptMetrics } from '../mapping/metrics.ts'
import {
  costUnit,
  ownName,
  type FiguresRow,
  type FiguresSubject,
  type MetricHead,
  type MetricRow,
} from '../mapping/metric-row.ts'
import { taskRunMetric } from '../mapping/job-metrics.ts'

/** A metric of a pipeline or its jobs, or a metric that is computed from figures that a feature has counted. */
export interface MeasuredRow extends MetricHead {
  readonly type: MetricRow['type']
  readonly bounds?: FiguresRow<never>['bounds']
  readonly maxSeries?: number | undefined
  readonly limited?: MetricRow['limited']
  readonly states?: MetricRow['states']
}

export interface Sample {
  readonly row: MeasuredRow
  /** The metric name as exported. */
  readonly metric: string
  readonly attributes: PointAttributes
  /** The attributes of the sample as sorted JSON. */
  readonly series: string
  readonly values: readonly number[]
  /** True if the sample's ref was replaced by a placeholder, to limit the number of series. */
  readonly folded: boolean
  /** The sort key by which the newest gauge value is found. If undefined, the end of the attempt is the sort key. */
  readonly order?: number | undefined
}

/**
 * Returns the sample's attribute that may have only a limited number of values per project. Undefined if there is none, or if the configuration drops
 * that attribute.
 */
export function limitedOf({ row: { limited }, attributes }: Sample): LimitedName | undefined {
  const value = limited && attributes[limited.attribute]
  return typeof value === 'string' && limited !== undefined ? { ...limited, value } : undefined
}

export interface Samples {
  /** The span that exemplars refer to: the pipeline's span, or the span of the job that created the deployment. */
  readonly span: Pick<Exemplar, 'traceId' | 'spanId'> | undefined
  /** The time of the samples: the end of the attempt, plus 1 ms for each further chunk, so that no two points of a series have the same time. */
  readonly at: Millis
  readonly samples: readonly Sample[]
}

/**
 * Returns the samples of a chunk. Undefined if no time of the attempt is known. A chunk without the pipeline only has metrics for jobs, or for a
 * job's log or report.
 */
export function samplesOf(chunk: AnyChunk, settings: TelemetrySettings): Samples | undefined {
  if (isEvent(chunk)) return samplesOfEvent(chunk, settings)
  const at = timeOf(chunk)
  if (at === undefined) return undefined
  const rows =
    chunk.kind === 'job' ? (settings.insides?.metrics ?? none) : carriesPipeline(chunk) ? attemptMetrics : jobMetrics
  const style = styleOf(chunk, settings)
  const ref = settings.foldRef(chunk)
  const custom = settings.custom?.(chunk).points
  const isFolded = ref !== (chunk.pipeline.facts.ref ?? '')
  const samples = rowsIn(rows, style.variants).flatMap(row => {
    if (row.name === taskRunMetric && !measuresJobs(chunk, settings)) return []
    const folded = isFolded && row.attributes.some(({ keys }) => refKeys.has(keys[0]))
    const points = row.measured(chunk).map(({ values, ...about }) => {
      const { name = '', labels } = about.report ?? {}
      const own = seriesOf(row.attributes, { chunk, ref, ...about }, style)
      return {
        row,
        metric: keyUnder(style.namespace, row.name.replace(ownName, name)),
        ...(labels === undefined && custom === undefined
          ? own
          : named({ ...custom, ...(labels && labelsOf(labels, style)), ...own.attributes })),
        values,
        folded,
        order: row.order?.(chunk),
      }
    })
    return joined(points)
  })
  const span = { traceId: traceIdOf(chunk.trace, chunk.key.instance), spanId: pipelineSpanId(chunk) }
  return { span, at, samples }
}

/** Returns the time of a chunk's samples. Undefined if no time of the attempt is known. */
export function timeOf(chunk: AnyChunk): Millis | undefined {
  if (isEvent(chunk)) return chunk.at
  const times = pipelineTimes(chunk)
  return times && times.end + chunk.number - 1
}

/** Whether durations are measured by job name for this chunk. */
function measuresJobs({ pipeline, project }: Chunk, { jobMetrics }: TelemetrySettings): boolean {
  if (jobMetrics !== 'default-branch') return jobMetrics === 'all'
  return branchClassOf(pipeline.facts, project) === 'default'
}

export function labelsOf(
  labels: Readonly<Record<string, string>>,
  style: Pick<AttributeStyle, 'policy'>,
): PointAttributes {
  return plainAttributes(namedAttributes(labels, style)) as PointAttributes
}

/** The keys of the attributes that contain the ref, or the placeholder that replaces it. */
const refKeys: ReadonlySet<string> = new Set(['pipeline.ref', ATTR_VCS_REF_HEAD_NAME])

function samplesOfEvent(chunk: EventChunk, settings: TelemetrySettings): Samples | undefined {
  const { figures, project = { id: 0 }, key, job, at } = chunk
  if (figures === undefined) return undefined
  const style = styleOf(chunk, settings)
  const custom = settings.custom?.(chunk).points
  const subject: FiguresSubject<never> = {
    ...{ figures: figures as never, chunk },
    foldRef: (ref, source) => settings.foldRef({ pipeline: { facts: { ref, source } }, project }),
  }
  const samples = (settings.figures.get(chunk.event.kind) ?? []).flatMap((row): Sample[] => {
    const values = row.values(subject.figures)
    if (values.length === 0) return []
    const attributes = { ...custom, ...pointAttributes(row.attributes, subject, style) }
    const metric = keyUnder(style.namespace, row.name)
    return [{ row, metric, attributes, series: sorted(attributes), values, folded: false }]
  })
  return { span: job && contextOfJob(key.instance, job), at, samples }
}

const jobMetrics = attemptMetrics.filter(({ of }) => of === 'jobs')
const none: readonly MetricRow[] = []

/** Merges data points whose attributes became equal because some attributes were dropped. For gauges, the first value is kept. */
export function joined(points: readonly Sample[]): readonly Sample[] {
  // Usually no data points are equal. This check is cheap, because the series strings already exist, while grouping would have to build strings of
  // its own.
  if (new Set(points.map(({ series }) => series)).size === points.length) return points
  return [...Map.groupBy(points, ({ metric, series }) => `${metric} ${series}`).values()].flatMap(
    ([first, ...others]) => {
      if (first === undefined) return []
      if (first.row.type === 'gauge') return [first]
      return [{ ...first, values: [first, ...others].flatMap(({ values }) => values) }]
    },
  )
}

export function pointAttributes<S>(
  rows: readonly AttributeRow<S>[],
  subject: S,
  style: AttributeStyle,
): PointAttributes {
  return plainAttributes(attributesOf(rows, subject, style)) as PointAttributes
}

/** The attributes of a data point, and the name of its series. */
interface Series {
  readonly attributes: PointAttributes
  readonly series: string
}

/** Maximum number of series that are cached per attribute table. When it is reached, the cache is cleared. */
const maxKnown = 2_000
const knownSeries = new WeakMap<object, Map<string, Series>>()

/**
 * Returns the series of a subject. Series are cached by their attribute values, because the same series recur in every pipeline. The cache reduces
 * the time to a third.
 */
function seriesOf<S>(rows: readonly AttributeRow<S>[], subject: S, style: AttributeStyle): Series {
  const sets = attributesOf(rows, subject, style)
  const [{ table, values } = { table: rows, values: [] }] = sets
  let key = ''
  for (const value of values) key += value === undefined ? '\u0001' : `\u0000${String(value)}`
  const known = knownSeries.get(table) ?? new Map<string, Series>()
  const before = known.get(key)
  if (before !== undefined) return before
  if (known.size >= maxKnown) known.clear()
  const series = named(plainAttributes(sets) as PointAttributes)
  knownSeries.set(table, known.set(key, series))
  return series
}

function named(attributes: PointAttributes): Series {
  return { attributes, series: sorted(attributes) }
}

/** Returns the attributes as JSON with sorted keys, which identifies a series. */
export function sorted(attributes: PointAttributes): string {
  return JSON.stringify(Object.fromEntries(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))))
}

/** Returns the exemplar of a counter (with its sum) or of a histogram (with its greatest value). Gauges have no exemplars. */
export function exemplarOf({ row, values }: Sample, { span, at }: Samples): Exemplar | undefined {
  if (row.type === 'gauge' || span === undefined) return undefined
  let value = 0
  for (const one of values) value = row.type === 'counter' ? value + one : Math.max(value, one)
  return { at, value, ...span }
}

/** Returns a metric's name, unit and description. Cost metrics have the unit of the price table. */
export function headOf(row: MeasuredRow, { costUnit: unit }: Pick<TelemetrySettings, 'costUnit'>): MetricHead {
  return row.unit === costUnit ? { ...row, unit } : row
}

export function boundsOf(
  { bounds }: MeasuredRow,
  { histogramBounds }: Pick<TelemetrySettings, 'histogramBounds'>,
): readonly number[] {
  return bounds ?? histogramBounds
}

/** Returns the increments that a chunk adds to its project's totals. Undefined if it adds nothing. */
export function measure(chunk: AnyChunk, settings: TelemetrySettings): ProjectIncrements | undefined {
  const measured = samplesOf(chunk, settings)
  if (chunk.project === undefined || measured === undefined || measured.samples.length === 0) return undefined
  return {
    key: { instance: chunk.key.instance, projectId: chunk.project.id },
    project: chunk.project,
    profile: chunk.trace.profile,
    maxSeries: settings.maxSeries,
    increments: measured.samples.map(sample => ({
      metric: sample.metric,
      attributes: sample.series,
      amount: amountOf(sample, measured, boundsOf(sample.row, settings)),
      ...(sample.row.maxSeries === undefined ? {} : { maxSeries: sample.row.maxSeries }),
      ...(sample.row.limited === undefined ? {} : { limited: limitedOf(sample) }),
      ...(sample.folded ? { folded: true as const } : {}),
    })),
  }
}

function amountOf(sample: Sample, samples: Samples, bounds: readonly number[]): Amount {
  const { row, values } = sample
  const exemplar = exemplarOf(sample, samples)
  switch (row.type) {
    case 'counter':
      return { kind: 'sum', by: sumOf(values), exemplar }
    case 'gauge':
      return { kind: 'last', value: values[0] ?? 0, at: sample.order ?? samples.at }
    case 'histogram':
      return { kind: 'histogram', bounds, counts: bucketed(values, bounds), sum: sumOf(values), exemplar }
  }
}
