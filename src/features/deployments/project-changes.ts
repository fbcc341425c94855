// The conventions' metrics of the changes of each project that are known: how many are in which state, and how long open ones have been open.
import { changeCountMetric, changeDurationMetric } from './metrics.ts'
import { changes } from './sql/changes.ts'
import { changeStates, type ChangeState, type ChangeView } from './model/change.ts'
import { ofInstance } from '../../model/instance.ts'
import { pointAttributes, sorted } from '../../core/telemetry/metrics/samples.ts'
import { styleOf, type TelemetrySettings } from '../../core/telemetry/settings.ts'
import type { AttributeRow } from '../../core/telemetry/mapping/row.ts'
import type { DeploymentOptions } from './options.ts'
import type { MeasuredMetric, Point, PointAttributes } from '../../core/telemetry/metrics/data.ts'
import type { MeasuresProjects } from '../../daemon/feature.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectMetrics } from '../../core/telemetry/metrics/cumulative.ts'

/** The age of so many open changes of a project is exported, the oldest. */
const maxOpen = 10_000

export const projectChanges: MeasuresProjects<DeploymentOptions> = {
  heads: [changeCountMetric, changeDurationMetric],
  read: ({ vcsMetrics }, { store, profile, settings }) => {
    if (!vcsMetrics) return undefined
    const stored = store.on(changes)
    return async now => {
      const found: ProjectMetrics[] = []
      for (const { instance, project, since, states } of await stored.states()) {
        const key = { instance, projectId: project.id }
        const owner = { key, project, profile: ofInstance(profile, instance) }
        const known = { ...owner, since, states, open: await stored.open(key, maxOpen) }
        found.push({ ...owner, metrics: changesData(known, now, settings) })
      }
      return found
    }
  },
}

/** The known changes of a project. */
export interface KnownChanges extends Omit<ProjectMetrics, 'metrics'> {
  readonly since: Millis
  readonly states: Readonly<Partial<Record<ChangeState, number>>>
  readonly open: readonly Pick<ChangeView, 'state' | 'head' | 'base' | 'stateAt'>[]
}

/** `now`: the time of every point. */
export function changesData(known: KnownChanges, now: Millis, settings: TelemetrySettings): MeasuredMetric[] {
  const { key, project } = known
  const style = styleOf({ trace: known }, settings)
  const custom = settings.projectPoints?.(project, key.instance, 'merge_request')
  const attributesOf = <F>(rows: readonly AttributeRow<F>[], figures: object): PointAttributes => {
    const foldRef = (ref: string, source: string): string =>
      settings.foldRef({ pipeline: { facts: { ref, source } }, project })
    return { ...custom, ...pointAttributes(rows, { figures, chunk: { key, project }, foldRef } as F, style) }
  }
  // All states, so that one which no change is in any more is sent with 0. They are joined if their attribute is dropped.
  const counts = new Map<string, Point>()
  for (const state of changeStates) {
    const attributes = attributesOf(changeCountMetric.attributes, { state })
    const series = sorted(attributes)
    const value = Number(counts.get(series)?.value ?? 0) + (known.states[state] ?? 0)
    counts.set(series, { attributes, start: Math.min(known.since, now), end: now, value })
  }
  const ages = new Map<string, Point>()
  for (const open of known.open) {
    if (open.stateAt === undefined) continue
    const attributes = attributesOf(changeDurationMetric.attributes, open)
    const value = Math.max(0, now - open.stateAt) / 1_000
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
