// Writes metrics in a format that Prometheus understands: its text format 0.0.4, or OpenMetrics 1.0, which also has exemplars
// (https://prometheus.io/docs/instrumenting/exposition_formats/, https://prometheus.io/docs/specs/om/open_metrics_spec/). The OpenTelemetry packages
// only support the text format. Each metric family is written in pieces while its points are read, so that the whole text is never in memory.
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics'
import type { Attributes } from '@opentelemetry/api'
import type { Exemplar } from '../../model/totals.ts'

export type Exposition = 'text' | 'openmetrics'

export const contentTypes: Readonly<Record<Exposition, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** A metric point with the latest measurement that belongs to a trace. The SDK's points have no such measurement. */
export interface ExemplaryPoint {
  readonly exemplar?: Exemplar | undefined
}

/** A metric whose name is defined by another program. A counter keeps such a name even if it does not end in `_total`. */
export interface NamedMetric {
  readonly hasExactName?: true | undefined
}

/** A metric whose points are read piece by piece. */
export interface ScrapedMetric {
  /** The metric without its points, which come from `pieces`. */
  readonly metric: MetricData & NamedMetric
  readonly pieces: () => AsyncIterable<MetricData>
}

/** The number of series that may still be written, and the number of series omitted because the maximum was reached. */
export interface SeriesBudget {
  left: number
  leftOut: number
}

/** The minimum length of a piece of text, in characters. A piece is passed on once it reaches this length. */
const pieceLength = 64 * 1024

/**
 * Yields the text of all metrics in pieces. Metrics with the same name and type are kept together. Gauges come first and histograms last, so that
 * histograms are the first series to be omitted. Between two pieces, it yields to the event loop. The text lacks the OpenMetrics end marker.
 */
export async function* expositionOf(
  metrics: readonly ScrapedMetric[],
  format: Exposition,
  budget: SeriesBudget,
): AsyncGenerator<string> {
  let text = ''
  for (const family of familiesOf(metrics)) {
    let head = headText(family, format)
    for (const { pieces } of family.metrics) {
      for await (const piece of pieces()) {
        for (const point of pointsOf(piece)) {
          if (!reserve(budget, seriesIn(point))) continue
          text += head + samplesOf(family.sample, family.type, point, format)
          head = ''
          if (text.length < pieceLength) continue
          yield text
          text = ''
          await nextTurn()
        }
        await nextTurn()
      }
    }
  }
  yield text
}

export const endOf: Readonly<Record<Exposition, string>> = { text: '', openmetrics: '# EOF\n' }

export function isGauge({ metric }: ScrapedMetric): boolean {
  return typeOf(metric) === 'gauge'
}

/** Converts metrics whose points are already in memory; each metric is a single piece. */
export function wholeMetrics(scopes: readonly ScopeMetrics[]): ScrapedMetric[] {
  return scopes
    .flatMap(scope => scope.metrics)
    .map(metric => ({
      metric,
      pieces: async function* () {
        yield metric
      },
    }))
}

/**
 * Reserves series that are about to be written. Returns false if they must be omitted. Once a series has been omitted, all later ones are omitted as
 * well; otherwise the size of a metric would decide whether it is exposed.
 */
function reserve(budget: SeriesBudget, series: number): boolean {
  if (budget.leftOut === 0 && series <= budget.left) {
    budget.left -= series
    return true
  }
  budget.leftOut += series
  return false
}

/** In OpenMetrics, a counter's sample names end in `_total`, but its family name does not. */
const total = '_total'

function familyName({ descriptor }: MetricData): string {
  const name = plainName(descriptor.name)
  return /^\d/.test(name) ? `_${name}` : name
}

interface Family {
  readonly type: Type
  readonly base: string
  /** The name of the metric family's samples. */
  readonly sample: string
  readonly first: MetricData & NamedMetric
  /** The metrics that have the family's name and type. */
  readonly metrics: readonly ScrapedMetric[]
}

const types = ['gauge', 'counter', 'histogram'] as const
type Type = (typeof types)[number]

function familiesOf(all: readonly ScrapedMetric[]): Family[] {
  const families = [...Map.groupBy(all, ({ metric }) => familyName(metric))].flatMap(([name, metrics]): Family[] => {
    const first = metrics[0]?.metric
    if (first === undefined) return []
    const type = typeOf(first)
    const base = type === 'counter' && name.endsWith(total) ? name.slice(0, -total.length) : name
    const sample = type === 'counter' && first.hasExactName !== true ? `${base}${total}` : base
    return [{ type, base, sample, first, metrics: metrics.filter(({ metric }) => typeOf(metric) === type) }]
  })
  return families.sort((a, b) => types.indexOf(a.type) - types.indexOf(b.type))
}

function headText({ type, base, sample, first }: Family, format: Exposition): string {
  const family = format === 'openmetrics' ? base : sample
  // OpenMetrics requires a counter's samples to end in `_total`. A counter with a different exact name becomes `unknown`.
  const shown = first.hasExactName === true && type === 'counter' && format === 'openmetrics' ? 'unknown' : type
  const help = visible(escaped(first.descriptor.description || 'description missing'))
  // OpenMetrics allows a unit only if the metric name ends with it.
  const unit =
    format === 'text' && first.descriptor.unit !== '' ? `# UNIT ${family} ${escaped(first.descriptor.unit)}\n` : ''
  return `# HELP ${family} ${format === 'openmetrics' ? help.replaceAll('"', '\\"') : help}\n${unit}# TYPE ${family} ${shown}\n`
}

function typeOf(metric: MetricData): Type {
  if (metric.dataPointType === DataPointType.HISTOGRAM) return 'histogram'
  return metric.dataPointType === DataPointType.SUM && metric.isMonotonic ? 'counter' : 'gauge'
}

type WrittenPoint = DataPoint<number | Histogram> & ExemplaryPoint

/** Returns a metric's points. Exponential histograms are left out, because no metric of the daemon uses them. */
function pointsOf(metric: MetricData): readonly WrittenPoint[] {
  return metric.dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM ? [] : metric.dataPoints
}

/** Returns the number of series in a point: a histogram's count, sum and buckets are separate series. */
function seriesIn({ value }: WrittenPoint): number {
  return typeof value === 'number' ? 1 : value.buckets.boundaries.length + 3
}

function samplesOf(name: string, type: Type, point: WrittenPoint, format: Exposition): string {
  const { attributes, value } = point
  const labels = labelsOf(attributes)
  if (typeof value !== 'number') return histogramText(name, labels, value, point, format)
  const exemplar = type === 'counter' ? exemplarText(point, format) : ''
  return `${name}${inBraces(labels)} ${numberText(value)}${exemplar}\n`
}

function histogramText(
  name: string,
  labels: string,
  value: Histogram,
  point: ExemplaryPoint,
  format: Exposition,
): string {
  const { boundaries, counts } = value.buckets
  const own = inBraces(labels)
  const measured = point.exemplar?.value ?? 0
  let below = 0
  const buckets = [...boundaries, Infinity].map((bound, at) => {
    below += counts[at] ?? 0
    const isHere = measured <= bound && !(measured <= (boundaries[at - 1] ?? -Infinity))
    // Bucket bounds are written the same way in both formats, because Prometheus identifies a bucket's series by the text of its bound.
    const bucket = inBraces(`${labels}${labels === '' ? '' : ','}le="${numberText(bound)}"`)
    return `${name}_bucket${bucket} ${below}${isHere ? exemplarText(point, format) : ''}\n`
  })
  return `${name}_count${own} ${value.count}\n${name}_sum${own} ${numberText(value.sum ?? 0)}\n${buckets.join('')}`
}

function exemplarText({ exemplar }: ExemplaryPoint, format: Exposition): string {
  if (exemplar === undefined || format === 'text') return ''
  const { traceId, spanId, value, at } = exemplar
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${numberText(value)} ${at / 1000}`
}

function labelsOf(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([key, value = '']) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return `${plainName(key)}="${visible(escaped(text).replaceAll('"', '\\"'))}"`
    })
    .join(',')
}

function inBraces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

function plainName(name: string): string {
  return name.replace(/[^a-z0-9_]/gi, '_').replace(/_{2,}/g, '_')
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? String(value) : `${value > 0 ? '+' : '-'}Inf`
}

/**
 * Escapes control characters, which may occur in branch or job names. Some parsers treat a carriage return as a line end; other characters affect
 * terminals. Written as `\u001b`, they stay distinct.
 */
function visible(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]/gu, char => `\\\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
