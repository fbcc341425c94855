// Figures about environments, for the page and the JSON API: the deployed revisions, and the four key deployment metrics.
import { z } from 'zod'
import { deploymentList, incidentList, type IncidentSummary, type ListedDeployment } from './environment-columns.ts'
import { fourKeys, keysOverTime, keysOverTimeShape, keysShape } from './keys.ts'
import { groupsOf, groupsShape, type Grouped } from '../../../console/layout/groups.ts'
import { millis, own as ownShape, place, span as spanShape, type Shaped } from '../../../console/layout/shape.ts'
import { spans } from '../../../console/layout/trend-spans.ts'
import { median } from '../../../lib/quantile.ts'
import type { IsProduction } from '../model/deployment.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesSettings } from '../../../console/ports.ts'
import type { Scope } from '../../../console/layout/scope-heading.ts'
import type { ShownDeployment } from '../sql/deployment-reads.ts'
import type { ShownIncident } from '../sql/incidents.ts'
import type { DeploymentSources } from './sources.ts'

/** The incidents and deployments of a period, from which the incidents of each project are counted. */
interface Known {
  readonly opened: readonly ShownIncident[]
  /** The incidents that are open now. */
  readonly open: readonly ShownIncident[]
  readonly made: readonly ShownDeployment[]
  readonly isProduction: IsProduction
}

/**
 * Counts incidents by project, and divides each count by the number of the project's deployments to production. `limit` is the maximum number of
 * projects.
 */
function incidentsOf({ opened, open, made, isProduction }: Known, limit: number): readonly IncidentSummary[] {
  const keyOf = ({ incident: { instance, project: of } }: ShownIncident): string => JSON.stringify([instance, of.id])
  const [openedOf, openOf] = [Map.groupBy(opened, keyOf), Map.groupBy(open, keyOf)]
  const succeeded = Map.groupBy(
    made.filter(({ view }) => view.outcome === 'succeeded' && isProduction(view)),
    ({ deployment: { instance, project: of } }) => JSON.stringify([instance, of.id]),
  )
  return [...new Set([...openOf.keys(), ...openedOf.keys()])].slice(0, limit).flatMap((key): IncidentSummary[] => {
    const [own = [], still = []] = [openedOf.get(key), openOf.get(key)]
    const any = own[0] ?? still[0]
    if (any === undefined) return []
    const { instance, project: of } = any.incident
    const restored = own.flatMap(({ view: { openedAt, closedAt } }) =>
      openedAt === undefined || closedAt === undefined ? [] : [Math.max(0, closedAt - openedAt)],
    )
    const count = succeeded.get(key)?.length ?? 0
    return [
      {
        ...{ instance, projectId: of.id, project: of.path ?? String(of.id) },
        ...{ opened: own.length, open: still.length, restored: median(restored) },
        perDeployment: count === 0 ? undefined : own.length / count,
      },
    ]
  })
}

interface AskedEnvironments extends Scope {
  /** The maximum number of environments and of listed deployments. */
  readonly limit: number
}

const environmentShape = z.object({
  ...place,
  tier: z.string().optional(),
  environment: z.string(),
  isProduction: z.boolean().describe('Whether PIPESPAN_PRODUCTION matches the environment.'),
  current: deploymentList.shape.optional().describe('The last successful deployment.'),
  keys: keysShape,
})
export type EnvironmentFigures = Shaped<typeof environmentShape>

const keyLineShape = z.object({ name: z.string(), keys: keysShape })

export const environmentsShape = z.object({
  span: spanShape,
  since: millis,
  project: z.string().optional(),
  own: ownShape,
  backTo: millis
    .optional()
    .describe('Set if the period has more than 5,000 deployments: only the newest are counted, back to this time.'),
  environments: z.array(environmentShape),
  isCut: z.boolean().describe('True if further environments are left out.'),
  incidents: z.array(incidentList.shape).describe('Incident figures by project.'),
  overTime: keysOverTimeShape,
  ...groupsShape(keyLineShape),
  deployments: z.array(deploymentList.shape).describe('Newest first.'),
})
export type Environments = Shaped<typeof environmentsShape>

/** The maximum number of deployments that figures are computed from, latest first. */
export const maxCounted = 5_000

export async function environmentsOf(
  {
    deployments,
    incidents: known,
    isProduction,
  }: Pick<DeploymentSources, 'deployments' | 'incidents' | 'isProduction'>,
  { groupBy }: Pick<PagesSettings, 'groupBy'>,
  { span, project, own, limit }: AskedEnvironments,
  now: Millis,
): Promise<Environments> {
  const since = now - spans[span].length
  const within = { project, since, until: now + 1, limit: maxCounted }
  // One more of each is read than is used. If it exists, the figures are incomplete.
  const [current, all, opened, open] = await Promise.all([
    deployments.current({ project, limit: limit + 1 }),
    deployments.list({ ...within, limit: maxCounted + 1 }),
    known.opened(within),
    known.open({ project, limit: maxCounted }),
  ])
  const made = all.slice(0, maxCounted)
  const backTo = all.length > maxCounted ? made.at(-1)?.at : undefined
  const days = (now - (backTo ?? since)) / spans['24h'].length
  const incidents = incidentsOf({ opened, open, made, isProduction }, limit)
  const byEnvironment = Map.groupBy(made, placeOf)
  const latest = new Map(current.map(one => [placeOf(one), one]))
  const environmentKeys = [...new Set([...latest.keys(), ...byEnvironment.keys()])]
  const environments = environmentKeys.slice(0, limit).flatMap((key): EnvironmentFigures[] => {
    const own = byEnvironment.get(key) ?? []
    const shown = latest.get(key)
    const [any = shown] = own
    if (any === undefined) return []
    const { instance, projectId, project: path, environment = '', tier } = listed(shown ?? any, isProduction)
    const keys = fourKeys(own, days)
    const about = { environment, tier, isProduction: isProduction({ environment, tier }) }
    return [{ ...about, instance, projectId, project: path, current: shown && listed(shown, isProduction), keys }]
  })
  const linesOf = (all: readonly Grouped<ShownDeployment>[]): Shaped<typeof keyLineShape>[] =>
    all
      .map(({ name, items }) => ({ name, keys: fourKeys(items, days) }))
      .sort((a, b) => b.keys.deployments - a.keys.deployments || (a.name < b.name ? -1 : 1))
  const pathOf = ({ deployment }: ShownDeployment): string => deployment.project.path ?? ''
  return {
    span,
    since,
    project,
    own,
    backTo,
    environments,
    isCut: environmentKeys.length > limit,
    incidents,
    ...groupsOf(made, { scope: project, groupBy, pathOf }, linesOf),
    overTime: keysOverTime({ made, opened, isProduction }, span, now),
    deployments: made.slice(0, limit).map(one => listed(one, isProduction)),
  }
}

function placeOf({ deployment: { instance, project }, view }: ShownDeployment): string {
  return JSON.stringify([instance, project.id, view.environment])
}

function listed({ deployment, view, at, figures }: ShownDeployment, isProduction: IsProduction): ListedDeployment {
  const { instance, project, deploymentId, jobId, job } = deployment
  return {
    ...view,
    isProduction: isProduction(view),
    ...{ instance, projectId: project.id, project: project.path ?? '', at, deploymentId, jobId },
    pipelineId: job?.span.pipelineId,
    isRollback: figures?.isRollback,
    recovery: figures?.recovery,
  }
}
