// Reads single objects and lists, and sends changes. It builds URLs, checks the shapes of answers, and follows no page to another host.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { z } from 'zod'
import { errorOfAnswer } from './error-messages.ts'
import { bounded, jsonOf } from './answer-json.ts'
import { knownOf } from '../../model/versioned.ts'
import { encodeQuery, type Query } from './query.ts'
import { createListEnd, cutMessage, type CutBy } from './list-end.ts'
import { nextPage } from './pages.ts'
import { PlatformError, type CallOptions, type ListOptions, type Page } from '../port.ts'
import { redact } from '../../lib/secret.ts'
import { remember } from '../../lib/bounded-map.ts'
import { servedAt } from './rate-limit.ts'
import { readObject } from '../wire-read.ts'
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
  /**
   * The pages of a list. Each is fetched when the caller has finished the one before. Invalid items are omitted, and the log names what they lack.
   * `wanted`: optional fields whose absence the log names, too.
   */
  readonly pages: <S extends z.ZodType>(
    path: string,
    schema: S,
    options: ListOptions,
    query?: Query,
    wanted?: readonly string[],
  ) => AsyncGenerator<Page<z.output<S>>, void>
}

/** Called for items of a list that were omitted. `list`: the last segment of the list's path, such as `jobs`. */
export type OnLeftOut = (list: string, count: number) => void

/** Maximum size of a file, bytes. */
const maxFile = 32 * 1024 * 1024
/** Maximum number of lists that are remembered as reported. The oldest is forgotten first. */
const maxCutLists = 10_000
const maxForeignHosts = 100

/** `base`: the API's base without a slash at its end. */
export function createReader(base: string, requester: Requester, log: Log, onLeftOut?: OnLeftOut): Reader {
  const origin = new URL(base).origin
  const reported = new Map<string, true>()
  const cutLists = new Map<string, true>()
  const foreignHosts = new Map<string, true>()

  function addressOf(path: string, query: Query): URL {
    const encoded = encodeQuery(query)
    return new URL(base + path + (encoded === '' ? '' : `?${encoded}`))
  }

  /** Warns once for each list and what its items lack, because an invalid item appears again in every round. */
  function reportUnreadable(endpoint: string, count: number, fields: ReadonlySet<string>): void {
    if (count === 0) return
    onLeftOut?.(nameOf(endpoint), count)
    const named = [...fields].sort().join(', ')
    warnOnce(
      `${nameOf(endpoint)} lacks ${named}`,
      { endpoint, count, fields: named },
      `items of the platform cannot be read and are omitted: no usable ${named} (${endpoint}); further ones are not reported`,
    )
  }

  /** `fields`: what is read without them lacks something, although each item is read. */
  function reportAbsent(endpoint: string, items: readonly unknown[], fields: readonly string[]): void {
    for (const field of fields) {
      if (!items.some(item => readObject(item) !== undefined && readObject(item)?.[field] == null)) continue
      warnOnce(
        `${nameOf(endpoint)} without ${field}`,
        { endpoint, fields: field },
        `items of the platform have no ${field} (${endpoint}): what depends on it is left out`,
      )
    }
  }

  function warnOnce(about: string, facts: object, message: string): void {
    if (reported.has(about)) return
    remember(reported, about, true, maxCutLists)
    log.warn(facts, message)
  }

  async function itemsOf<S extends z.ZodType>(
    all: readonly unknown[],
    schema: S,
    endpoint: string,
  ): Promise<z.output<S>[]> {
    const items: z.output<S>[] = []
    const lacking = new Set<string>()
    for (const [index, item] of all.entries()) {
      if (index % itemsPerTurn === itemsPerTurn - 1) await nextTurn()
      const parsed = schema.safeParse(item)
      if (parsed.success) items.push(parsed.data)
      else for (const field of fieldsOf(parsed.error, 'item')) lacking.add(field)
    }
    reportUnreadable(endpoint, all.length - items.length, lacking)
    return items
  }

  /** Warns once for each list of a project or a group, even if many of its pipelines have such a list. */
  function reportCut(by: CutBy, left: number, endpoint: string, detail?: string): void {
    onLeftOut?.(nameOf(endpoint), left)
    const list = endpoint.replace(/(?<=\/(?:pipelines|hooks)\/)\d+/, ':id')
    if (!cutLists.has(list)) log.warn({ endpoint, left, detail }, cutMessage(by, list))
    remember(cutLists, list, true, maxCutLists)
  }

  /** Once for each host: every further page of every list leads there. */
  function reportForeign(host: string | undefined, endpoint: string): void {
    if (host === undefined || foreignHosts.has(host)) return
    remember(foreignHosts, host, true, maxForeignHosts)
    log.warn(
      { endpoint },
      `The platform's lists continue at another host, ${redact(host)}: they are read on at the configured address. ` +
        "If that is the platform's own address, set PIPESPAN_PLATFORM_URL to it.",
    )
  }

  function readAs<S extends z.ZodType>(
    { json, endpoint }: Pick<RestAnswer, 'json' | 'endpoint'>,
    schema: S,
  ): z.output<S> {
    const parsed = schema.safeParse(json)
    if (parsed.success) return parsed.data
    const fields = fieldsOf(parsed.error, 'the whole answer').join(', ')
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
    pages: async function* (path, schema, { from, max, ...options }, query = {}, wanted = []) {
      let url = from === undefined ? addressOf(path, { per_page: perPage, ...query }) : continued(from)
      const endOf = createListEnd(max)
      for (let page = 1; ; page++) {
        const answer = await requester.get(url, options).catch((error: unknown) => {
          // The platform limits the offset of pages. The pages before the refused one remain valid.
          if (page === 1 || !(error instanceof PlatformError && error.kind === 'refused')) throw error
          const by = url.searchParams.has('page') ? 'offset' : 'refusal'
          reportCut(by, 1, error.endpoint ?? path, error.detail)
        })
        if (answer === undefined) {
          yield { items: [], left: 1 }
          return
        }
        const { json, headers, endpoint, url: at } = answer
        if (!Array.isArray(json)) throw errorOfAnswer('unexpected-answer', endpoint, 'a list was expected')
        const { foreign, ...following } = nextPage(headers.link, json, at)
        reportForeign(foreign, endpoint)
        const { items, next, cut } = endOf({
          ...{ address: url.pathname + url.search, items: json, ...following },
          total: Number(headers['x-total']) || 0,
        })
        if (cut !== undefined) reportCut(cut.by, cut.left, endpoint)
        reportAbsent(endpoint, items, wanted)
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

/** The fields that the schema misses, without the numbers of list items. */
function fieldsOf(error: z.ZodError, whole: string): string[] {
  return [...new Set(error.issues.map(({ path }) => path.filter(part => typeof part !== 'number').join('.') || whole))]
}
