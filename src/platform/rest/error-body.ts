// Extracts the message from an error's body: `message` (text, or an object of lists), `error`, plain text, or a proxy's page.
import { briefly } from '../../lib/redaction.ts'

/** How much of an error's body is read, bytes. */
export const maxSaidBytes = 16 * 1024
/** Longer messages are cut. */
const longest = 200

export interface Said {
  /** Shortened to one line, without secrets. Undefined for an empty body. */
  readonly said?: string | undefined
  /** The `error` of a JSON body when it is a single word. */
  readonly code?: string | undefined
  /** The message was in `error`: the API refuses all such requests, or lacks the endpoint. */
  readonly isOfTheApi?: boolean | undefined
  /** The keys of a JSON body, which tell some refusals apart. */
  readonly keys?: readonly string[] | undefined
  /** A web page, from a proxy or a wrong address. */
  readonly isPage: boolean
}

/** The beginning of a body, which says what is wrong. */
export function saidIn(body: Buffer): string {
  return body.toString('utf8', 0, maxSaidBytes)
}

/** Redacts the secrets that this process knows, and `secrets`. */
export function saidBy(body: string, contentType: string | undefined, secrets: readonly string[]): Said {
  if (isPage(body, contentType)) {
    const title = /<title[^>]*>([^<]*)</i.exec(body)?.[1]?.trim()
    return { said: shorten(title ?? 'a web page', secrets), isPage: true }
  }
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    return { said: shorten(body, secrets), isPage: false }
  }
  if (typeof json !== 'object' || json === null) return { said: shorten(flat(json), secrets), isPage: false }
  const { message, error, error_description: description } = json as Record<string, unknown>
  const said = message ?? (typeof description === 'string' ? `${flat(error)}: ${description}` : error)
  const code = typeof error === 'string' && /^\w+$/.test(error) ? error : undefined
  const isOfTheApi = message === undefined && error !== undefined
  return { said: shorten(flat(said ?? json), secrets), code, isOfTheApi, keys: Object.keys(json), isPage: false }
}

function isPage(body: string, contentType: string | undefined): boolean {
  return /^text\/html\b/i.test(contentType ?? '') || /^\s*<[!?a-z]/i.test(body)
}

/** `{name: ['is too short', 'is taken'], sha: ['is missing']}` as `name is too short, is taken; sha is missing`. */
function flat(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(flat).join(', ')
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([key, inner]) => `${key} ${flat(inner)}`)
      .join('; ')
  }
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function shorten(text: string, secrets: readonly string[]): string | undefined {
  return briefly(text, longest, secrets)
}
