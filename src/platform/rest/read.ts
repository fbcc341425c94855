// Reads single objects and lists, and sends changes. It builds URLs, checks the shapes of answers, and follows no page to another host.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { z } from 'zod'
import { errorOfAnswer, errorOfForeignHost } from './error-messages.ts'
import { bounded, jsonOf } from './answer-json.ts'
import { knownOf } from '../../model/versioned.ts'
import { encodeQuery, type Query } from './query.ts'
import { createListEnd, cutMessage, type CutBy } from './list-end.ts'
import { nextLink } from './pages.ts'
import { PlatformError, type CallOptions, type ListOptions, type Page } from '../port.ts'
import { remember } from '../../lib/bounded-map.ts'
import { servedAt } from './rate-limit.ts'
import type { Log } from '../../lib/log.ts'
import type { Change, Requester, RestAnswer } from './request.ts'

/** The maximum size of a page that the platform serves (REST document, "Limits"). */
const perPage = 100
/** Number of items that are checked in one turn of the event loop. */
const itemsPerTurn = 20

export interface Reader {
  readonly one: <S extends z.ZodType>(
    path: string,
    schema: S,
    options: CallOptions,
    query?: Query,
  ) => Promise<z.output<S>>
  /** A JSON file. The platform may redirect to another host for it. */
  readonly file: <S extends z.ZodType>(path: string, schema: S, options: CallOptions) => Promise<z.output<S>>
  /** Sends a change and reads its answer. */
  readonly change: <S extends z.ZodType>(
    path: string,
    schema: S,
    options: CallOptions,
    change: Change,
  ) => Promise<z.output<S>>
  /** The pages of a list. Each is fetched when the caller has finished the one before. Invalid items are omitted. */
  readonly pages: <S extends z.ZodType>(
    path: string,
    schema: S,
    options: ListOptions,
    query?: Query,
  ) => AsyncGenerator<Page<z.output<S>>, void>
}

/** Called for items of a list that were omitted. `list`: the last segment of the list's path, such as `jobs`. */
export type OnLeftOut = (list: string, count: number) => void

/** Maximum size of a file, bytes. */
const maxFile = 32 * 1024 * 1024
/** Maximum number of lists that are remembered as cut. The oldest is forgotten first. */
const maxCutLists = 10_000

/**
 * The page after a full one without a `Link` header, which some proxies remove: after the last item if the list has keyset pagination, or else by its
 * number. A page with more items than requested has no next one, because such a list has no pages.
 */
function linkAfter(items: readonly unknown[], from: URL): string | undefined {
  const query = from.searchParams
  if (items.length === 0 || items.length !== Number(query.get('per_page'))) return undefined
  const next = new URL(from)
  const last = (items.at(-1) ?? {}) as { readonly id?: unknown; readonly created_at?: unknown }
  const isKeyset = query.get('pagination') === 'keyset'
  if (isKeyset && query.get('sort') === 'asc' && typeof last.id === 'number')
    next.searchParams.set('id_after', String(last.id))
  else if ((isKeyset || next.pathname.endsWith('/api/v4/pipelines')) && typeof last.created_at === 'string')
    next.searchParams.set('created_before', last.created_at)
  else next.searchParams.set('page', String(Number(query.get('page') ?? 1) + 1))
  return next.href
}

/** `base`: the API's base without a slash at its end. */
export function createReader(base: string, requester: Requester, log: Log, onLeftOut?: OnLeftOut): Reader {
  const origin = new URL(base).origin
  const reported = new Set<z.ZodType>()
  const cutLists = new Map<string, true>()

  function addressOf(path: string, query: Query): URL {
    const encoded = encodeQuery(query)
    return new URL(base + path + (encoded === '' ? '' : `?${encoded}`))
  }

  /** Warns once for each kind of item, because an invalid item appears again in every round. */
  function reportUnreadable(schema: z.ZodType, endpoint: string, count: number): void {
    if (count === 0) return
    onLeftOut?.(nameOf(endpoint), count)
    if (reported.has(schema)) return
    reported.add(schema)
    log.warn({ endpoint, count }, 'items of the platform cannot be read and are omitted; further ones are not reported')
  }

  async function itemsOf<S extends z.ZodType>(
    all: readonly unknown[],
    schema: S,
    endpoint: string,
  ): Promise<z.output<S>[]> {
    const items: z.output<S>[] = []
    for (const [index, item] of all.entries()) {
      if (index % itemsPerTurn === itemsPerTurn - 1) await nextTurn()
      const parsed = schema.safeParse(item)
      if (parsed.success) items.push(parsed.data)
    }
    reportUnreadable(schema, endpoint, all.length - items.length)
    return items
  }

  /** Warns once for each list of a project or a group, even if many of its pipelines have such a list. */
  function reportCut(by: CutBy, left: number, endpoint: string): void {
    onLeftOut?.(nameOf(endpoint), left)
    const list = endpoint.replace(/(?<=\/(?:pipelines|hooks)\/)\d+/, ':id')
    if (!cutLists.has(list)) log.warn({ endpoint, left }, cutMessage(by, list))
    remember(cutLists, list, true, maxCutLists)
  }

  /** Path and query of the next page, without the host. */
  function continuation(link: string | undefined, from: URL, endpoint: string): string | undefined {
    if (link === undefined) return undefined
    if (!URL.canParse(link, from.href))
      throw errorOfAnswer('unexpected-answer', endpoint, 'its next page is not an address')
    const next = new URL(link, from)
    if (next.origin !== origin) throw errorOfForeignHost(endpoint, 'next page', next.origin)
    return next.pathname + next.search
  }

  function readAs<S extends z.ZodType>(
    { json, endpoint }: Pick<RestAnswer, 'json' | 'endpoint'>,
    schema: S,
  ): z.output<S> {
    const parsed = schema.safeParse(json)
    if (parsed.success) return parsed.data
    const fields = parsed.error.issues.map(issue => issue.path.join('.') || 'the whole answer').join(', ')
    throw errorOfAnswer('unexpected-answer', endpoint, `not as documented: ${fields}`)
  }

  return {
    one: async (path, schema, options, query = {}) =>
      readAs(await requester.get(addressOf(path, query), options), schema),
    file: async (path, schema, options) =>
      requester.stream(addressOf(path, {}), options, async ({ body, endpoint }) => {
        const file = await bounded(body, maxFile)
        if ('detail' in file) throw errorOfAnswer('too-large', endpoint, file.detail)
        const json = await jsonOf(file).catch(() => {
          throw errorOfAnswer('broken-answer', endpoint, `no complete JSON in ${file.length} bytes`)
        })
        return readAs({ json, endpoint }, schema)
      }),
    change: async (path, schema, options, change) =>
      readAs(await requester.change(addressOf(path, {}), change, options), schema),
    pages: async function* (path, schema, { from, max, ...options }, query = {}) {
      let url = from === undefined ? addressOf(path, { per_page: perPage, ...query }) : continued(from)
      const endOf = createListEnd(max)
      for (let page = 1; ; page++) {
        const answer = await requester.get(url, options).catch((error: unknown) => {
          // The platform limits the offset of pages. The pages before the refused one remain valid.
          if (page === 1 || !(error instanceof PlatformError && error.kind === 'refused')) throw error
          reportCut('refusal', 1, error.endpoint ?? path)
        })
        if (answer === undefined) {
          yield { items: [], left: 1 }
          return
        }
        const { json, headers, endpoint, url: at } = answer
        if (!Array.isArray(json)) throw errorOfAnswer('unexpected-answer', endpoint, 'a list was expected')
        const link = headers.link === undefined ? linkAfter(json, at) : nextLink(headers.link)
        const { items, next, cut } = endOf({
          ...{ address: url.pathname + url.search, items: json, next: continuation(link, at, endpoint) },
          ...{ isLinked: headers.link !== undefined, total: Number(headers['x-total']) || 0 },
        })
        if (cut !== undefined) reportCut(cut.by, cut.left, endpoint)
        yield {
          ...knownOf({ next, servedAt: servedAt(headers), left: cut?.left }),
          items: await itemsOf(items, schema, endpoint),
        }
        if (next === undefined) return
        url = continued(next)
      }
    },
  }

  /** Builds the URL of a stored `next` so that it cannot lead to another host. */
  function continued(next: string): URL {
    const url = new URL(origin)
    const [pathname = '', ...search] = next.split('?')
    url.pathname = pathname
    url.search = search.join('?')
    return url
  }
}

/** The last segment of the endpoint's path. */
function nameOf(endpoint: string): string {
  return endpoint.slice(endpoint.lastIndexOf('/') + 1)
}
