// Deployments, failures and lead time by groups of projects and by the operator's attribute.
import { z } from 'zod'
import { bySubgroup, byValue, type Grouped } from '../layout/grouped.ts'
import { card, type RequestContext } from '../layout/frame.ts'
import { sortedTable, type ShownColumn } from '../layout/sorting.ts'
import { fourKeys, keyColumns, keysShape } from './four-keys.ts'
import { html, pathText, type Content } from '../layout/html.ts'
import { isGroup } from '../../store/ports/project-scope.ts'
import { ownLink, scopeAddress, type Scope } from '../layout/scope-heading.ts'
import type { PagesSettings } from '../ports.ts'
import type { Shaped } from '../layout/shape.ts'
import type { ShownDeployment } from '../../store/ports/deployments.ts'

const lineShape = z.object({ name: z.string(), keys: keysShape })
type Line = Shaped<typeof lineShape>

export const keyGroupsShape = {
  subgroups: z
    .array(lineShape)
    .describe(
      'By the next level of groups, whose path is the `name`; empty for one project, and if there is only one.',
    ),
  groups: z
    .object({ by: z.string().describe('The attribute of PIPESPAN_PAGES_GROUP_BY.'), lines: z.array(lineShape) })
    .optional()
    .describe('By one of your attributes; its value is the `name`, empty for what has none. Absent for one project.'),
}
type KeyGroups = Shaped<z.ZodObject<typeof keyGroupsShape>>

interface Period {
  /** A project or a group; undefined: all. */
  readonly project: string | undefined
  /** Its length. */
  readonly days: number
}

/** Of all environments together. Most deployments first. */
export function keyGroups(
  made: readonly ShownDeployment[],
  { project, days }: Period,
  groupBy: PagesSettings['groupBy'],
): KeyGroups {
  if (project !== undefined && !isGroup(project)) return { subgroups: [] }
  const pathOf = ({ deployment }: ShownDeployment): string => deployment.project.path ?? ''
  const linesOf = (all: readonly Grouped<ShownDeployment>[]): Line[] =>
    all
      .map(({ name, items }) => ({ name, keys: fourKeys(items, days) }))
      .sort((a, b) => b.keys.deployments - a.keys.deployments || (a.name < b.name ? -1 : 1))
  return {
    subgroups: linesOf(bySubgroup(made, pathOf, project)),
    ...(groupBy !== undefined && {
      groups: { by: groupBy.name, lines: linesOf(byValue(made, pathOf, groupBy)) },
    }),
  }
}

/** The tables that have lines. */
export function keyGroupCards(
  { subgroups, groups }: KeyGroups,
  { span, project, own }: Scope,
  context: RequestContext,
): Content {
  const address = (changes: Partial<Scope>): string =>
    scopeAddress(`${context.base}/environments`, { span, project, own, ...changes })
  const groupLink = (name: string): Content => html`<a href="${address({ project: name })}">${pathText(name)}</a>`
  const valueLink = (name: string): Content => ownLink(name, address({ own: name }))
  return html`${subgroups.length > 0 && groupCard('Groups', 'Group', subgroups, groupLink, context)}
  ${groups !== undefined && groups.lines.length > 0 && groupCard(`By ${groups.by}`, groups.by, groups.lines, valueLink, context)}`
}

function groupCard(
  label: string,
  head: string,
  lines: readonly Line[],
  nameOf: (name: string) => Content,
  context: RequestContext,
): Content {
  const columns: Record<string, ShownColumn<Line>> = {
    name: { head, of: ({ name }) => name, cell: ({ name }) => nameOf(name) },
    ...keyColumns<Line>(),
  }
  return card(label, sortedTable(label, columns, lines, context))
}
