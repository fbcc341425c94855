// Extracts the message from the body of an error. The body may be JSON with `message` (a text, or an object of lists) or `error`, plain text, or a
// web page of a proxy.
import { briefly } from '../../lib/text-redaction.ts'
import type { PlatformErrorFacts } from '../port.ts'

/** Maximum number of bytes that are read of an error's body. */
export const maxErrorBytes = 16 * 1024
/** Maximum length of a message. Longer messages are cut. */
const maxMessageLength = 200

/** `detail`: in one line; undefined for an empty body. `affectsAllRequests`: the message was in `error`, and not in `message`. */
export interface ErrorBody extends Pick<PlatformErrorFacts, 'detail' | 'code' | 'affectsAllRequests' | 'keys'> {
  /** True if the body is a web page: it comes from a proxy or a wrong address. */
  readonly isPage: boolean
}

/** Parses an error's body. The secrets that this process knows and `secrets` are redacted. */
export function parseErrorBody(body: string, contentType: string | undefined, secrets: readonly string[]): ErrorBody {
  if (isPage(body, contentType)) {
    const title = /<title[^>]*>([^<]*)</i.exec(body)?.[1]?.trim()
    return { detail: shorten(title ?? 'a web page', secrets), isPage: true }
  }
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    return { detail: shorten(body, secrets), isPage: false }
  }
  if (typeof json !== 'object' || json === null) return { detail: shorten(flat(json), secrets), isPage: false }
  const { message, error, error_description: description } = json as Record<string, unknown>
  const detail = message ?? (typeof description === 'string' ? `${flat(error)}: ${description}` : error)
  const code = typeof error === 'string' && /^\w+$/.test(error) ? error : undefined
  const affectsAllRequests = message === undefined && error !== undefined
  return {
    detail: shorten(flat(detail ?? json), secrets),
    code,
    affectsAllRequests,
    keys: Object.keys(json),
    isPage: false,
  }
}

function isPage(body: string, contentType: string | undefined): boolean {
  return /^text\/html\b/i.test(contentType ?? '') || /^\s*<[!?a-z]/i.test(body)
}

/** Turns `{name: ['is too short', 'is taken'], sha: ['is missing']}` into `name is too short, is taken; sha is missing`. */
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
  return briefly(text, maxMessageLength, secrets)
}
