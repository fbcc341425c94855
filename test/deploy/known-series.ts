// Every series and label that Pipespan's metrics have in Prometheus, made from their tables: scraped, or through a Collector.
import { activeRunsMetric, attemptMetrics } from '../../src/telemetry/mapping/metrics.ts'
import { ownMetrics } from '../../src/self-telemetry/table.ts'
import { projectLabels } from '../../src/telemetry/metrics/families.ts'

interface Metric {
  readonly name: string
  readonly type: string
  readonly unit: string
}

/** What a Collector's Prometheus exporter adds to a name for the unit, where the name does not have it already. */
function suffixOf({ unit, type }: Metric): string | undefined {
  if (unit === 's') return '_seconds'
  if (unit === 'By') return '_bytes'
  return unit === '1' && type === 'gauge' ? '_ratio' : undefined
}

/** A name as Prometheus has it; histograms with the suffixes of their series. Vendor names under either profile. */
function seriesOf(metric: Metric): string[] {
  const names = metric.name.startsWith('platform.')
    ? [metric.name, metric.name.replace('platform.', 'gitlab.')]
    : [metric.name]
  return names.flatMap(name => {
    const base = name.replace(/[^a-zA-Z0-9]/g, '_')
    const suffix = suffixOf(metric)
    const bases = suffix !== undefined && !base.endsWith(suffix) ? [base, `${base}${suffix}`] : [base]
    if (metric.type === 'histogram') {
      return bases.flatMap(one => ['bucket', 'sum', 'count'].map(part => `${one}_${part}`))
    }
    return metric.type === 'counter' ? bases.map(one => (one.endsWith('_total') ? one : `${one}_total`)) : bases
  })
}

const ofPipelines = [...attemptMetrics, activeRunsMetric]

export const knownSeries: ReadonlySet<string> = new Set([...ofPipelines, ...ownMetrics].flatMap(seriesOf))

const attributes = [
  ...ofPipelines.flatMap(metric => metric.attributes.flatMap(({ keys }) => keys)),
  ...ownMetrics.flatMap(metric => metric.attributes),
].flatMap(name => (name.startsWith('platform.') ? [name, name.replace('platform.', 'gitlab.')] : [name]))

export const knownLabels: ReadonlySet<string> = new Set([
  ...attributes.map(name => name.replace(/[^a-zA-Z0-9_]/g, '_')),
  ...projectLabels,
  ...['le', 'job', '__name__'],
])

/** What an expression asks for and Pipespan does not have, by its name. */
export function unknownIn(expr: string): string[] {
  const outside = expr.replaceAll(/"[^"]*"/g, '""')
  const series = [...outside.matchAll(/\b(\w+)(?:\{|\[)/g)].map(([, name = '']) => name)
  const bare = [
    ...outside.matchAll(/\b(?:pipespan|platform|gitlab|cicd|pipeline|job|vcs)_\w+\b(?=\s*(?:\)|[<>=!+*/-]|$))/gm),
  ]
  const patterns = [...expr.matchAll(/__name__=~"([^"]+)"/g)].map(([, pattern = '']) => pattern)
  const labels = [
    ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
    ...[...expr.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
  ]
  return [
    ...series.filter(name => !knownSeries.has(name)),
    ...bare.map(([name]) => name).filter(name => !knownSeries.has(name) && !knownLabels.has(name)),
    ...patterns.filter(pattern => ![...knownSeries].some(name => new RegExp(`^(?:${pattern})$`).test(name))),
    ...labels.filter(label => !knownLabels.has(label)),
  ]
}
