// Writes metrics as Prometheus reads them: its text format 0.0.4, or OpenMetrics 1.0, which also has exemplars
// (https://prometheus.io/docs/instrumenting/exposition_formats/, https://prometheus.io/docs/specs/om/open_metrics_spec/). The OpenTelemetry packages
// write only the former.
import {
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics'
import type { Attributes } from '@opentelemetry/api'
import type { Exemplar } from '../model/totals.ts'

export type Exposition = 'text' | 'openmetrics'

export const contentTypes: Readonly<Record<Exposition, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** A point with the latest measurement that a trace belongs to. The SDK's points have none. */
export interface ExemplaryPoint {
  readonly exemplar?: Exemplar | undefined
}

/** A metric whose name is another program's: a counter keeps it, although it does not end in `_total`. */
export interface NamedMetric {
  readonly hasExactName?: true | undefined
}

/** The text of all metrics. Those of one name and type are together, whatever their scope. */
export function expositionOf(scopes: readonly ScopeMetrics[], format: Exposition): string {
  const metrics = scopes.flatMap(scope => scope.metrics)
  const families = [...Map.groupBy(metrics, familyName)].map(([name, some]) => familyText(name, some, format))
  return families.join('') + (format === 'openmetrics' ? '# EOF\n' : '')
}

/** In OpenMetrics the samples of a counter end in `_total`, and its family does not. */
const total = '_total'

function familyName({ descriptor }: MetricData): string {
  const name = plainName(descriptor.name)
  return /^\d/.test(name) ? `_${name}` : name
}

function familyText(name: string, metrics: readonly (MetricData & NamedMetric)[], format: Exposition): string {
  const [first] = metrics
  if (first === undefined) return ''
  const type = typeOf(first)
  const isExact = first.hasExactName === true
  const base = type === 'counter' && name.endsWith(total) ? name.slice(0, -total.length) : name
  const sample = type === 'counter' && !isExact ? `${base}${total}` : base
  const family = format === 'openmetrics' ? base : sample
  // OpenMetrics has no counters without that end.
  const shown = isExact && type === 'counter' && format === 'openmetrics' ? 'unknown' : type
  const help = escaped(first.descriptor.description || 'description missing')
  // OpenMetrics knows a unit only as the end of a name.
  const unit =
    format === 'text' && first.descriptor.unit !== '' ? `# UNIT ${family} ${escaped(first.descriptor.unit)}\n` : ''
  const head = `# HELP ${family} ${format === 'openmetrics' ? help.replaceAll('"', '\\"') : help}\n${unit}# TYPE ${family} ${shown}\n`
  const samples = metrics.filter(metric => typeOf(metric) === type).flatMap(metric => samplesOf(sample, metric, format))
  return visible(head + samples.join(''))
}

function typeOf(metric: MetricData): 'counter' | 'gauge' | 'histogram' {
  if (metric.dataPointType === DataPointType.HISTOGRAM) return 'histogram'
  return metric.dataPointType === DataPointType.SUM && metric.isMonotonic ? 'counter' : 'gauge'
}

function samplesOf(name: string, metric: MetricData, format: Exposition): string[] {
  if (metric.dataPointType === DataPointType.HISTOGRAM) {
    return metric.dataPoints.flatMap(point => histogramText(name, point, format))
  }
  if (metric.dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM) return []
  const isCounter = typeOf(metric) === 'counter'
  return metric.dataPoints.map((point: DataPoint<number> & ExemplaryPoint) => {
    const exemplar = isCounter ? exemplarText(point, format) : ''
    return `${name}${labelsText(labelsOf(point.attributes))} ${numberText(point.value)}${exemplar}\n`
  })
}

function histogramText(name: string, point: DataPoint<Histogram> & ExemplaryPoint, format: Exposition): string[] {
  const { attributes, value } = point
  const { boundaries, counts } = value.buckets
  const labels = labelsOf(attributes)
  const own = labelsText(labels)
  const measured = point.exemplar?.value ?? 0
  let below = 0
  const buckets = [...boundaries, Infinity].map((bound, at) => {
    below += counts[at] ?? 0
    const isHere = measured <= bound && !(measured <= (boundaries[at - 1] ?? -Infinity))
    // The bound is spelled alike in both formats: in Prometheus it is part of the series.
    const bucket = labelsText([...labels, `le="${numberText(bound)}"`])
    return `${name}_bucket${bucket} ${below}${isHere ? exemplarText(point, format) : ''}\n`
  })
  return [`${name}_count${own} ${value.count}\n`, `${name}_sum${own} ${numberText(value.sum ?? 0)}\n`, ...buckets]
}

function exemplarText({ exemplar }: ExemplaryPoint, format: Exposition): string {
  if (exemplar === undefined || format === 'text') return ''
  const { traceId, spanId, value, at } = exemplar
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${numberText(value)} ${at / 1000}`
}

function labelsOf(attributes: Attributes): string[] {
  return Object.entries(attributes).map(([key, value = '']) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `${plainName(key)}="${escaped(text).replaceAll('"', '\\"')}"`
  })
}

function labelsText(labels: readonly string[]): string {
  return labels.length === 0 ? '' : `{${labels.join(',')}}`
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
 * Names of branches or jobs may contain control characters: a carriage return ends a line for some parsers, and the others act on a terminal.
 * As `\u001b` they stay distinct.
 */
function visible(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]/gu, char => `\\\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
