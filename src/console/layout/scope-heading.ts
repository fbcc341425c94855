// The heading of pages with statistics. It lets the user choose a period and a project.
import { addressWith, given } from './address.ts'
import { alternatives, type OwnFilter, type RequestContext } from './frame.ts'
import { html, type Content, type Html } from './html.ts'
import { isInScope } from '../../core/store/ports/project-scope.ts'
import { spanNames, spanOf, spans, type Span } from './trend-spans.ts'
import type { PagesSources } from '../ports.ts'

/** Renders a drop-down list for a form. `labelOf` returns an option's label. */
export function choice(
  name: string,
  options: readonly string[],
  chosen: string | undefined,
  labelOf: (option: string) => string = option => option.replaceAll('_', ' '),
): Html {
  const all = chosen === undefined || options.includes(chosen) ? options : [...options, chosen]
  return html`<select name="${name}">
    <option value="">any</option>
    ${all.map(option => html`<option value="${option}" ${option === chosen && html` selected`}>${labelOf(option)}</option>`)}
  </select>`
}

/** Returns an option's value, unchanged, as its label. Used for options from outside the daemon, such as names. */
export const asItIs = (option: string): string => option

export interface Scope {
  readonly span: Span
  /** The full path of a project, or the path of a group with a trailing slash. If undefined, all projects are shown. */
  readonly project?: string | undefined
  /** The value of the grouping attribute (PIPESPAN_PAGES_GROUP_BY) to filter by. If undefined, all projects are shown. */
  readonly own?: string | undefined
}

/** The maximum number of projects that a form suggests. */
export const maxProjects = 500

/** Parses the scope from a query string. The default is 30 days of all projects. */
export function askedScope(query: URLSearchParams): Scope {
  return { span: spanOf(query.get('span')) ?? '30d', project: given(query, 'project'), own: given(query, 'own') }
}

export function scopeAddress(path: string, { span, project, own }: Scope): string {
  return addressWith(path, { span, project, own })
}

export function periodChoice(names: readonly Span[], chosen: Span, href: (span: Span) => string): Html {
  return alternatives(
    'Period',
    names.map(one => [spans[one].name, href(one), one === chosen]),
  )
}

/** Renders a form field for the path of a project or a group. */
export function projectField(project: string | undefined, projects: readonly string[], css = ''): Html {
  return html`<label class="${css}"
      >Project, or group/<input name="project" value="${project}" list="projects" autocomplete="off"
    /></label>
    <datalist id="projects">
      ${[...groupsOf(projects), ...projects].map(path => html`<option value="${path}"></option>`)}
    </datalist>`
}

/** Returns all groups that contain these projects, at every level. */
function groupsOf(projects: readonly string[]): string[] {
  const groups = projects.flatMap(path => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1)))
  return [...new Set(groups)].sort()
}

/**
 * Renders a message if it is certain that no known project matches. `projects` are the known projects. If there are `maxProjects` of them, more
 * projects may exist, so no message is rendered.
 */
export function unknownScope(project: string | undefined, projects: readonly string[]): Content {
  if (project === undefined || projects.length >= maxProjects) return ''
  if (projects.some(path => isInScope(path, project))) return ''
  return html`<p class="notice hint" role="status">
    No project “${project}” is known. Write the full path, such as group/project, or a group with a slash at its end.
  </p>`
}

/** Renders a form field for the grouping attribute (PIPESPAN_PAGES_GROUP_BY); empty if none is configured. */
export function ownField(own: OwnFilter | undefined): Content {
  if (own?.name === undefined) return ''
  return html`<label class="own">${own.name}${choice('own', own.values, own.value, asItIs)}</label>`
}

/** Renders a message that no known project has the chosen value of the grouping attribute (PIPESPAN_PAGES_GROUP_BY). */
export function unknownOwn(own: OwnFilter | undefined): Content {
  return own?.unknown === undefined ? '' : html`<p class="notice hint" role="status">${own.unknown}</p>`
}

/** Formats a value of the grouping attribute (PIPESPAN_PAGES_GROUP_BY) for titles; undefined without a value. */
export function ofOwn(value: string | undefined, { own }: Pick<RequestContext, 'own'>): string | undefined {
  return value === undefined ? undefined : `${own?.name ?? 'own'} ${value}`
}

/**
 * Renders the first cell of a row in a table of sums by the grouping attribute (PIPESPAN_PAGES_GROUP_BY). `href` is the address of the same page
 * filtered by this value.
 */
export function ownLink(value: string, href: string): Content {
  return value === '' ? html`<span class="dim">none</span>` : html`<a href="${href}">${value}</a>`
}

interface Heading {
  readonly title: string
  /** The page's path, such as `/environments`. */
  readonly path: string
  /** The periods that the page offers. */
  readonly names?: readonly Span[]
  /** Content shown next to the page's title. */
  readonly aside?: Content
}

export async function scopeHeading(
  { title, path, names = spanNames, aside = '' }: Heading,
  { span, project, own: value }: Scope,
  { views }: Pick<PagesSources, 'views'>,
  { base, own }: RequestContext,
): Promise<Html> {
  const here = base + path
  return html`<div class="page-head">
      <h1>${title}</h1>
      ${aside} ${periodChoice(names, span, one => scopeAddress(here, { span: one, project, own: value }))}
    </div>
    ${projectForm(here, { span, project }, await views.projects(maxProjects), own)}`
}

/** Renders a form for choosing a project, a group or a value of the grouping attribute (PIPESPAN_PAGES_GROUP_BY) on the page at this address. */
export function projectForm(
  address: string,
  { span, project }: Partial<Scope>,
  projects: readonly string[],
  own: OwnFilter | undefined,
): Html {
  return html`<form
      class="filters of-one card"
      method="get"
      action="${address}"
      role="search"
      aria-label="Choose a project"
    >
      ${span !== undefined && html`<input type="hidden" name="span" value="${span}" />`}
      ${projectField(project, projects, 'wide')} ${ownField(own)}
      <span class="buttons"
        ><button>Show</button><a class="button plain" href="${addressWith(address, { span })}">All projects</a></span
      >
    </form>
    ${unknownScope(project, projects)} ${unknownOwn(own)}`
}
