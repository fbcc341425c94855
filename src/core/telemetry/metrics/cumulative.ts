// Cumulative metrics: a project's totals and active runs. Each series counts from its start time in the store.
import { ATTR_SERVICE_INSTANCE_ID, ATTR_SERVICE_NAMESPACE } from '@opentelemetry/semantic-conventions'
import type { Millis } from '../../../model/instant.ts'
import {
  overflowAttributes,
  shapeOf,
  type ActiveJobs,
  type ActiveRuns,
  type ProjectKey,
  type ProjectTotals,
  type SeriesTotal,
} from '../../../model/totals.ts'
import type { ProjectFacts } from '../../../model/observation.ts'
import { keyUnder, type AttributeStyle } from '../attributes.ts'
import { ownerOf } from '../mapping/resource.ts'
import { resourceAttributesOf } from '../resource.ts'
import { rowsIn, vendorPrefix, textRow, type AttributeRow } from '../mapping/row.ts'
import { attributesFrom, keyValuesOf, type AttributeSet } from '../otlp/attribute.ts'
import type { AttributeValue } from '../otlp/attribute-value.ts'
import type { ResourceMetrics } from '../otlp/messages.ts'
import { styleOf, type TelemetrySettings } from '../settings.ts'
import { resourceMetrics, type MeasuredMetric, type Point, type PointAttributes } from './data.ts'
import { boundsOf, headOf, pointAttributes, sorted, labelsOf, type MeasuredRow } from './samples.ts'
import { activeRunsMetric, attemptMetrics } from '../mapping/metrics.ts'
import { ownName, type MetricHead } from '../mapping/metric-row.ts'

// The metrics of active jobs: how many are waiting for a runner or occupy one, and how long the oldest has been waiting.
const workerType: AttributeRow<ActiveJobs> = textRow('platform.cicd.worker.type', 'known', one => one.workerType)
const tagSet: AttributeRow<ActiveJobs> = textRow('platform.cicd.worker.tag_set', 'known', ({ tagSet: tags }) => tags)

interface ActiveJobMetric extends MetricHead {
  readonly attributes: readonly AttributeRow<ActiveJobs>[]
}

export const activeJobsMetric: ActiveJobMetric = {
  name: 'platform.cicd.pipeline.task.run.active',
  type: 'updowncounter',
  number: 'int',
  unit: '{task_run}',
  attributes: [
    textRow('platform.cicd.pipeline.task.run.state', 'always', ({ state }) => state, '`pending` or `running`'),
    workerType,
    tagSet,
  ],
  when: 'while jobs are known to be active, and 0 for a day after the last one; no bridges',
  description: 'Active jobs, by state, and by type and tags of the runner.',
}

export const oldestWaitMetric: ActiveJobMetric = {
  name: 'platform.cicd.pipeline.task.run.oldest_wait',
  type: 'gauge',
  number: 'double',
  unit: 's',
  attributes: [tagSet],
  when: 'jobs are pending, and 0 for a day after the last one',
  description: 'Time that the oldest pending job has waited for a runner, by tags.',
}

export interface Owner {
  readonly key: ProjectKey
  readonly project: ProjectFacts
  readonly profile: string
}

/** A project's values that features measure at each export of metrics. */
export interface ProjectMetrics extends Owner {
  readonly metrics: readonly MeasuredMetric[]
}

/** A project's active runs and jobs. `since`: when counting began. */
export interface ActiveTotals extends Owner {
  readonly runs: readonly ActiveRuns[]
  readonly jobs: readonly ActiveJobs[]
  readonly since: Millis
}

/** Returns a project's cumulative metrics, or undefined if there are none. `now`: when the totals were read, which is the time of all points. */
export function toCumulative(
  totals: ProjectTotals,
  now: Millis,
  settings: TelemetrySettings,
): ResourceMetrics | undefined {
  const metrics = totalsData(totals.series, now, settings)
  return metrics.length === 0 ? undefined : resourceMetrics(projectResource(totals, settings), metrics)
}

/** Returns the metrics of these series, in table order. Series of obsolete metrics, or with obsolete bounds, are omitted. */
export function totalsData(series: readonly SeriesTotal[], now: Millis, settings: TelemetrySettings): MeasuredMetric[] {
  const byMetric = Map.groupBy(series, ({ metric }) => metric)
  const wire = wireNames(settings)
  return wire.flatMap(([wireName, row]) =>
    namesUnder(wireName, wire, byMetric).flatMap(name => {
      const points = (byMetric.get(name) ?? [])
        .filter(({ amount }) => shapeOf(amount) === shapeOfRow(row, settings))
        .map(total => pointOf(total, now))
      return points.length === 0
        ? []
        : [
            {
              ...{ head: headOf(row, settings), name, points: pointsOfStates(row, points, settings) },
              temporality: 'cumulative' as const,
            },
          ]
    }),
  )
}

/** Returns the metrics that have totals, by the names of these totals, in table order. Obsolete metrics are omitted. */
export function totalsHeads(
  names: readonly string[],
  settings: TelemetrySettings,
): readonly Pick<MeasuredMetric, 'head' | 'name'>[] {
  const wire = wireNames(settings)
  const known = new Map(names.map(name => [name, name]))
  const heads = wire.flatMap(([wireName, row]) =>
    namesUnder(wireName, wire, known)
      .filter(name => known.delete(name))
      .map(name => ({ name, head: headOf(row, settings) })),
  )
  return heads
}

/** Returns the row's own name, or, if the row stands for many metrics, the names of those metrics. */
function namesUnder(
  wireName: string,
  wire: readonly (readonly [string, MeasuredRow])[],
  byMetric: ReadonlyMap<string, unknown>,
): string[] {
  if (!wireName.endsWith(ownName)) return [wireName]
  const prefix = wireName.slice(0, -ownName.length)
  return [...byMetric.keys()].filter(name => name.startsWith(prefix) && !wire.some(([own]) => own === name))
}

export function activeData(active: ActiveTotals, now: Millis, settings: TelemetrySettings): MeasuredMetric[] {
  const { runs, jobs, since } = active
  const style = styleOf({ trace: active }, settings)
  const custom = settings.projectPoints?.(active.project, active.key.instance)
  const waits = jobs.filter(({ state }) => state === 'pending')
  const waited = ({ oldest = now }: ActiveJobs): number => Math.max(0, now - oldest) / 1000
  const count = ({ count: value }: { readonly count: number }): number => value
  const add = (a: number, b: number): number => a + b
  const measured: [MeasuredMetric['head'], Point[]][] = [
    [activeRunsMetric, pointsOf(activeRunsMetric.attributes, runs, style, count, add)],
    [activeJobsMetric, pointsOf(activeJobsMetric.attributes, jobs, style, count, add)],
    [oldestWaitMetric, pointsOf(oldestWaitMetric.attributes, waits, style, waited, Math.max)],
  ]
  return measured
    .filter(([, points]) => points.length > 0)
    .map(([head, points]) => ({
      head,
      name: keyUnder(style.namespace, head.name),
      temporality: 'cumulative',
      points: within(settings.maxSeries, points, head === oldestWaitMetric ? Math.max : add),
    }))

  /** Returns the points of active runs. Points with the same attributes are merged, because several statuses map to one state. */
  function pointsOf<T>(
    rows: readonly AttributeRow<T>[],
    all: readonly T[],
    own: AttributeStyle,
    valueOf: (one: T) => number,
    join: (a: number, b: number) => number,
  ): Point[] {
    const points = new Map<string, Point & { readonly value: number }>()
    for (const one of all) {
      const attributes = { ...custom, ...pointAttributes(rows, one, own) }
      const name = sorted(attributes)
      const before = points.get(name)
      const value = before === undefined ? valueOf(one) : join(before.value, valueOf(one))
      points.set(name, { attributes, start: since, end: now, value })
    }
    return [...points.values()]
  }
}

/** Limits the number of series. All series beyond the limit share one overflow series. */
function within(maxSeries: number, points: readonly Point[], join: (a: number, b: number) => number): Point[] {
  const [first, ...others] = points.slice(maxSeries - 1)
  if (first === undefined || others.length === 0) return [...points]
  const value = [first, ...others].map(point => (typeof point.value === 'number' ? point.value : 0)).reduce(join)
  const attributes = JSON.parse(overflowAttributes) as PointAttributes
  return [...points.slice(0, maxSeries - 1), { ...first, attributes, value }]
}

/**
 * Returns the attributes of a project's resource. They include a namespace and an id, because two projects may have the same name. A configured
 * `service.namespace` overrides the project's namespace. The project's id overrides a configured id.
 */
export function projectResource(owner: Owner, settings: TelemetrySettings): AttributeSet[] {
  const { key, project } = owner
  const subject = { key, project, trace: owner }
  const namespace = ownerOf(subject)
  const own = keyValuesOf(resourceAttributesOf(subject, settings)).map(({ key: name, value }) => [name, value] as const)
  return attributesFrom({
    ...(namespace === undefined ? {} : { [ATTR_SERVICE_NAMESPACE]: namespace }),
    ...Object.fromEntries<AttributeValue>(own),
    [ATTR_SERVICE_INSTANCE_ID]: String(key.projectId),
  })
}

function pointOf({ amount, attributes, startedAt }: SeriesTotal, now: Millis): Point {
  const common = { attributes: JSON.parse(attributes) as PointAttributes, start: Math.min(startedAt, now), end: now }
  switch (amount.kind) {
    case 'sum':
      return { ...common, value: amount.by, exemplar: amount.exemplar }
    case 'last':
      return { ...common, value: amount.value }
    case 'histogram':
      return { ...common, value: amount, exemplar: amount.exemplar }
  }
}

/** Returns the names of all metrics in all profiles, because totals keep the name that they were recorded under. */
function wireNames({ profiles, variants, figures, insides }: TelemetrySettings): [string, MeasuredRow][] {
  const namespaces = [vendorPrefix, ...Object.values(profiles).map(({ namespace }) => namespace)]
  const own = rowsIn(attemptMetrics, variants)
  return [...own, ...(insides?.metrics ?? []), ...[...figures.values()].flat()].flatMap((row: MeasuredRow) =>
    [...new Set(namespaces.map(namespace => keyUnder(namespace, row.name)))].map((name): [string, MeasuredRow] => [
      name,
      row,
    ]),
  )
}

function shapeOfRow(row: MeasuredRow, settings: TelemetrySettings): string {
  switch (row.type) {
    case 'counter':
      return 'sum'
    case 'gauge':
      return 'last'
    case 'histogram':
      return shapeOf({ kind: 'histogram', bounds: boundsOf(row, settings), counts: [], sum: 0 })
  }
}

/** Returns the points of a state row, or none if the configuration drops its state attribute. The points of other rows are returned unchanged. */
export function pointsOfStates(
  { states }: MeasuredRow,
  points: readonly Point[],
  { policy }: Pick<TelemetrySettings, 'policy'>,
): readonly Point[] {
  if (states === undefined) return points
  const named = states.values.map(state => labelsOf({ [states.attribute]: state }, { policy }))
  return points.flatMap(point =>
    named
      .filter(attributes => Object.keys(attributes).length > 0)
      .map((attributes, at) => ({
        ...point,
        attributes: { ...point.attributes, ...attributes },
        value: point.value === at ? 1 : 0,
      })),
  )
}
