// Finds the next page of a list: in the `Link` header (RFC 8288), for offset and keyset pagination, or else after the last item of a full page.
import { readTime } from '../wire-read.ts'
import type { Listed, Page } from '../port.ts'

export interface NextPage {
  /** Path and query, without the host: every page is asked for at the configured address. */
  readonly next: string | undefined
  /** True if the platform named it. Otherwise it is a guess. */
  readonly isLinked: boolean
  /** The other host to which the platform's link leads. */
  readonly foreign?: string | undefined
}

/**
 * The page after `items`, which `from` has answered. A platform behind a proxy may not know its own address: of a link to another scheme or host only
 * the query is used, so that the token goes nowhere else.
 */
export function nextPage(link: string | undefined, items: readonly unknown[], from: URL): NextPage {
  const target = nextLink(link)
  if (link !== undefined && target === undefined) return { next: undefined, isLinked: true }
  const next = target === undefined ? null : URL.parse(target, from.href)
  if (next?.origin === from.origin) return { next: next.pathname + next.search, isLinked: true }
  if (next === null || next.search === '') return { next: pageAfter(items, from), isLinked: false }
  return {
    next: from.pathname + next.search,
    isLinked: true,
    foreign: next.origin === 'null' ? next.protocol : next.origin,
  }
}

/**
 * The page after a full one without a `Link` header, which some proxies remove: after the last item if the list has keyset pagination, or else by its
 * number. A page with more items than requested has no next one, because such a list has no pages.
 */
function pageAfter(items: readonly unknown[], from: URL): string | undefined {
  const query = new URLSearchParams(from.search)
  if (items.length === 0 || items.length !== Number(query.get('per_page'))) return undefined
  const [first, last] = [items[0], items.at(-1)] as readonly ({
    readonly id?: unknown
    readonly created_at?: unknown
  } | null)[]
  const isKeyset = query.get('pagination') === 'keyset'
  const isNewestFirst = isKeyset || from.pathname.endsWith('/api/v4/pipelines')
  const before = isKeyset ? secondAfter(last?.created_at) : last?.created_at
  if (isKeyset && query.get('sort') === 'asc' && typeof last?.id === 'number') query.set('id_after', String(last.id))
  else if (isNewestFirst && typeof before === 'string' && !(isKeyset && before === secondAfter(first?.created_at)))
    query.set('created_before', before)
  else {
    // Of a page that is of one second only the number leads on.
    query.delete('pagination')
    query.set('page', String(Number(query.get('page') ?? 1) + 1))
  }
  return `${from.pathname}?${query.toString()}`
}

/** The end of the time's second, as `YYYY-MM-DDTHH:MM:SSZ`: the form in which the REST document gives times of lists with keyset pagination. */
function secondAfter(text: unknown): string | undefined {
  const at = readTime(text)
  return at === undefined ? undefined : wholeSeconds(Math.ceil(at / 1_000))
}

/** A time without fractions. */
export function wholeSeconds(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
}

/** The unchanged target of `rel="next"`. */
export function nextLink(header: string | undefined): string | undefined {
  for (const [, target, parameters = ''] of (header ?? '').matchAll(/<([^<>]*)>([^<>]*)/g)) {
    const relations = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters)
    const names = (relations?.[1] ?? relations?.[2] ?? '').toLowerCase().split(/\s+/)
    if (names.includes('next')) return target
  }
  return undefined
}

/** Reads all pages and answers their items. */
export async function allOf<T>(pages: AsyncIterable<Page<T>>): Promise<Listed<T>> {
  const items: T[] = []
  let left = 0
  for await (const page of pages) {
    items.push(...page.items)
    left = page.left ?? 0
  }
  return { items, left }
}
