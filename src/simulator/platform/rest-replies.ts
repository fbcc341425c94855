// Replies of the simulated platform's API: JSON, replies without data, and list pages. The next page can be found only through a page's `Link`
// header.
export interface RestReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

export function jsonReply(value: unknown, status = 200): RestReply {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

export const restRefusals = {
  wrongToken: (): RestReply => jsonReply({ message: '401 Unauthorized' }, 401),
  notFound: (what = 'Project'): RestReply => jsonReply({ message: `404 ${what} Not Found` }, 404),
  refused: (why: string): RestReply => jsonReply({ message: why }, 400),
  elsewhere: (location: string): RestReply => ({ status: 301, headers: { location }, body: '' }),
} as const

export interface RestPage {
  readonly items: readonly unknown[]
  readonly link: string | undefined
}

/** Selects a page by the query parameters `page` and `per_page`. The reply contains no totals, because the platform omits them for large lists. */
export function offsetPage(all: readonly unknown[], url: URL): RestPage {
  const perPage = perPageOf(url)
  const page = Math.max(1, Number(url.searchParams.get('page') ?? 1))
  const items = all.slice((page - 1) * perPage, page * perPage)
  if (all.length <= page * perPage) return { items, link: undefined }
  const next = new URL(url)
  next.searchParams.set('page', String(page + 1))
  next.searchParams.set('per_page', String(perPage))
  return { items, link: `<${next.href}>; rel="next"` }
}

/** Returns the page that continues below the id in `cursor`. As on the platform, the last page may be empty. */
export function keysetPage(all: readonly { readonly id: number; readonly shown: unknown }[], url: URL): RestPage {
  const perPage = perPageOf(url)
  const cursor = url.searchParams.get('cursor')
  const below = cursor === null ? Infinity : Number(Buffer.from(cursor, 'base64url').toString())
  const rest = all.filter(({ id }) => id < below)
  const items = rest.slice(0, perPage)
  const last = items.at(-1)
  if (last === undefined || items.length < perPage) return { items: items.map(({ shown }) => shown), link: undefined }
  const next = new URL(url)
  next.searchParams.set('cursor', Buffer.from(String(last.id)).toString('base64url'))
  return { items: items.map(({ shown }) => shown), link: `<${next.href}>; rel="next"` }
}

function perPageOf(url: URL): number {
  return Math.min(100, Math.max(1, Number(url.searchParams.get('per_page') ?? 20)))
}
