// The components page: which projects include which CI components, templates and files of other projects, and which projects are behind.
import { answerOf } from '../../console/access/own-values.ts'
import { componentsOf, componentsShape, usersOf, type Component } from './component-figures.ts'
import { filteredAt, type ConsolePart } from '../../console/console-part.ts'
import { get } from '../../console/api/api-route.ts'
import { scopedQuery } from '../../console/api/api-queries.ts'
import { card, empty, howCounted, type Page, type RequestContext } from '../../console/layout/frame.ts'
import { counted, number, since } from '../../console/layout/format.ts'
import { figures, sortedTable, texts, type ShownColumn } from '../../console/layout/sorting.ts'
import { given } from '../../console/layout/address.ts'
import { html, pathText, type Content, type Html } from '../../console/layout/html.ts'
import { maxProjects, projectForm } from '../../console/layout/scope-heading.ts'
import type { PagesSources } from '../../console/ports.ts'

export const componentsConsole: ConsolePart = {
  links: [{ group: 'What changed', link: ['/components', 'Components', 'scoped'] }],
  pages: parts => [filteredAt(parts, '/components', async (context, own) => componentsPage(own, context))],
  routes: parts => [
    get(
      '/components',
      'CI components, templates and files of other projects that projects include, by version, and which projects are behind.',
      { query: scopedQuery.pick({ project: true, own: true }), answer: componentsShape },
      async asked => answerOf(parts, asked.own, async own => componentsOf(own, asked)),
    ),
  ],
}

const typeLabels: Readonly<Record<string, string>> = { project: 'file of a project', remote: 'other host' }
/** The maximum number of projects that the page names per version. */
const maxNamed = 50

async function componentsPage(
  parts: Pick<PagesSources, 'repositories' | 'views'>,
  context: RequestContext,
): Promise<Page> {
  const { base, now } = context
  const project = given(context.query, 'project')
  const [found, known] = await Promise.all([componentsOf(parts, { project }), parts.views.projects(maxProjects)])
  const { components, projects, oldest } = found
  const behind = new Set(components.flatMap(one => one.behind)).size
  return {
    title: 'Components',
    content: html`<div class="page-head"><h1>Components</h1></div>
      ${projectForm(`${base}/components`, { project }, known, context.own)}
      ${
        projects > 0 &&
        html`<p class="summary">
          <strong>${counted(projects, 'project')}</strong> · <strong>${number(behind)}</strong> with an older version of
          something than another project uses · oldest response from the platform ${since(oldest, now)}
        </p>`
      }
      ${card('What projects include', components.length === 0 ? empty(emptyText(projects)) : table(components, context))}
      ${howCounted(
        html`Includes are read from the CI configuration of each default branch, including nested includes; files of the
          project itself are left out. A project is behind if another project uses a higher semantic version; a
          shortened version, such as <code>2</code>, means the newest version 2. Branches, revisions and
          <code>~latest</code> are not compared. Includes are fetched once a week, and after a push that may have
          changed the configuration.`,
      )}`,
  }
}

function emptyText(projects: number): string {
  return projects === 0
    ? 'No response from the platform yet: name projects under inventory.includes in the configuration.'
    : 'These projects include nothing from other projects or hosts, and no templates.'
}

function table(components: readonly Component[], context: RequestContext): Html {
  const columns: Record<string, ShownColumn<Component>> = {
    name: texts('Name', ({ name }) => name, pathText),
    type: texts('Kind', ({ type }) => typeLabels[type] ?? type),
    projects: figures('Projects', usersOf, number),
    newest: texts('Newest in use', ({ newest = '' }) => newest),
    behind: figures('Behind', one => one.behind.length, number),
    versions: { head: 'Versions in use', cell: versionsOf },
  }
  return sortedTable('Components', columns, components, context)
}

function versionsOf({ versions, behind }: Component): Content {
  const late = new Set(behind)
  return html`<ul class="plain-list">
    ${versions.map(
      ({ version, projects }) =>
        html`<li>
          <details>
            <summary>
              <code>${version === '' ? 'none' : version}</code> ${counted(projects.length, 'project')}${
                projects.some(path => late.has(path)) && ', behind'
              }
            </summary>
            ${projects.slice(0, maxNamed).map(path => html`<span class="whole">${path}</span> `)}${
              projects.length > maxNamed && `and ${number(projects.length - maxNamed)} more`
            }
          </details>
        </li>`,
    )}
  </ul>`
}
