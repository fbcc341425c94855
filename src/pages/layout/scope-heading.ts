// The heading of pages with figures: a choice of the period and of the project.
import { html, type Html } from './html.ts'
import { spanNames, spanOf, spans, type Span } from './trend-spans.ts'
import type { PagesSources } from '../ports.ts'
import type { Reader } from './frame.ts'

export interface Scope {
  readonly span: Span
  /** Full path; undefined: all projects. */
  readonly project?: string | undefined
}

/** How many projects are suggested in the form. */
const mostProjects = 500

/** The scope in a query. Default: 30 days of all projects. */
export function askedScope(query: URLSearchParams): Scope {
  const project = query.get('project')?.trim() ?? ''
  return { span: spanOf(query.get('span')) ?? '30d', project: project === '' ? undefined : project }
}

export function scopeQuery({
  span,
  project,
}: {
  readonly span: string
  readonly project?: string | undefined
}): string {
  const query = new URLSearchParams({ span })
  if (project !== undefined) query.set('project', project)
  return `?${query.toString()}`
}

/** `path`: the page's, such as `/environments`. */
export async function scopeHeading(
  title: string,
  path: string,
  { span, project }: Scope,
  { views }: Pick<PagesSources, 'views'>,
  { base }: Reader,
): Promise<Html> {
  const projects = await views.projects(mostProjects)
  return html`<div class="page-head">
      <h1>${title}</h1>
      <nav class="choice" aria-label="How long back">
        ${spanNames.map(
          one =>
            html`<a
              href="${base}${path}${scopeQuery({ span: one, project })}"
              ${one === span && html` aria-current="true"`}
              >${spans[one].name}</a
            >`,
        )}
      </nav>
    </div>
    <form class="filters of-one card" method="get" action="${base}${path}" role="search" aria-label="Choose a project">
      <input type="hidden" name="span" value="${span}" />
      <label class="wide">Project<input name="project" value="${project}" list="projects" autocomplete="off" /></label>
      <datalist id="projects">${projects.map(one => html`<option value="${one}"></option>`)}</datalist>
      <span class="buttons"
        ><button>Show</button
        ><a class="button plain" href="${base}${path}${scopeQuery({ span })}">All projects</a></span
      >
    </form>`
}
