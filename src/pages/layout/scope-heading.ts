// The heading of pages with figures: a choice of the period and of the project.
import { addressWith, given } from './address.ts'
import { alternatives, type RequestContext } from './frame.ts'
import { html, type Content, type Html } from './html.ts'
import { isInScope } from '../../store/ports/project-scope.ts'
import { spanNames, spanOf, spans, type Span } from './trend-spans.ts'
import type { PagesSources } from '../ports.ts'

export interface Scope {
  readonly span: Span
  /** Full path of a project, or of a group with a slash at its end; undefined: all projects. */
  readonly project?: string | undefined
}

/** How many projects are suggested in a form. */
export const maxProjects = 500

/** The scope in a query. Default: 30 days of all projects. */
export function askedScope(query: URLSearchParams): Scope {
  return { span: spanOf(query.get('span')) ?? '30d', project: given(query, 'project') }
}

export function scopeAddress(path: string, { span, project }: Scope): string {
  return addressWith(path, { span, project })
}

/** `names`: the periods to choose from. */
export function periodChoice(names: readonly Span[], chosen: Span, href: (span: Span) => string): Html {
  return alternatives(
    'How long back',
    names.map(one => [spans[one].name, href(one), one === chosen]),
  )
}

/** A field of a form for the path of a project or a group. */
export function projectField(project: string | undefined, projects: readonly string[], css = ''): Html {
  return html`<label class="${css}"
      >Project, or group/<input name="project" value="${project}" list="projects" autocomplete="off"
    /></label>
    <datalist id="projects">
      ${[...groupsOf(projects), ...projects].map(path => html`<option value="${path}"></option>`)}
    </datalist>`
}

/** The groups of these projects, at all levels. */
function groupsOf(projects: readonly string[]): string[] {
  const groups = projects.flatMap(path => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1)))
  return [...new Set(groups)].sort()
}

/** Says that no project is meant, if that is known. `projects`: the known ones, up to the maximum. */
export function unknownScope(project: string | undefined, projects: readonly string[]): Content {
  if (project === undefined || projects.length >= maxProjects) return ''
  if (projects.some(path => isInScope(path, project))) return ''
  return html`<p class="notice hint" role="status">
    No project “${project}” is known. Write the full path, such as group/project, or a group with a slash at its end.
  </p>`
}

interface Heading {
  readonly title: string
  /** The page's, such as `/environments`. */
  readonly path: string
  /** The periods to choose from. */
  readonly names?: readonly Span[]
  /** Stands beside the title. */
  readonly aside?: Content
}

export async function scopeHeading(
  { title, path, names = spanNames, aside = '' }: Heading,
  { span, project }: Scope,
  { views }: Pick<PagesSources, 'views'>,
  { base }: RequestContext,
): Promise<Html> {
  const projects = await views.projects(maxProjects)
  const here = base + path
  return html`<div class="page-head">
      <h1>${title}</h1>
      ${aside} ${periodChoice(names, span, one => scopeAddress(here, { span: one, project }))}
    </div>
    <form class="filters of-one card" method="get" action="${here}" role="search" aria-label="Choose a project">
      <input type="hidden" name="span" value="${span}" />
      ${projectField(project, projects, 'wide')}
      <span class="buttons"
        ><button>Show</button><a class="button plain" href="${scopeAddress(here, { span })}">All projects</a></span
      >
    </form>
    ${unknownScope(project, projects)}`
}
