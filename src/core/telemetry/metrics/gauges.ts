// Converts inventory readings into metrics of a project, a group or the instance.
import { ATTR_SERVICE_INSTANCE_ID } from '@opentelemetry/semantic-conventions'
import { attributesFrom, keyValuesOf, type AttributeSet } from '../otlp/attribute.ts'
import { keyUnder } from '../attributes.ts'
import { projectResource } from './cumulative.ts'
import { resourceAttributesOf } from '../resource.ts'
import { sorted } from './samples.ts'
import { type Buckets, type MeasuredMetric, type PointAttributes } from './data.ts'
import { styleOf, type TelemetrySettings } from '../settings.ts'
import type { AttributeStyle } from '../attributes.ts'
import type { GaugeHead, MetricHead } from '../mapping/metric-row.ts'
import type { Millis } from '../../../model/instant.ts'
import type { ProjectFacts } from '../../../model/observation.ts'

/** Inventory readings, which the store returns as `GaugeReading`. */
export interface FoundGauges {
  readonly instance: string
  readonly profile: string
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
  readonly points: readonly FoundPoint[]
}

export interface FoundPoint {
  readonly metric: string
  readonly attributes: PointAttributes
  /** The measured value. An instant is in ms, and is exported as the seconds since it or until it. */
  readonly value: number | { readonly since: Millis } | { readonly until: Millis } | FoundBuckets
}

/** A histogram whose counts start at `began`. */
interface FoundBuckets extends Buckets {
  readonly began: Millis
}

/** Returns each metric once, in the order of first occurrence. `now`: the timestamp of all data points. */
export function gaugesData(found: FoundGauges, now: Millis, settings: TelemetrySettings): MeasuredMetric[] {
  const style = styleOf({ trace: found }, settings)
  const custom = found.project && settings.projectPoints?.(found.project, found.instance)
  return [...Map.groupBy(found.points, ({ metric }) => metric)].map(([metric, all]) => {
    const head = headOf(metric, settings)
    const points = all.map(point => ({ ...point, attributes: { ...custom, ...styled(point.attributes, style) } }))
    return {
      head,
      name: keyUnder(style.namespace, metric),
      temporality: 'cumulative',
      points: [...Map.groupBy(points, ({ attributes }) => sorted(attributes)).values()]
        .slice(0, settings.maxSeries)
        .map(same => same.reduce((a, b) => ({ ...a, value: joined(head.type, a.value, b.value) })))
        .map(({ attributes, value }) => ({
          attributes,
          start: typeof value === 'object' && 'began' in value ? value.began : now,
          end: now,
          value: valueAt(value, now),
        })),
    }
  })
}

/**
 * Merges the values of data points whose attributes became equal because some attributes were dropped. Counts are added. For instants, the earliest
 * is kept: the longest time since it, or the shortest time until it. For other gauges, the first value is kept.
 */
function joined(type: MetricHead['type'], a: FoundPoint['value'], b: FoundPoint['value']): FoundPoint['value'] {
  if (typeof a === 'number' || typeof b === 'number')
    return typeof a === 'number' && typeof b === 'number' && type === 'updowncounter' ? a + b : a
  if ('since' in a && 'since' in b) return { since: Math.min(a.since, b.since) }
  if ('until' in a && 'until' in b) return { until: Math.min(a.until, b.until) }
  if (!('began' in a && 'began' in b) || a.bounds.join() !== b.bounds.join()) return a
  const counts = a.counts.map((count, at) => count + (b.counts[at] ?? 0))
  return { began: Math.min(a.began, b.began), bounds: a.bounds, counts, sum: a.sum + b.sum }
}

const ofQuery: Omit<GaugeHead, 'name'> = { unit: '1', number: 'double', description: 'Result of a configured query.' }

function headOf(metric: string, { gauges }: TelemetrySettings): MetricHead {
  const head = gauges.get(metric) ?? ofQuery
  return { ...head, name: metric, type: head.type ?? 'gauge', when: '' }
}

function valueAt(value: FoundPoint['value'], now: Millis): number | Buckets {
  if (typeof value === 'number') return value
  if ('began' in value) return { bounds: value.bounds, counts: value.counts, sum: value.sum }
  return 'since' in value ? Math.max(0, now - value.since) / 1000 : (value.until - now) / 1000
}

function styled(attributes: PointAttributes, { namespace, policy }: AttributeStyle): PointAttributes {
  const kept = Object.entries(attributes).flatMap(([name, value]) => {
    const key = keyUnder(namespace, name)
    const rule = policy(key)
    return rule === undefined ? [] : [[key, rule(value)] as const]
  })
  return Object.fromEntries(kept) as PointAttributes
}

/** Returns the resource of measured values. For a group or the instance it is the same resource as for events about them. */
export function measuredResource(found: Omit<FoundGauges, 'points'>, settings: TelemetrySettings): AttributeSet[] {
  const { instance, profile, project, group } = found
  if (project !== undefined) {
    return projectResource({ key: { instance, projectId: project.id }, project, profile }, settings)
  }
  const owner = { key: found, group, trace: found }
  const own = keyValuesOf(resourceAttributesOf(owner, settings)).map(({ key, value }) => [key, value] as const)
  return attributesFrom({
    ...Object.fromEntries(own),
    // The resource names the instance, because a group on another platform may have the same path.
    ...(settings.namesInstances && { [ATTR_SERVICE_INSTANCE_ID]: instance }),
  })
}
