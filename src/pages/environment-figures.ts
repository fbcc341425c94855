// What is deployed where, and how deploying goes: as the pages and the JSON API show it.
import { incidentsOf, type IncidentSummary } from './incident-figures.ts'
import { median } from './median.ts'
import { spans, type Span } from './trend-spans.ts'
import type { DeploymentFigures } from '../model/deployment-figures.ts'
import type { DeploymentView } from '../model/deployment.ts'
import type { Millis } from '../model/instant.ts'
import type { PagesSources } from './ports.ts'
import type { Scope } from './scope-heading.ts'
import type { ShownDeployment } from '../store/ports/deployments.ts'

export interface AskedEnvironments extends Scope {
  /** Environments, and deployments of the list. */
  readonly limit: number
}

/** A deployment with all that is shown of it. */
export interface ListedDeployment extends DeploymentView {
  readonly instance: string
  readonly projectId: number
  readonly project: string
  readonly at: Millis
  readonly deploymentId?: number | undefined
  readonly jobId?: number | undefined
  /** Where its job is known. */
  readonly pipelineId?: number | undefined
  readonly isRollback?: true | undefined
  readonly recovery?: Millis | undefined
}

/** Of the deployments of one environment that were counted within the time; each undefined where nothing is known of it. */
export interface FourKeys {
  readonly deployments: number
  readonly failed: number
  readonly rollbacks: number
  /** Successful deployments per day. */
  readonly perDay: number
  /** Median over commits, in ms. */
  readonly leadTime?: Millis | undefined
  /** Failed or rolled back, as a share of all deployments. */
  readonly failureRate?: number | undefined
  /** The median, ms. */
  readonly recovery?: Millis | undefined
}

export interface EnvironmentFigures {
  readonly environment: string
  readonly tier?: string | undefined
  readonly instance: string
  readonly projectId: number
  readonly project: string
  /** What is deployed: the last deployment that succeeded. */
  readonly current?: ListedDeployment | undefined
  readonly keys: FourKeys
}

export interface Environments {
  readonly span: Span
  readonly since: Millis
  readonly project?: string | undefined
  readonly environments: readonly EnvironmentFigures[]
  /** By project, those with open ones first. */
  readonly incidents: readonly IncidentSummary[]
  /** The latest first, of all of them. */
  readonly deployments: readonly ListedDeployment[]
}

/** Deployments that figures are made of, the latest. */
const mostCounted = 5_000

export async function environmentsOf(
  { deployments, incidents: known }: Pick<PagesSources, 'deployments' | 'incidents'>,
  { span, project, limit }: AskedEnvironments,
  now: Millis,
): Promise<Environments> {
  const since = now - spans[span].length
  const [current, made] = await Promise.all([
    deployments.current({ project, limit }),
    deployments.list({ project, since, until: now + 1, limit: mostCounted }),
  ])
  const incidents = await incidentsOf({ incidents: known }, { project, since, limit }, made, now)
  const byPlace = Map.groupBy(made, placeOf)
  const latest = new Map(current.map(one => [placeOf(one), one]))
  const places = [...new Set([...latest.keys(), ...byPlace.keys()])].slice(0, limit)
  const environments = places.flatMap((place): EnvironmentFigures[] => {
    const own = byPlace.get(place) ?? []
    const shown = latest.get(place)
    const [any = shown] = own
    if (any === undefined) return []
    const { instance, projectId, project: path, environment = '', tier } = listed(shown ?? any)
    const days = spans[span].length / spans['24h'].length
    const keys = fourKeys(own, days)
    return [{ environment, tier, instance, projectId, project: path, current: shown && listed(shown), keys }]
  })
  return { span, since, project, environments, incidents, deployments: made.slice(0, limit).map(listed) }
}

/** `days`: over which they were made. */
export function fourKeys(made: readonly ShownDeployment[], days: number): FourKeys {
  const counted = made.flatMap(({ figures }): DeploymentFigures[] => (figures === undefined ? [] : [figures]))
  const failed = counted.filter(({ outcome }) => outcome === 'failed').length
  const rollbacks = counted.filter(({ isRollback }) => isRollback === true).length
  return {
    ...{ deployments: counted.length, failed, rollbacks, perDay: (counted.length - failed) / days },
    leadTime: median(counted.flatMap(({ leadTimes }) => leadTimes ?? [])),
    failureRate: counted.length === 0 ? undefined : (failed + rollbacks) / counted.length,
    recovery: median(counted.flatMap(({ recovery }) => recovery ?? [])),
  }
}

function placeOf({ deployment: { instance, project }, view }: ShownDeployment): string {
  return JSON.stringify([instance, project.id, view.environment])
}

function listed({ deployment, view, at, figures }: ShownDeployment): ListedDeployment {
  const { instance, project, deploymentId, jobId, job } = deployment
  return {
    ...view,
    ...{ instance, projectId: project.id, project: project.path ?? '', at, deploymentId, jobId },
    pipelineId: job?.span.pipelineId,
    isRollback: figures?.isRollback,
    recovery: figures?.recovery,
  }
}
