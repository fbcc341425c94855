// Figures about environments, for the page and the JSON API: what is deployed, and the four key metrics of deployments.
import { incidentsOf, type IncidentSummary } from './incident-figures.ts'
import { median } from '../layout/median.ts'
import { spans, type Span } from '../layout/trend-spans.ts'
import type { DeploymentFigures } from '../../model/deployment-figures.ts'
import type { DeploymentView } from '../../model/deployment.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesSources } from '../ports.ts'
import type { Scope } from '../layout/scope-heading.ts'
import type { ShownDeployment } from '../../store/ports/deployments.ts'

export interface AskedEnvironments extends Scope {
  /** Of environments, and of listed deployments. */
  readonly limit: number
}

/** A deployment in the list. */
export interface ListedDeployment extends DeploymentView {
  readonly instance: string
  readonly projectId: number
  readonly project: string
  readonly at: Millis
  readonly deploymentId?: number | undefined
  readonly jobId?: number | undefined
  /** Undefined if its job is not known. */
  readonly pipelineId?: number | undefined
  readonly isRollback?: true | undefined
  readonly recovery?: Millis | undefined
}

/** Of the deployments of one environment in the period; undefined if nothing is known. */
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
  /** Median, in ms. */
  readonly recovery?: Millis | undefined
}

export interface EnvironmentFigures {
  readonly environment: string
  readonly tier?: string | undefined
  readonly instance: string
  readonly projectId: number
  readonly project: string
  /** The last successful deployment. */
  readonly current?: ListedDeployment | undefined
  readonly keys: FourKeys
}

export interface Environments {
  readonly span: Span
  readonly since: Millis
  readonly project?: string | undefined
  readonly environments: readonly EnvironmentFigures[]
  /** By project, those with open incidents first. */
  readonly incidents: readonly IncidentSummary[]
  /** Newest first, of all environments. */
  readonly deployments: readonly ListedDeployment[]
}

/** Figures are made from the latest ones, up to this number. */
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

/** `days`: the length of the period. */
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
