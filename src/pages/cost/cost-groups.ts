// Sums of costs by one of the operator's attributes, such as a team.
import { bySubgroup, grouped, type Grouped } from '../layout/grouped.ts'
import { wastedPurposes, type CostLine, type CostSum } from '../../store/ports/costs.ts'
import type { PagesSettings } from '../ports.ts'

/** `lines`: by project and class of branch. The most expensive first; a line without a name is everything that has no value. */
export function groupedCosts(
  lines: readonly CostLine[],
  { valueOf }: NonNullable<PagesSettings['groupBy']>,
): CostLine[] {
  return summed(grouped(lines, ({ project, name: branch }) => valueOf(project, branch) ?? ''))
}

/** Sums by the next level of groups below `group`, which end with a slash; projects of the group itself are left out. Empty if there is only one. */
export function subgroupCosts(lines: readonly CostLine[], group?: string): CostLine[] {
  return summed(bySubgroup(lines, ({ project }) => project, group))
}

function summed(all: readonly Grouped<CostLine>[]): CostLine[] {
  return all
    .map(({ name, items }) =>
      items
        .map(({ runs, totalMs, cost, wasted }): CostLine => ({ project: '', name, runs, totalMs, cost, wasted }))
        .reduce(added),
    )
    .sort((a, b) => b.cost - a.cost || b.totalMs - a.totalMs)
}

function added(a: CostLine, b: CostLine): CostLine {
  const wasted = wastedPurposes.map(purpose => [purpose, sumOf(a.wasted[purpose], b.wasted[purpose])] as const)
  return {
    ...a,
    ...sumOf(a, b),
    runs: a.runs + b.runs,
    wasted: Object.fromEntries(wasted) as unknown as CostLine['wasted'],
  }
}

function sumOf(a: CostSum, b: CostSum): CostSum {
  return { totalMs: a.totalMs + b.totalMs, cost: a.cost + b.cost }
}
