// Sends requests to the API: builds URLs, parses responses as JSON, and validates them against schemas. An invalid response is an error. Invalid
// items in a list are omitted, and their missing fields are logged.
import type { z } from 'zod'
import { allOf, createListEnd, truncationWarning, nextPage, type TruncationReason } from './pages.ts'
import { errorOfAnswer } from './errors.ts'
import { knownOf } from '../../model/versioned.ts'
import { PlatformError, type CallOptions, type ListOptions, type Page, type ResourceId } from '../port.ts'
import { readObject } from '../wire-read.ts'
import { redact } from '../../lib/secret.ts'
import { remember } from '../../lib/bounded-map.ts'
import { bounded, jsonOf, servedAt } from './answer.ts'
import type { Asking, Query } from '../port/asking.ts'
import type { Answer, Change, Requester } from './request.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Streamed } from './http.ts'

/**
 * Calls to the platform's API. Every call rejects with a PlatformError or, if its signal is aborted, with the signal's reason. Paths begin with a
 * slash.
 */
export interface Api {
  one<S extends z.ZodType>(path: string, schema: S, options: CallOptions, query?: Query): Promise<z.output<S>>
  /** Requests a JSON file. The platform may redirect the request to another host. */
  file<S extends z.ZodType>(path: string, schema: S, options: CallOptions): Promise<z.output<S>>
  /** Sends a write request to the platform and reads the response. */
  change<S extends z.ZodType>(path: string, schema: S, options: CallOptions, change: Change): Promise<z.output<S>>
  /**
   * Yields the pages of a list. Each page is fetched once the caller has finished with the previous one. Invalid items are omitted, and the log names
   * their missing fields. `wanted`: optional fields whose absence is also logged.
   */
  pages<S extends z.ZodType>(
    path: string,
    schema: S,
    options: ListOptions,
    query?: Query,
    wanted?: readonly string[],
  ): AsyncGenerator<Page<z.output<S>>, void>
  /** Requests any file and passes it to `read` as a stream. */
  stream<T>(path: string, options: CallOptions, read: (answer: Streamed) => Promise<T>, query?: Query): Promise<T>
}

/** Called when list items were omitted. `list`: the last segment of the list's path, such as `jobs`. */
export type OnLeftOut = (list: string, count: number) => void

export interface ApiOptions {
  /** The API's base URL without a trailing slash. */
  readonly base: string
  readonly requester: Requester
  /** Maximum size of a response, bytes. */
  readonly maxBytes: number
  readonly log: Log
  readonly onLeftOut?: OnLeftOut | undefined
}

/** The platform's maximum page size (REST documentation, "Limits"). */
const perPage = 100
/** Maximum number of warnings that are remembered so that each is logged only once. The oldest is evicted first. */
const maxWarnings = 10_000

export function createApi({ base, requester, maxBytes, log, onLeftOut }: ApiOptions): Api {
  const warned = new Map<string, true>()

  /** Logs each warning only once, because the same list fails again in every polling round. */
  function warnOnce(about: string, facts: object, message: string): void {
    if (!warned.has(about)) log.warn(facts, message)
    remember(warned, about, true, maxWarnings)
  }

  function addressOf(path: string, query: Query = {}): URL {
    const url = new URL(base + path)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    return url
  }

  /** Returns the URL of the page to which a stored `next` cursor points. The URL always has the configured host, whatever `next` contains. */
  function continued(next: string): URL {
    const url = new URL(new URL(base).origin)
    const [pathname = '', ...search] = next.split('?')
    url.pathname = pathname
    url.search = search.join('?')
    return url
  }

  function itemsOf<S extends z.ZodType>(all: readonly unknown[], schema: S, endpoint: string): z.output<S>[] {
    const items: z.output<S>[] = []
    const lacking = new Set<string>()
    for (const item of all) {
      const parsed = schema.safeParse(item)
      if (parsed.success) items.push(parsed.data)
      else for (const field of fieldsOf(parsed.error, 'item')) lacking.add(field)
    }
    const count = all.length - items.length
    if (count === 0) return items
    onLeftOut?.(nameOf(endpoint), count)
    const fields = [...lacking].sort().join(', ')
    warnOnce(
      `${nameOf(endpoint)} lacks ${fields}`,
      { endpoint, count, fields },
      `items from the platform cannot be read and are omitted: no usable ${fields} (${endpoint}); further invalid items are not reported`,
    )
    return items
  }

  /**
   * Logs which optional fields are absent, because the result is then incomplete. Items without these fields are accepted. `fields`: the names of the
   * optional fields.
   */
  function reportAbsent(endpoint: string, items: readonly unknown[], fields: readonly string[]): void {
    for (const field of fields) {
      if (!items.some(item => readObject(item) !== undefined && readObject(item)?.[field] == null)) continue
      warnOnce(
        `${nameOf(endpoint)} without ${field}`,
        { endpoint, fields: field },
        `items from the platform have no ${field} (${endpoint}): data that depends on it is left out`,
      )
    }
  }

  /** Warns about a truncated list once per project or group, even if many of its pipelines have such a list. */
  function reportTruncation(by: TruncationReason, left: number, endpoint: string, detail?: string): void {
    onLeftOut?.(nameOf(endpoint), left)
    const list = endpoint.replace(/(?<=\/(?:pipelines|hooks)\/)\d+/, ':id')
    warnOnce(`${list} is cut`, { endpoint, left, detail }, truncationWarning(by, list))
  }

  /** Warns once per host, because every further page of every list links to the same host. */
  function reportForeign(host: string, endpoint: string): void {
    warnOnce(
      `lists continue at ${host}`,
      { endpoint },
      `The links to further pages of the platform's lists point to another host, ${redact(host)}. The pages are requested from the configured address. ` +
        "If that is the platform's own address, set PIPESPAN_PLATFORM_URL to it.",
    )
  }

  const read = async (answer: Answer) => ({ ...answer, json: await jsonOf(answer, maxBytes, answer.secrets) })

  return {
    one: async (path, schema, options, query) =>
      parsed(await requester.ask(addressOf(path, query), options, read), schema),
    change: async (path, schema, options, change) =>
      parsed(await requester.ask(addressOf(path), options, read, change), schema),
    file: async (path, schema, options) =>
      requester.stream(addressOf(path), options, async answer => {
        const { endpoint } = answer
        const whole = await bounded(answer, maxBytes)
        try {
          return parsed({ endpoint, json: JSON.parse(new TextDecoder().decode(whole)) as unknown }, schema)
        } catch (error) {
          if (error instanceof PlatformError) throw error
          throw errorOfAnswer('broken-answer', endpoint, `no complete JSON in ${whole.length} bytes`)
        }
      }),
    stream: async (path, options, read, query) => requester.stream(addressOf(path, query), options, read),
    pages: async function* (path, schema, { from, max, ...options }, query = {}, wanted = []) {
      let url = from === undefined ? addressOf(path, { per_page: perPage, ...query }) : continued(from)
      const endOf = createListEnd(max)
      for (let page = 1; ; page++) {
        const answer = await requester.ask(url, options, read).catch((error: unknown) => {
          // The platform limits how far a list can be paged by offset. The pages before the rejected one remain valid.
          if (page === 1 || !(error instanceof PlatformError && error.kind === 'refused')) throw error
          const by = url.searchParams.has('page') ? 'offset' : 'refusal'
          reportTruncation(by, 1, error.endpoint ?? path, error.detail)
        })
        if (answer === undefined) {
          yield { items: [], left: 1 }
          return
        }
        const { json, headers, endpoint, url: at } = answer
        if (!Array.isArray(json)) throw errorOfAnswer('unexpected-answer', endpoint, 'a list was expected')
        const { foreign, ...following } = nextPage(headers.link, json, at)
        if (foreign !== undefined) reportForeign(foreign, endpoint)
        const { items, next, cut } = endOf({
          ...{ address: url.pathname + url.search, items: json, ...following },
          total: Number(headers['x-total']) || 0,
        })
        if (cut !== undefined) reportTruncation(cut.by, cut.left, endpoint)
        reportAbsent(endpoint, items, wanted)
        yield {
          ...knownOf({ next, servedAt: servedAt(headers), left: cut?.left }),
          items: itemsOf(items, schema, endpoint),
        }
        if (next === undefined) return
        url = continued(next)
      }
    },
  }
}

/** Maximum number of items read from a list that is requested as a whole. */
export const maxListed = 1_000

export function createAsking(api: Api, call: CallOptions): Asking {
  return {
    one: async (path, schema, query) => api.one(path, schema, call, query),
    file: async (path, schema) => api.file(path, schema, call),
    all: async (path, schema, query, max = maxListed, wanted) =>
      allOf(api.pages(path, schema, { ...call, max }, query, wanted)),
    post: async (path, body, schema) => api.change(path, schema, call, { method: 'POST', body, secrets: [] }),
  }
}

/** Formats a time for the platform's query parameters. */
export function iso(at: Millis | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}

/**
 * Returns the ID of a project or group as a path segment (`/` becomes `%2F`). Throws a PlatformError for an ID that would lead to another path, such
 * as `..`. The error affects only this ID, like an error response from the platform.
 */
export function segmentOf(id: ResourceId): string {
  const path = String(id).replace(/^\/+|\/+$/g, '')
  if (typeof id === 'number' ? Number.isSafeInteger(id) && id >= 0 : !['', '.', '..'].includes(path))
    return encodeURIComponent(path)
  throw new PlatformError({
    kind: 'refused',
    what:
      typeof id === 'number'
        ? `${id} is not the number of a project or a group.`
        : `"${id}" is not the path of a project or a group.`,
    remedy: 'Use its full path, such as group/project, or its number.',
  })
}

function parsed<S extends z.ZodType>(
  { json, endpoint }: { readonly json: unknown; readonly endpoint: string },
  schema: S,
): z.output<S> {
  const result = schema.safeParse(json)
  if (result.success) return result.data
  const fields = fieldsOf(result.error, 'the whole answer').join(', ')
  throw errorOfAnswer('unexpected-answer', endpoint, `not as documented: ${fields}`)
}

/** The last segment of the endpoint's path. */
function nameOf(endpoint: string): string {
  return endpoint.slice(endpoint.lastIndexOf('/') + 1)
}

/** Returns the fields that the schema rejects, without list indices. */
function fieldsOf(error: z.ZodError, whole: string): string[] {
  return [...new Set(error.issues.map(({ path }) => path.filter(part => typeof part !== 'number').join('.') || whole))]
}
