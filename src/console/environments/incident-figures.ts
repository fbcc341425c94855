// Figures about incidents by project, for the page and the JSON API, with their ratio to deployments to production.
import { z } from 'zod'
import { ms, place, type Shaped } from '../layout/shape.ts'
import { median } from '../../lib/quantile.ts'
import type { IsProduction } from '../../model/deployment.ts'
import type { ShownDeployment } from '../../core/store/ports/deployments.ts'
import type { ShownIncident } from '../../core/store/ports/incidents.ts'

export const incidentShape = z.object({
  ...place,
  opened: z.number().describe('Opened in this period.'),
  open: z.number().describe('Open now, whenever they were opened.'),
  restored: ms.optional().describe('Median from opening to closing, of those opened in this period, in ms.'),
  perDeployment: z.number().optional().describe('Incidents opened per successful deployment to production.'),
})
export type IncidentSummary = Shaped<typeof incidentShape>

interface Known {
  /** Opened in this period. */
  readonly opened: readonly ShownIncident[]
  /** Open now. */
  readonly open: readonly ShownIncident[]
  /** The deployments of this period. */
  readonly made: readonly ShownDeployment[]
  readonly isProduction: IsProduction
}

/** `limit`: of projects. */
export function incidentsOf({ opened, open, made, isProduction }: Known, limit: number): readonly IncidentSummary[] {
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
