// Flaky tests and the time lost with them, by groups of projects and by the operator's attribute.
import { z } from 'zod'
import { bySubgroup, byValue, type Grouped } from '../layout/grouped.ts'
import { card, type RequestContext } from '../layout/frame.ts'
import { duration, number } from '../layout/format.ts'
import { figures, sortedTable } from '../layout/sorting.ts'
import { html, pathText, type Content } from '../layout/html.ts'
import { isGroup } from '../../store/ports/project-scope.ts'
import { ms, type Shaped } from '../layout/shape.ts'
import { ownLink, scopeAddress, type Scope } from '../layout/scope-heading.ts'
import type { PagesSettings } from '../ports.ts'
import type { TestFigures } from '../../store/ports/test-memory.ts'

const lineShape = z.object({ name: z.string(), tests: z.number().describe('Flaky tests.'), lostMs: ms })
type Line = Shaped<typeof lineShape>

export const flakyGroupsShape = {
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
type FlakyGroups = Shaped<z.ZodObject<typeof flakyGroupsShape>>

/** `project`: a project or a group; undefined: all. Most time lost first. */
export function flakyGroups(
  flaky: readonly TestFigures[],
  project: string | undefined,
  groupBy: PagesSettings['groupBy'],
): FlakyGroups {
  if (project !== undefined && !isGroup(project)) return { subgroups: [] }
  const pathOf = (one: TestFigures): string => one.project
  return {
    subgroups: bySubgroup(flaky, pathOf, project).map(lineOf).sort(costliest),
    ...(groupBy !== undefined && {
      groups: { by: groupBy.name, lines: byValue(flaky, pathOf, groupBy).map(lineOf).sort(costliest) },
    }),
  }
}

function lineOf({ name, items }: Grouped<TestFigures>): Line {
  return { name, ...flakySum(items) }
}

export function flakySum(flaky: readonly TestFigures[]): Omit<Line, 'name'> {
  return { tests: flaky.length, lostMs: flaky.reduce((sum, { costMs }) => sum + costMs, 0) }
}

function costliest(a: Line, b: Line): number {
  return b.lostMs - a.lostMs || b.tests - a.tests
}

/** The tables that have lines. */
export function flakyGroupCards(
  { subgroups, groups }: FlakyGroups,
  { span, project, own }: Scope,
  context: RequestContext,
): Content {
  const address = (changes: Partial<Scope>): string =>
    scopeAddress(`${context.base}/tests`, { span, project, own, ...changes })
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
  const columns = {
    name: { head, of: ({ name }: Line) => name, cell: ({ name }: Line) => nameOf(name) },
    tests: figures('Flaky tests', ({ tests }: Line) => tests, number),
    cost: figures('Time lost', ({ lostMs }: Line) => lostMs, duration),
  }
  return card(label, sortedTable(label, columns, lines, context))
}
