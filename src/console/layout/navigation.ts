// The links to all pages, in three groups: what happens now, what happened over time, and the daemon itself.
import { addressWith, given } from './address.ts'
import { html, type Html } from './html.ts'
import { isGroup } from '../../core/store/ports/project-scope.ts'

interface Group {
  readonly name: NavigationLink['group']
  readonly pages: readonly Link[]
}

/** `scoped`: shows the projects of a group, or of a value of the operator's attribute, which is kept from one page to the other. */
type Link = readonly [path: string, text: string, scoped?: 'scoped']

/** A link of a feature. */
export interface NavigationLink {
  readonly group: 'Now' | 'Over time' | 'Daemon'
  /** The path of the link of the core before which it stands. Without one, or where the group has no such link, it is the last. */
  readonly before?: string | undefined
  readonly link: Link
}

const groups: readonly Group[] = [
  {
    name: 'Now',
    pages: [
      ['/', 'Overview'],
      ['/pipelines', 'Pipelines', 'scoped'],
    ],
  },
  {
    name: 'Over time',
    pages: [['/timeline', 'Timeline', 'scoped']],
  },
  {
    name: 'Daemon',
    pages: [
      ['/sources', 'Sources'],
      ['/exports', 'Exports'],
    ],
  },
]

interface NavigationOptions {
  /** The path under which a reverse proxy publishes the daemon; empty at the root. */
  readonly base: string
  /** Path and query of the page that is shown, below the base. */
  readonly address: string
  readonly links?: readonly NavigationLink[] | undefined
}

export function navigation({ base, address, links = [] }: NavigationOptions): Html {
  const [path = '/', query = ''] = address.split('?', 2)
  const asked = new URLSearchParams(query)
  const scope = given(asked, 'project')
  const project = scope !== undefined && isGroup(scope) ? scope : undefined
  const kept = addressWith('', { project, own: given(asked, 'own') })
  const isHere = (to: string): boolean => (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`))
  return html`<nav aria-label="Pages">
    ${groups.map(({ name, pages }, index) => {
      const added = links.filter(({ group }) => group === name)
      const addedBefore = (path: string): Link[] => added.flatMap(({ before, link }) => (before === path ? [link] : []))
      const last = added.filter(({ before }) => pages.every(([path]) => path !== before)).map(({ link }) => link)
      const shown = [...pages.flatMap(page => [...addedBefore(page[0]), page]), ...last]
      return html`<div class="nav-group">
        <span id="nav-${index}" class="nav-name">${name}</span>
        <ul aria-labelledby="nav-${index}">
          ${shown.map(([to, text, scoped]) => html`<li><a href="${base}${to}${scoped === 'scoped' && kept}" ${isHere(to) && html` aria-current="page"`}>${text}</a></li>`)}
        </ul>
      </div>`
    })}
  </nav>`
}
