// The links to all pages, in three groups: what happens now, what happened over time, and the daemon itself.
import { addressWith, given } from './address.ts'
import { html, type Html } from './html.ts'
import { isGroup } from '../../store/ports/project-scope.ts'

const groups = [
  {
    name: 'Now',
    pages: [
      ['/', 'Overview'],
      ['/pipelines', 'Pipelines'],
      ['/runners', 'Runners'],
      ['/environments', 'Environments'],
    ],
  },
  {
    name: 'Over time',
    pages: [
      ['/trends', 'Trends'],
      ['/cost', 'Cost'],
      ['/tests', 'Tests'],
      ['/changes', 'Changes'],
      ['/components', 'Components'],
      ['/timeline', 'Timeline'],
    ],
  },
  {
    name: 'Daemon',
    pages: [
      ['/sources', 'Sources'],
      ['/exports', 'Exports'],
      ['/tokens', 'Tokens'],
      ['/audit', 'Audit'],
    ],
  },
] as const

/** The pages that show the projects of a group, or of a value of the operator's attribute: it is kept from one to the other. */
const scoped = new Set([
  '/pipelines',
  '/environments',
  '/trends',
  '/cost',
  '/tests',
  '/changes',
  '/components',
  '/timeline',
])

export interface NavigationOptions {
  /** The path under which a reverse proxy publishes the daemon; empty at the root. */
  readonly base: string
  /** Path and query of the page that is shown, below the base. */
  readonly address: string
  /** Whether the page of audit events is among them. */
  readonly audit?: boolean | undefined
}

export function navigation({ base, address, audit }: NavigationOptions): Html {
  const [path = '/', query = ''] = address.split('?', 2)
  const asked = new URLSearchParams(query)
  const scope = given(asked, 'project')
  const project = scope !== undefined && isGroup(scope) ? scope : undefined
  const kept = addressWith('', { project, own: given(asked, 'own') })
  const isHere = (to: string): boolean => (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`))
  return html`<nav aria-label="Pages">
    ${groups.map(({ name, pages }, index) => {
      const shown = pages.filter(([to]) => to !== '/audit' || audit === true)
      return html`<div class="nav-group">
        <span id="nav-${index}" class="nav-name">${name}</span>
        <ul aria-labelledby="nav-${index}">
          ${shown.map(([to, text]) => html`<li><a href="${base}${to}${scoped.has(to) && kept}" ${isHere(to) && html` aria-current="page"`}>${text}</a></li>`)}
        </ul>
      </div>`
    })}
  </nav>`
}
