// Finds the next page of a list. It reads the `Link` header (RFC 8288), for offset and keyset pagination, or else increments the page number. If the
// platform never ends a list, this code does: at the maximum number of items, or when its pages repeat.
import { maxItems, type Listed, type Page } from '../port.ts'

export interface NextPage {
  /** Path and query of the next page, without the host. Every page is requested from the configured address. */
  readonly next: string | undefined
  /** The host in the platform's `Link` header, if it differs from the configured one. */
  readonly foreign?: string | undefined
}

/**
 * Returns the page after `items`, which are the response to `from`. A platform behind a proxy may not know its own address. Therefore only the query
 * of its link is used, and the token is never sent to another host.
 */
export function nextPage(link: string | undefined, items: readonly unknown[], from: URL): NextPage {
  const target = nextLink(link)
  if (link !== undefined && target === undefined) return { next: undefined }
  const linked = target === undefined ? null : URL.parse(target, from.href)
  if (linked === null || linked.search === '') return { next: pageAfter(items, from) }
  const { origin, protocol, search } = linked
  const foreign = origin === 'null' ? protocol : origin
  return { next: from.pathname + search, ...(origin !== from.origin && { foreign }) }
}

/**
 * Returns the page after a full page that has no `Link` header, because some proxies strip this header. It is the page with the next number, even in
 * a list with keyset pagination. If a page has more items than requested, there is no next page, because such a list is not paginated.
 */
function pageAfter(items: readonly unknown[], from: URL): string | undefined {
  const query = new URLSearchParams(from.search)
  if (items.length === 0 || items.length !== Number(query.get('per_page'))) return undefined
  query.delete('pagination')
  query.set('page', String(Number(query.get('page') ?? 1) + 1))
  return `${from.pathname}?${query.toString()}`
}

/** Formats a Unix time in seconds as ISO 8601, without fractions. */
export function wholeSeconds(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
}

/** Returns the unchanged target of the link with `rel="next"`. */
export function nextLink(header: string | undefined): string | undefined {
  for (const [, target, parameters = ''] of (header ?? '').matchAll(/<([^<>]*)>([^<>]*)/g)) {
    const relations = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters)
    const names = (relations?.[1] ?? relations?.[2] ?? '').toLowerCase().split(/\s+/)
    if (names.includes('next')) return target
  }
  return undefined
}

/** Every page counts as at least this many items, so that even a list of empty pages ends at the maximum. */
const minPage = 50

/**
 * Why a list is truncated: it is longer than the maximum, its pages repeat, or the platform rejects a further page, either because of its number
 * (`offset`) or for another reason.
 */
export type TruncationReason = 'length' | 'repetition' | 'offset' | 'refusal'

export interface PageEnd {
  /** The items of the page, without those beyond the maximum number of items in the list. */
  readonly items: readonly unknown[]
  readonly next: string | undefined
  readonly cut?:
    | { readonly by: TruncationReason; /** At least this many items are left unread. */ readonly left: number }
    | undefined
}

export interface ListPage {
  /** Path and query of the page. */
  readonly address: string
  readonly items: readonly unknown[]
  readonly next: string | undefined
  /** Number of items in the whole list, if the platform reports it. */
  readonly total?: number | undefined
}

/** Returns a function that checks whether a list must be truncated. It must be called with each page of the list, in order. */
export function createListEnd(max = maxItems): (page: ListPage) => PageEnd {
  /** Identifies each page read so far by its first item, its last item and its number of items. */
  const seen = new Set<string>()
  let room = max
  return ({ address, items: all, next, total = 0 }) => {
    const mark = [keyOf(all[0]), keyOf(all.at(-1)), all.length].join()
    const isKnown = all.length > 0 && seen.has(mark)
    seen.add(mark)
    const items = isKnown ? [] : all.slice(0, room)
    room -= Math.max(minPage, all.length)
    if (isKnown || next === address)
      return { items, next: undefined, cut: next === undefined ? undefined : { by: 'repetition', left: 1 } }
    const unread = all.length - items.length
    if (unread === 0 && (room > 0 || next === undefined)) return { items, next }
    return { items, next: undefined, cut: { by: 'length', left: Math.max(1, unread, total - max) } }
  }
}

function keyOf(item: unknown): string {
  const { id, name } = (item ?? {}) as { readonly id?: unknown; readonly name?: unknown }
  return JSON.stringify(id ?? name ?? item)
}

/** Returns the warning about a truncated list. */
export function truncationWarning(by: TruncationReason, endpoint: string): string {
  const { what, remedy } = {
    length: {
      what: 'has more items than Pipespan reads',
      remedy:
        'Split what is listed: a pipeline into child pipelines, a group into subgroups, a time range into shorter ones.',
    },
    repetition: {
      what: 'repeats itself',
      remedy: 'Check the platform, and proxies that may change its `Link` headers or the queries of requests.',
    },
    offset: {
      what: 'has more pages than the platform serves',
      remedy: "Raise the platform's limit for offset pagination.",
    },
    refusal: {
      what: 'has a further page that the platform refuses',
      remedy: "Let proxies pass on the platform's `Link` headers, which contain the address of the next page.",
    },
  }[by]
  return `A list from the platform ${what}: the rest is omitted (${endpoint}). ${remedy} Further truncated lists from this endpoint are not reported.`
}

export async function allOf<T>(pages: AsyncIterable<Page<T>>): Promise<Listed<T>> {
  const items: T[] = []
  let left = 0
  for await (const page of pages) {
    items.push(...page.items)
    left = page.left ?? 0
  }
  return { items, left }
}
