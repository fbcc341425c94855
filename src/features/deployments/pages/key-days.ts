// The four keys over time: deployments of each day (or hour) to production, or to all environments if none of them is production.
import { z } from 'zod'
import { median } from '../../../lib/quantile.ts'
import { millis, ms, type Shaped } from '../../../console/layout/shape.ts'
import { spans, type Span } from '../../../console/layout/trend-spans.ts'
import type { IsProduction } from '../model/deployment.ts'
import type { Millis } from '../../../model/instant.ts'
import type { ShownDeployment } from '../sql/deployment-reads.ts'
import type { ShownIncident } from '../sql/incidents.ts'

export const keysOverTimeShape = z.object({
  of: z.enum(['production', 'all']).describe('`all` if no deployment of this period was to production.'),
  since: millis,
  until: millis,
  step: ms.describe('A day, or an hour if the period is a day; in ms.'),
  steps: z
    .array(
      z.object({
        at: millis,
        succeeded: z.number().describe('Without rollbacks.'),
        failed: z.number(),
        rollbacks: z.number(),
        leadTime: ms.optional().describe('Median over commits, in ms.'),
        recovery: ms.optional().describe('Median, in ms.'),
      }),
    )
    .describe('Oldest first, without those that have no deployment.'),
  incidents: z.array(z.object({ at: millis, project: z.string(), iid: z.number() })).describe('When they were opened.'),
})
export type KeysOverTime = Shaped<typeof keysOverTimeShape>

/** More would hide the bars. */
const maxIncidents = 40

interface Known {
  readonly made: readonly ShownDeployment[]
  /** The latest first. */
  readonly opened: readonly ShownIncident[]
  readonly isProduction: IsProduction
}

export function keysOverTime({ made, opened, isProduction }: Known, span: Span, now: Millis): KeysOverTime {
  const { step, length } = spans[span]
  const until = Math.ceil((now + 1) / step) * step
  const counted = made.filter(({ figures }) => figures !== undefined)
  const toProduction = counted.filter(({ view }) => isProduction(view))
  const of = toProduction.length > 0 ? 'production' : 'all'
  const byStep = Map.groupBy(of === 'production' ? toProduction : counted, ({ at }) => Math.floor(at / step) * step)
  const steps = [...byStep].map(([at, own]) => {
    const figures = own.flatMap(one => one.figures ?? [])
    const rollbacks = figures.filter(({ isRollback }) => isRollback === true).length
    const failed = figures.filter(({ outcome, isRollback }) => outcome === 'failed' && isRollback !== true).length
    return {
      ...{ at, succeeded: figures.length - failed - rollbacks, failed, rollbacks },
      leadTime: median(figures.flatMap(({ leadTimes }) => leadTimes ?? [])),
      recovery: median(figures.flatMap(({ recovery }) => recovery ?? [])),
    }
  })
  const incidents = opened.flatMap(({ incident: { project, iid }, view: { openedAt: at } }) =>
    at === undefined ? [] : [{ at, project: project.path ?? String(project.id), iid }],
  )
  return {
    ...{ of, since: until - length, until, step },
    steps: steps.sort((a, b) => a.at - b.at),
    incidents: incidents.slice(0, maxIncidents),
  }
}
