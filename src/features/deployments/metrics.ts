// The metrics of counted deployments, changes and incidents, with their values and attributes. This file also defines the semantic-convention metrics
// of each project's known changes: how many are in each state, and how long the open ones have been open.
import { ATTR_DEPLOYMENT_ENVIRONMENT_NAME } from '@opentelemetry/semantic-conventions'
import {
  ATTR_DEPLOYMENT_STATUS,
  ATTR_VCS_CHANGE_STATE,
  ATTR_VCS_REF_BASE_NAME,
  ATTR_VCS_REF_HEAD_NAME,
  ATTR_VCS_REPOSITORY_URL_FULL,
} from '../../core/telemetry/mapping/semconv.ts'
import { changes } from './sql/changes.ts'
import { changeStates } from './model/change.ts'
import type { ChangeFigures, ChangeMeasure, ChangeState, ChangeView } from './model/change.ts'
import { longBounds } from '../../model/totals.ts'
import { ofInstance } from '../../model/instance.ts'
import { pointAttributes, sorted } from '../../core/telemetry/metrics/samples.ts'
import { projectUrl } from '../../core/telemetry/mapping/job.ts'
import { styleOf, type TelemetrySettings } from '../../core/telemetry/settings.ts'
import { textRow, type AttributeRow } from '../../core/telemetry/mapping/row.ts'
import type { DeploymentFigures } from './model/deployment-figures.ts'
import type { DeploymentOptions } from './options.ts'
import type { FiguresRow, FiguresSubject, FiguresTable } from '../../core/telemetry/mapping/metric-row.ts'
import type { IncidentFigures } from './model/incident.ts'
import type { MeasuredMetric, Point, PointAttributes } from '../../core/telemetry/metrics/data.ts'
import type { MeasuresProjects } from '../../daemon/feature.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectMetrics } from '../../core/telemetry/metrics/cumulative.ts'

const counter = { type: 'counter', number: 'int' } as const
const histogram = { type: 'histogram', number: 'double', unit: 's' } as const
const gauge = { type: 'gauge', number: 'double', unit: 's' } as const

function seconds(ms: number | undefined): number[] {
  return ms === undefined ? [] : [ms / 1_000]
}

type OfDeployment = AttributeRow<FiguresSubject<DeploymentFigures>>

const environment: OfDeployment = textRow(
  ATTR_DEPLOYMENT_ENVIRONMENT_NAME,
  'always',
  ({ figures }) => figures.environment,
)
const tier: OfDeployment = textRow('platform.deployment.environment.tier', 'known', ({ figures }) => figures.tier)
const production: OfDeployment = textRow(
  'platform.deployment.environment.production',
  'known',
  ({ figures }) => figures.isProduction?.toString(),
  '`true` or `false`, as `PIPESPAN_PRODUCTION` says',
)
const status: OfDeployment = textRow(ATTR_DEPLOYMENT_STATUS, 'always', ({ figures }) => figures.outcome)
const definition: OfDeployment = textRow(
  'platform.deployment.lead_time.definition',
  'always',
  ({ figures }) => figures.definition,
  '`PIPESPAN_LEAD_TIME`: `commit`, `authored`, `merge`',
)
const place = [environment, tier, production]

// prettier-ignore
const deploymentMetrics: readonly FiguresRow<DeploymentFigures>[] = [
  { name: 'platform.deployment.count', ...counter, unit: '{deployment}', attributes: [...place, status], when: 'it succeeded or failed', values: () => [1],
    description: 'Deployments that ended, by their outcome.' },
  { name: 'platform.deployment.duration', ...histogram, attributes: place, when: 'its start is known', values: ({ duration }) => seconds(duration),
    description: 'Time from the start to the end of a deployment, whatever its outcome.' },
  { name: 'platform.deployment.last.timestamp', ...gauge, attributes: [environment, production], when: 'it succeeded',
    values: ({ outcome, finishedAt }) => (outcome === 'succeeded' ? [finishedAt / 1_000] : []),
    description: 'When the last deployment to the environment succeeded, in seconds of Unix time.' },
  { name: 'platform.deployment.rollback.count', ...counter, unit: '{rollback}', attributes: [environment, production], when: 'it is a rollback', values: ({ isRollback }) => (isRollback === true ? [1] : []),
    description: 'Deployments that brought back an earlier revision, or one older than the one they replaced.' },
  { name: 'platform.deployment.recovery_time', ...histogram, bounds: longBounds, attributes: place, when: 'it is the first successful one after a failure, or a rollback', values: ({ recovery }) => seconds(recovery),
    description: 'Time from the first failed deployment to the next successful one; for a rollback, from the deployment that it rolled back.' },
  { name: 'platform.deployment.lead_time', ...histogram, bounds: longBounds, attributes: [...place, definition], when: 'to production, and the API is configured', values: ({ leadTimes = [] }) => leadTimes.flatMap(seconds),
    description: 'Time from a commit to its deployment to production; an attribute names the definition.' },
]

/**
 * A change and its branches, as the subject of a metric. To limit the number of series, one attribute value may stand for many branches; for a source
 * branch, it is the value that also stands for the ref of its merge request pipeline.
 */
type ChangeSubject = FiguresSubject<Pick<ChangeFigures, 'head' | 'base'> & { readonly state?: string }>
type OfChange = AttributeRow<ChangeSubject>

const repository: OfChange = textRow(ATTR_VCS_REPOSITORY_URL_FULL, 'known', ({ chunk }) => projectUrl(chunk))
const head: OfChange = textRow(
  ATTR_VCS_REF_HEAD_NAME,
  'always',
  ({ figures, foldRef }) => foldRef(figures.head ?? '', 'merge_request_event'),
  'the source branch, folded like the refs of merge requests in other metrics',
)
const base: OfChange = textRow(
  ATTR_VCS_REF_BASE_NAME,
  'always',
  ({ figures, foldRef }) => foldRef(figures.base ?? '', 'push'),
  'the target branch, folded like refs in other metrics',
)
const state: OfChange = textRow(ATTR_VCS_CHANGE_STATE, 'always', ({ figures }) => figures.state)
const isOn = 'with `PIPESPAN_VCS_METRICS`'

function took(measure: ChangeMeasure): FiguresRow<ChangeFigures>['values'] {
  return figures => (figures.measure === measure ? seconds(figures.took) : [])
}

// prettier-ignore
const changeMetrics: readonly FiguresRow<ChangeFigures>[] = [
  { name: 'platform.vcs.change.time_to_merge', ...histogram, attributes: [], values: took('merge'), bounds: longBounds, when: 'it was merged',
    description: 'Time from the creation of a change to its merge.' },
  { name: 'platform.vcs.change.time_to_approval', ...histogram, attributes: [], values: took('approval'), bounds: longBounds, when: 'its opening was reported, and it was approved',
    description: 'Time from the creation of a change to its first approval.' },
  { name: 'platform.vcs.change.time_to_first_pipeline', ...histogram, attributes: [], values: took('pipeline'), when: 'its opening was reported, and it has a merge request pipeline',
    description: 'Time from the creation of a change to the creation of its first merge request pipeline.' },
  { name: 'platform.vcs.change.time_in_merge_train', ...histogram, attributes: [], values: took('train'), when: 'its opening was reported, it was merged, and it has a pipeline in a merge train',
    description: 'Time from the creation of the first merge train pipeline of a change to its merge.' },
]

/** These metrics are only exported with `PIPESPAN_VCS_METRICS`. */
// prettier-ignore
const conventionMetrics: readonly FiguresRow<ChangeFigures>[] = [
  { name: 'vcs.change.time_to_merge', ...gauge, attributes: [repository, head, base], values: took('merge'), when: `it was merged; ${isOn}`,
    description: 'The amount of time since its creation it took the latest change to get merged.' },
  { name: 'vcs.change.time_to_approval', ...gauge, attributes: [repository, head, base], values: took('approval'), when: `it was approved; ${isOn}`,
    description: 'The amount of time since its creation it took the latest change to get the first approval.' },
]

/** The metrics that are computed from the known changes at export time, not counted as events arrive. */
// prettier-ignore
export const changeCountMetric = {
  name: 'vcs.change.count', type: 'updowncounter', number: 'int', unit: '{change}', attributes: [state, repository], when: `changes are known; ${isOn}`,
  description: 'The number of changes that are known, by their state.',
} as const

// prettier-ignore
export const changeDurationMetric = {
  name: 'vcs.change.duration', ...gauge, attributes: [state, repository, head, base], when: `changes are open; ${isOn}`,
  description: 'The time for which a change has been open, since it was opened or reopened. If several changes have the same attributes, the longest of their times.',
} as const

const severity: AttributeRow<FiguresSubject<IncidentFigures>> = textRow(
  'platform.issue.severity',
  'known',
  ({ figures }) => figures.severity,
  "the platform's value in lower case, as known when the incident was counted",
)

// prettier-ignore
const incidentMetrics: readonly FiguresRow<IncidentFigures>[] = [
  { name: 'platform.incident.count', ...counter, unit: '{incident}', attributes: [severity], when: 'it was opened', values: ({ isOpening }) => (isOpening ? [1] : []),
    description: 'Incidents that were opened.' },
  { name: 'platform.incident.duration', ...histogram, bounds: longBounds, attributes: [severity], when: 'it was closed', values: ({ duration }) => seconds(duration),
    description: 'Time from the opening of an incident to its end.' },
]

export const figureTables: readonly (FiguresTable & { readonly isOn?: (options: DeploymentOptions) => boolean })[] = [
  { kind: 'deployment_figures', rows: deploymentMetrics },
  { kind: 'change_figures', rows: changeMetrics },
  { kind: 'change_figures', rows: conventionMetrics, isOn: ({ vcsMetrics }) => vcsMetrics },
  { kind: 'incident_figures', rows: incidentMetrics },
]

/** Maximum number of open changes per project whose age is exported. The oldest ones are exported. */
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

export interface KnownChanges extends Omit<ProjectMetrics, 'metrics'> {
  readonly since: Millis
  readonly states: Readonly<Partial<Record<ChangeState, number>>>
  readonly open: readonly Pick<ChangeView, 'state' | 'head' | 'base' | 'stateAt'>[]
}

/** `now` is the timestamp of every point. */
export function changesData(known: KnownChanges, now: Millis, settings: TelemetrySettings): MeasuredMetric[] {
  const { key, project } = known
  const style = styleOf({ trace: known }, settings)
  const custom = settings.projectPoints?.(project, key.instance, 'merge_request')
  const attributesOf = <F>(rows: readonly AttributeRow<F>[], figures: object): PointAttributes => {
    const foldRef = (ref: string, source: string): string =>
      settings.foldRef({ pipeline: { facts: { ref, source } }, project })
    return { ...custom, ...pointAttributes(rows, { figures, chunk: { key, project }, foldRef } as F, style) }
  }
  // Every state has a count, so that a state without changes is sent as 0. Points are summed if the attribute that distinguishes them is dropped.
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
