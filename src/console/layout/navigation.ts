// The links to all pages. They are grouped by the user's question: what is broken, why it is slow, what has changed. The last group is about the
// daemon itself.
import { addressWith, given, groupIn } from './address.ts'
import { html, type Html } from './html.ts'

/**
 * A link to a page. `scoped`: the page can be filtered by group or by the grouping attribute (PIPESPAN_PAGES_GROUP_BY), and the link keeps that
 * filter.
 */
type Link = readonly [path: string, text: string, scoped?: 'scoped']

/** The links to the core's pages, grouped by heading. */
const groups = {
  'What is broken': [
    ['/', 'Overview'],
    ['/pipelines', 'Pipelines', 'scoped'],
  ],
  'Why is it slow': [],
  'What changed': [['/timeline', 'Timeline', 'scoped']],
  Pipespan: [
    ['/sources', 'Sources'],
    ['/exports', 'Exports'],
  ],
} as const satisfies Record<string, readonly Link[]>

/** A navigation link added by a feature. It is shown after the links of the core and of earlier features. */
export interface NavigationLink {
  readonly group: keyof typeof groups
  readonly link: Link
}

interface NavigationOptions {
  /** The path under which a reverse proxy serves the daemon; empty at the root. */
  readonly base: string
  /** The current page's path and query, relative to the base path. */
  readonly address: string
  readonly links?: readonly NavigationLink[] | undefined
}

export function navigation({ base, address, links = [] }: NavigationOptions): Html {
  const [path = '/', query = ''] = address.split('?', 2)
  const asked = new URLSearchParams(query)
  const kept = addressWith('', { project: groupIn(asked), own: given(asked, 'own') })
  const isHere = (to: string): boolean => (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`))
  return html`<nav aria-label="Pages">
    ${Object.entries<readonly Link[]>(groups).map(([name, pages], index) => {
      const shown = [...pages, ...links.filter(({ group }) => group === name).map(({ link }) => link)]
      if (shown.length === 0) return ''
      return html`<div class="nav-group">
        <span id="nav-${index}" class="nav-name">${name}</span>
        <ul aria-labelledby="nav-${index}">
          ${shown.map(([to, text, scoped]) => html`<li><a href="${base}${to}${scoped === 'scoped' && kept}" ${isHere(to) && html` aria-current="page"`}>${text}</a></li>`)}
        </ul>
      </div>`
    })}
  </nav>`
}
