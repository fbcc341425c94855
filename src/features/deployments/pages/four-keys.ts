// The four key metrics of some deployments: what they are, and the columns that show them.
import { z } from 'zod'
import { counted, duration, figure, number, percent } from '../../../console/layout/format.ts'
import { figures, type ShownColumn } from '../../../console/layout/sorting.ts'
import { median } from '../../../lib/quantile.ts'
import { ms, type Shaped } from '../../../console/layout/shape.ts'
import type { DeploymentFigures } from '../model/deployment-figures.ts'
import type { ShownDeployment } from '../sql/deployment-reads.ts'

export const keysShape = z.object({
  deployments: z.number().describe('Deployments that ended in this period.'),
  failed: z.number(),
  rollbacks: z.number(),
  perDay: z.number().describe('Successful deployments per day.'),
  leadTime: ms.optional().describe('Median over commits, in ms.'),
  failureRate: z.number().optional().describe('Failed or rolled back, as a share of all deployments.'),
  recovery: ms.optional().describe('Median, in ms.'),
})
export type FourKeys = Shaped<typeof keysShape>

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

/** The columns of rows that have them. */
export function keyColumns<Row extends { readonly keys: FourKeys }>(): Record<string, ShownColumn<Row>> {
  return {
    deployments: figures('Deployments', ({ keys }) => keys.deployments, number),
    day: figures(
      'Per day',
      ({ keys }) => keys.perDay,
      perDay => (perDay >= 10 ? number(Math.round(perDay)) : perDay.toFixed(1)),
    ),
    lead: figures('Lead time', ({ keys }) => keys.leadTime, duration),
    failures: {
      head: 'Failures',
      of: ({ keys }) => keys.failureRate,
      cell: ({ keys: { failureRate, failed, rollbacks } }) =>
        figure(
          failureRate === undefined ? '–' : percent(failureRate),
          `${counted(failed, 'failure')}, ${counted(rollbacks, 'rollback')}`,
        ),
    },
    recovery: figures('Recovery', ({ keys }) => keys.recovery, duration),
  }
}
