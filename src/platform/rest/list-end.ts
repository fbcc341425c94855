// Ends a list that the platform does not end: at the maximum number of items, or when its pages repeat themselves.
import { maxItems } from '../port.ts'

/** A page counts as at least this many items, so that a list of empty pages ends, too. */
const minPage = 50
/** Maximum number of repeated pages in a row. Fewer are tolerated, because pages may overlap. */
const maxRepeated = 5

/**
 * The reason why a list is cut: it has more items than are read, its pages repeat themselves, or the platform refuses a further page, by its number
 * (`offset`) or otherwise.
 */
export type CutBy = 'length' | 'repetition' | 'offset' | 'refusal'

export interface PageEnd {
  /** The items of the page that are read. */
  readonly items: readonly unknown[]
  readonly next: string | undefined
  readonly cut?:
    { readonly by: CutBy; /** Minimum number of items that are not read. */ readonly left: number } | undefined
}

export interface ListPage {
  /** Path and query of the page. */
  readonly address: string
  readonly items: readonly unknown[]
  readonly next: string | undefined
  /** True if the platform named the next page. Otherwise `next` is a guess, and a platform without pages answers the same items again. */
  readonly isLinked: boolean
  /** Number of items in the whole list, if the platform reports it. */
  readonly total?: number | undefined
}

/** Makes a function to call with each page of one list, in order. */
export function createListEnd(max = maxItems): (page: ListPage) => PageEnd {
  /** The first and the last item of each page so far, and its number of items. */
  const seen = new Set<string>()
  let repeated = 0
  let room = max
  return ({ address, items: all, next, isLinked, total = 0 }) => {
    const mark = [keyOf(all[0]), keyOf(all.at(-1)), all.length].join()
    const isKnown = all.length > 0 && seen.has(mark)
    seen.add(mark)
    repeated = isKnown ? repeated + 1 : 0
    const repeats = next === address || (isKnown && (!isLinked || repeated >= maxRepeated))
    const items = isKnown ? [] : all.slice(0, room)
    room -= Math.max(minPage, all.length)
    if (repeats) return { items, next: undefined, cut: isLinked && next ? { by: 'repetition', left: 1 } : undefined }
    const unread = isKnown ? 0 : all.length - items.length
    if (unread === 0 && (room > 0 || next === undefined)) return { items, next }
    return { items, next: undefined, cut: { by: 'length', left: Math.max(1, unread, total - max) } }
  }
}

function keyOf(item: unknown): string {
  const { id, name } = (item ?? {}) as { readonly id?: unknown; readonly name?: unknown }
  return JSON.stringify(id ?? name ?? item)
}

/** The warning about a cut list. */
export function cutMessage(by: CutBy, endpoint: string): string {
  const { what, remedy } = {
    length: {
      what: 'has more items than are read',
      remedy:
        'Divide the listed thing: a pipeline into child pipelines, a group into subgroups, a time range into shorter ones.',
    },
    repetition: {
      what: 'repeats itself',
      remedy: 'Check the platform, and proxies that may change its `Link` headers or the queries of requests.',
    },
    offset: {
      what: 'has more pages than the platform serves',
      remedy: "Raise the platform's maximum offset of pagination.",
    },
    refusal: {
      what: 'has a further page that the platform refuses',
      remedy: "Let proxies pass the platform's `Link` headers, by which its lists go on.",
    },
  }[by]
  return `A list of the platform ${what}: the rest is omitted (${endpoint}). ${remedy} Further lists of this endpoint are not reported.`
}
