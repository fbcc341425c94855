// The conventions' current metrics of changes: how many are in which state, and how long open ones have been open.
import { changeCountMetric, changeDurationMetric } from '../mapping/change-metrics.ts'
import { changeRefs, styleOf, type TelemetrySettings } from '../settings.ts'
import { changeStates, type ChangeState, type ChangeView } from '../../../model/change.ts'
import { pointAttributes, sorted } from './samples.ts'
import { projectResource, type Owner } from './cumulative.ts'
import { resourceMetrics, type MeasuredMetric, type Point } from './data.ts'
import type { Millis } from '../../../model/instant.ts'
import type { ResourceMetrics } from '../otlp/messages.ts'

/** The known changes of a project. */
export interface KnownChanges extends Owner {
  readonly since: Millis
  readonly states: Readonly<Partial<Record<ChangeState, number>>>
  readonly open: readonly Pick<ChangeView, 'state' | 'head' | 'base' | 'stateAt'>[]
}

/** `now`: the time of every point. */
export function toChanges(known: KnownChanges, now: Millis, settings: TelemetrySettings): ResourceMetrics {
  return resourceMetrics(projectResource(known, settings), changesData(known, now, settings))
}

export function changesData(known: KnownChanges, now: Millis, settings: TelemetrySettings): MeasuredMetric[] {
  const { key, project } = known
  const style = styleOf({ trace: known }, settings)
  const chunk = { key, project }
  const custom = settings.projectPoints?.(project, key.instance, 'merge_request')
  // All states, so that one which no change is in any more is sent with 0. They are joined if their attribute is dropped.
  const counts = new Map<string, Point>()
  for (const state of changeStates) {
    const own = pointAttributes(changeCountMetric.attributes, { chunk, head: '', base: '', state }, style)
    const attributes = { ...custom, ...own }
    const series = sorted(attributes)
    const value = Number(counts.get(series)?.value ?? 0) + (known.states[state] ?? 0)
    counts.set(series, { attributes, start: Math.min(known.since, now), end: now, value })
  }
  const ages = new Map<string, Point>()
  for (const { state, stateAt, ...refs } of known.open) {
    if (stateAt === undefined) continue
    const subject = { chunk, ...changeRefs(refs, project, settings.foldRef), state }
    const attributes = { ...custom, ...pointAttributes(changeDurationMetric.attributes, subject, style) }
    const value = Math.max(0, now - stateAt) / 1_000
    const series = sorted(attributes)
    if (value >= Number(ages.get(series)?.value ?? 0)) ages.set(series, { attributes, start: now, end: now, value })
  }
  const metrics: [MeasuredMetric['head'], readonly Point[]][] = [
    [changeCountMetric, [...counts.values()]],
    [changeDurationMetric, [...ages.values()].slice(0, settings.maxSeries)],
  ]
  return metrics
    .filter(([, points]) => points.length > 0)
    .map(([head, points]) => ({ head, name: head.name, temporality: 'cumulative', points }))
}
