// Sums of pipelines by one of the operator's attributes, such as a team, and by groups of projects.
import { z } from 'zod'
import { bySubgroup, grouped, type Grouped } from '../layout/grouped.ts'
import { ms, type Shaped } from '../layout/shape.ts'
import type { PagesSettings } from '../ports.ts'
import type { TrendPlace } from '../../store/ports/trends.ts'

export const groupLineShape = z.object({
  name: z.string(),
  runs: z.number(),
  failed: z.number(),
  totalMs: ms,
  meanMs: ms,
})
export type GroupLine = Shaped<typeof groupLineShape>

/** Those with the most pipelines first; a line without a name is everything that has no value. */
export function groupedTrends(
  places: readonly TrendPlace[],
  { valueOf }: NonNullable<PagesSettings['groupBy']>,
): GroupLine[] {
  return summed(grouped(places, ({ project, branch }) => valueOf(project, branch) ?? ''))
}

/** By the next level of groups below `group`, which end with a slash; projects of the group itself are left out. Empty if there is only one. */
export function subgroupTrends(places: readonly TrendPlace[], group?: string): GroupLine[] {
  return summed(bySubgroup(places, ({ project }) => project, group))
}

function summed(all: readonly Grouped<TrendPlace>[]): GroupLine[] {
  const lines = all.map(({ name, items: some }) => {
    const sum = (of: (place: TrendPlace) => number): number => some.reduce((total, one) => total + of(one), 0)
    const [runs, totalMs] = [sum(one => one.runs), sum(one => one.totalMs)]
    return { name, runs, failed: sum(one => one.failed), totalMs, meanMs: runs === 0 ? 0 : totalMs / runs }
  })
  return lines.sort((a, b) => b.runs - a.runs || (a.name < b.name ? -1 : 1))
}
