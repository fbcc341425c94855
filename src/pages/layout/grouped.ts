// Sums by groups of projects, and by the operator's attribute: what belongs to which line.
import type { PagesSettings } from '../ports.ts'

export interface Grouped<T> {
  readonly name: string
  readonly items: readonly T[]
}

type PathOf<T> = (item: T) => string

/**
 * By the next level of groups below `group`, whose names end with a slash; projects of the group itself are left out. Empty if there is only one.
 */
export function bySubgroup<T>(items: readonly T[], pathOf: PathOf<T>, group = ''): Grouped<T>[] {
  const endOf = (item: T): number => pathOf(item).indexOf('/', group.length)
  const below = items.filter(item => endOf(item) > 0)
  const groups = grouped(below, item => pathOf(item).slice(0, endOf(item) + 1))
  return groups.length > 1 ? groups : []
}

/** By the attribute's value in the project, whatever the branch; what has none is under the empty name. */
export function byValue<T>(
  items: readonly T[],
  pathOf: PathOf<T>,
  { valueOf }: NonNullable<PagesSettings['groupBy']>,
): Grouped<T>[] {
  return grouped(items, item => valueOf(pathOf(item), '') ?? '')
}

export function grouped<T>(items: readonly T[], nameOf: (item: T) => string): Grouped<T>[] {
  return [...Map.groupBy(items, nameOf)].map(([name, some]) => ({ name, items: some }))
}
