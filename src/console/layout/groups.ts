// Sums by project group and by the grouping attribute (PIPESPAN_PAGES_GROUP_BY): their shape, the assignment of items to rows, and the tables that
// show them.
import { z } from 'zod'
import { card, type RequestContext } from './frame.ts'
import { html, pathText, type Content } from './html.ts'
import { isGroup } from '../../core/store/ports/project-scope.ts'
import { ownLink } from './scope-heading.ts'
import { sortedTable, type ShownColumn } from './sorting.ts'
import type { PagesSettings } from '../ports.ts'

/** Returns the shape of sums by group. `line` must have a `name` field, for the name of the group or the value of the grouping attribute. */
export function groupsShape<Line extends z.ZodObject>(line: Line) {
  return {
    subgroups: z
      .array(line)
      .describe(
        'Figures of each group one level below; `name` is the path of the group. Empty for a single project, and if there is only one group.',
      ),
    groups: z
      .object({ by: z.string().describe('Name of the attribute in PIPESPAN_PAGES_GROUP_BY.'), lines: z.array(line) })
      .optional()
      .describe(
        'Figures for each value of the attribute `by`; `name` is the value, or empty for projects without a value. Absent for a single project.',
      ),
  }
}

interface Groups<Line> {
  readonly subgroups: readonly Line[]
  readonly groups?: { readonly by: string; readonly lines: readonly Line[] } | undefined
}

/** The items that are added up in one row of the table. */
export interface Grouped<Item> {
  readonly name: string
  readonly items: readonly Item[]
}

interface Grouping<Item> {
  /** The project or group that the items belong to; undefined for all projects. */
  readonly scope: string | undefined
  readonly groupBy: PagesSettings['groupBy']
  readonly pathOf: (item: Item) => string
  /** Returns the branch class of an item. If undefined, attribute rules that name branches are ignored. */
  readonly branchOf?: (item: Item) => string
}

/**
 * Adds up items by group. There are no rows if `items` is undefined or the scope is a single project. `linesOf` adds up the items of each row and
 * sorts the rows.
 */
export function groupsOf<Item, Line>(
  items: readonly Item[] | undefined,
  { scope, groupBy, pathOf, branchOf = () => '' }: Grouping<Item>,
  linesOf: (all: readonly Grouped<Item>[]) => Line[],
): Groups<Line> {
  if (items === undefined || (scope !== undefined && !isGroup(scope))) return { subgroups: [] }
  const valueOf = (item: Item): string => groupBy?.valueOf(pathOf(item), branchOf(item)) ?? ''
  return {
    subgroups: linesOf(bySubgroup(items, pathOf, scope)),
    ...(groupBy !== undefined && { groups: { by: groupBy.name, lines: linesOf(grouped(items, valueOf)) } }),
  }
}

/**
 * Groups items by the next group level below `group`. Group names end with a slash. Projects directly in `group` are omitted. The result is empty if
 * there is only one group.
 */
function bySubgroup<Item>(items: readonly Item[], pathOf: (item: Item) => string, group = ''): Grouped<Item>[] {
  const endOf = (item: Item): number => pathOf(item).indexOf('/', group.length)
  const below = items.filter(item => endOf(item) > 0)
  const groups = grouped(below, item => pathOf(item).slice(0, endOf(item) + 1))
  return groups.length > 1 ? groups : []
}

function grouped<Item>(items: readonly Item[], nameOf: (item: Item) => string): Grouped<Item>[] {
  return [...Map.groupBy(items, nameOf)].map(([name, some]) => ({ name, items: some }))
}

/** The addresses of the same page, filtered by a group or by a value of the grouping attribute (PIPESPAN_PAGES_GROUP_BY). */
interface GroupLinks {
  readonly group: (path: string) => string
  readonly value: (value: string) => string
}

/**
 * Renders the tables by group and by the grouping attribute (PIPESPAN_PAGES_GROUP_BY), if they have rows. `columns` are the columns after the name.
 */
export function groupCards<Line extends { readonly name: string }>(
  { subgroups, groups = { by: '', lines: [] } }: Groups<Line>,
  columns: Readonly<Record<string, ShownColumn<Line>>>,
  links: GroupLinks,
  context: RequestContext,
): Content[] {
  const tableOf = (label: string, head: string, lines: readonly Line[], nameOf: (name: string) => Content): Content => {
    const name: ShownColumn<Line> = { head, of: line => line.name, cell: line => nameOf(line.name) }
    return lines.length > 0 && card(label, sortedTable(label, { name, ...columns }, lines, context))
  }
  return [
    tableOf('Groups', 'Group', subgroups, name => html`<a href="${links.group(name)}">${pathText(name)}</a>`),
    tableOf(`By ${groups.by}`, groups.by, groups.lines, value => ownLink(value, links.value(value))),
  ]
}
