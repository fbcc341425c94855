// Every series and label that Pipespan's metrics have in Prometheus, whether scraped directly or sent through a Collector. They are read from
// docs/METRICS.md.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { projectLabels } from '../../src/core/telemetry/metrics/families.ts'
import { repository } from './tool.ts'

interface Metric {
  readonly name: string
  readonly type: string
  readonly unit: string
  readonly attributes: readonly string[]
}

/** The tables in docs/METRICS.md, which another test compares with the code. */
const metrics = [
  ...readFileSync(path.join(repository, 'docs/METRICS.md'), 'utf8').matchAll(
    // The table of inventory metrics has no type column.
    /^\| `([\w.]+)` \| (?:([\w -]+) \| )?`([^`]+)` \| (.*?) \|/gm,
  ),
].map(([, name = '', type = 'gauge', unit = '', list = '']): Metric => {
  return { name, type, unit, attributes: [...list.matchAll(/`([\w.]+)`/g)].map(([, attribute = '']) => attribute) }
})

/** Returns the names of a metric or attribute under all profiles. Only vendor-specific names differ. */
function underProfiles(name: string): string[] {
  return name.startsWith('platform.') ? [name, name.replace('platform.', 'gitlab.')] : [name]
}

/** Returns the unit suffix that a Collector's Prometheus exporter adds to a name that lacks it. */
function suffixOf({ unit, type }: Metric): string | undefined {
  if (unit === 's') return '_seconds'
  if (unit === 'By') return '_bytes'
  return unit === '1' && type === 'gauge' ? '_ratio' : undefined
}

/** Returns a metric's names in Prometheus. A histogram has several, one for each suffix. */
function seriesOf(metric: Metric): string[] {
  return underProfiles(metric.name).flatMap(name => {
    const base = underscored(name)
    const suffix = suffixOf(metric)
    const bases = suffix !== undefined && !base.endsWith(suffix) ? [base, `${base}${suffix}`] : [base]
    if (metric.type === 'histogram') {
      return bases.flatMap(one => ['bucket', 'sum', 'count'].map(part => `${one}_${part}`))
    }
    return metric.type === 'counter' ? bases.map(one => (one.endsWith('_total') ? one : `${one}_total`)) : bases
  })
}

function underscored(name: string): string {
  return name.replace(/[^a-zA-Z0-9_]/g, '_')
}

/** Series from kube-state-metrics, for the alerts about the rotation job. */
const kubernetesSeries = ['kube_job_status_failed', 'kube_pod_container_status_last_terminated_exitcode']

export const knownSeries: ReadonlySet<string> = new Set([...metrics.flatMap(seriesOf), ...kubernetesSeries])

export const knownLabels: ReadonlySet<string> = new Set([
  ...metrics.flatMap(({ attributes }) => attributes.flatMap(underProfiles).map(underscored)),
  ...projectLabels,
  ...['le', 'job', '__name__'],
  ...['namespace', 'pod', 'container', 'job_name'],
])

/** Returns the series and labels of an expression that are missing from Pipespan's metrics. */
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
