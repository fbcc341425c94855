// Creates the errors for all requests. Each error contains a description, the platform's message, and advice on how to fix the problem. Secrets are
// redacted.
//
// The body of an error response may be JSON with `message` (a string, or an object of lists) or `error`, plain text, or a proxy's web page.
import { certificateRemedy } from '../../lib/certificate-remedy.ts'
import { briefly } from '../../lib/text-redaction.ts'
import { redact } from '../../lib/secret.ts'
import { PlatformError, type PlatformErrorFacts, type PlatformErrorKind } from '../port.ts'

/** Maximum number of bytes read from an error response's body. */
export const maxErrorBytes = 16 * 1024
/** Maximum length of the platform's message. Longer messages are truncated. */
const maxMessageLength = 200

/**
 * `detail`: the platform's message on one line; undefined for an empty body. `affectsAllRequests`: true if the message was in `error` rather than in
 * `message`.
 */
interface ErrorBody extends Pick<PlatformErrorFacts, 'detail' | 'code' | 'affectsAllRequests' | 'keys'> {
  /** True if the body is a web page, which comes from a proxy or a wrong address. */
  readonly isPage: boolean
}

/** The unchanged body of an error response. `secrets`: strings to redact in addition to the secrets known to this process. */
export interface RawBody {
  readonly text: string
  readonly type: string | undefined
  readonly secrets: readonly string[]
}

export function parseErrorBody({ text, type, secrets }: RawBody): ErrorBody {
  const shorten = (message: string): string | undefined => briefly(message, maxMessageLength, secrets)
  if (/^text\/html\b/i.test(type ?? '') || /^\s*<[!?a-z]/i.test(text)) {
    return { detail: shorten(/<title[^>]*>([^<]*)</i.exec(text)?.[1]?.trim() ?? 'a web page'), isPage: true }
  }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { detail: shorten(text), isPage: false }
  }
  if (typeof json !== 'object' || json === null) return { detail: shorten(flat(json)), isPage: false }
  const { message, error, error_description: description } = json as Record<string, unknown>
  const words = message ?? (typeof description === 'string' ? `${flat(error)}: ${description}` : error)
  return {
    detail: shorten(flat(words ?? json)),
    code: typeof error === 'string' && /^\w+$/.test(error) ? error : undefined,
    affectsAllRequests: message === undefined && error !== undefined,
    keys: Object.keys(json),
    isPage: false,
  }
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

interface Refusal {
  readonly kind: PlatformErrorKind
  readonly what: string
  readonly remedy: string
}

const wrongAddress =
  'Check PIPESPAN_PLATFORM_URL: it must be the address of the platform itself, without /api/v4, and no proxy or login page may respond in its place.'

const noApi: Refusal = {
  kind: 'not-the-api',
  what: "A web page answered instead of the platform's API",
  remedy: wrongAddress,
}

const refusals: Readonly<Record<number, Refusal>> = {
  401: {
    kind: 'unauthorized',
    what: 'The platform does not accept the token',
    remedy:
      'Check PIPESPAN_PLATFORM_TOKEN and PIPESPAN_PLATFORM_TOKEN_TYPE: the token may have expired or been revoked.',
  },
  404: {
    kind: 'not-found',
    what: 'The platform does not have this resource, or does not show it to this token',
    remedy: 'Check the ID or path. Something that was deleted or hidden is omitted until the token can see it again.',
  },
  429: {
    kind: 'limited',
    what: 'The platform keeps rejecting requests because there are too many of them',
    remedy: "Lower PIPESPAN_PLATFORM_BUDGET, or raise the platform's rate limit for this user.",
  },
}

const unavailable: Refusal = {
  kind: 'unavailable',
  what: 'The platform cannot serve requests at the moment',
  remedy: "Pipespan retries automatically. If this persists, check the platform's health.",
}

const refused: Refusal = {
  kind: 'refused',
  what: 'The platform refused the request',
  remedy: "The platform's message says why. The platform may also be too old for this request.",
}

function forbidden(action: 'read' | 'change', isScope: boolean): Refusal {
  return {
    kind: 'forbidden',
    what: isScope ? "The token's scope is not sufficient" : `The token may not ${action} this resource`,
    remedy: isScope
      ? `Create a token that may ${action === 'read' ? 'read' : 'use'} the API, and set PIPESPAN_PLATFORM_TOKEN to it.`
      : `Give the token's user a role that may ${action} it, or use a token with a wider scope.`,
  }
}

export function errorOfStatus(status: number, endpoint: string, raw: RawBody): PlatformError {
  const { isPage, ...body } = parseErrorBody(raw)
  const action = endpoint.startsWith('GET ') ? 'read' : 'change'
  const { kind, what, remedy } =
    isPage && status < 500 && status !== 429
      ? noApi
      : status === 403
        ? forbidden(action, body.code === 'insufficient_scope')
        : (refusals[status] ?? (status >= 500 ? unavailable : refused))
  return new PlatformError({
    ...{ ...body, kind, remedy, status, endpoint },
    what: `${what} (${status} at ${endpoint}${quoted(body.detail)}).`,
  })
}

function quoted(detail: string | undefined): string {
  return detail === undefined ? '' : `: "${detail}"`
}

/**
 * Creates the error for a token that may read a project's pipelines but not their jobs or bridges. The status is 403, or 404 although the pipeline
 * exists.
 */
export function errorOfDetails(what: 'jobs' | 'bridges', refusal: PlatformError): PlatformError {
  const { kind, status, endpoint, detail } = refusal
  return new PlatformError({
    ...{ kind, status, endpoint, detail },
    what: `The token may not read the ${what} of this project's pipelines, which are exported without them (${status} at ${endpoint}${quoted(detail)}).`,
    remedy: `Give the token's user a role that may read ${what}, or use a token with a wider scope. Pipespan requests them again once a day.`,
  })
}

/** Errors whose message is completed only by an endpoint and a short reason. Their `what` and `remedy` never vary. */
const failures = {
  network: {
    what: 'The platform cannot be reached',
    remedy: 'Check PIPESPAN_PLATFORM_URL, the network and the proxy. Pipespan retries automatically.',
  },
  timeout: {
    what: 'The platform did not respond in time',
    remedy: 'Check PIPESPAN_PLATFORM_URL, the network and the proxy. Pipespan retries automatically.',
  },
  // Used for streamed responses that took too long.
  slow: {
    what: 'The platform sends data too slowly',
    remedy:
      "Pipespan retries automatically. If this persists, check the platform's storage of logs and artifacts, and the network.",
  },
  'broken-answer': {
    what: "The platform's response is incomplete",
    remedy: 'Pipespan retries automatically. If this persists, check whether a proxy truncates responses.',
  },
  'unexpected-answer': {
    what: "The platform's response does not have the documented format",
    remedy: "Check PIPESPAN_PLATFORM_URL and the platform's version (its REST API must be v4).",
  },
  'too-large': {
    what: "The platform's response is too large",
    remedy: 'No documented response of the platform is that large: check which service runs at this address.',
  },
} as const

const trustPlatform =
  "Set PIPESPAN_PLATFORM_CA_FILE to the certificate authority that signed the platform's certificate."

/** Creates the error for a request that got no usable response. `code`: the error code of the connection, if there is one. */
export function errorOfAnswer(kind: keyof typeof failures, endpoint: string, detail: string, code = ''): PlatformError {
  const { what, remedy } = failures[kind]
  return new PlatformError({
    ...{ kind, endpoint, detail },
    what: `${what} (${endpoint}: ${detail}).`,
    remedy: certificateRemedy(code, trustPlatform) ?? remedy,
  })
}

/** Creates the error for a redirected write request. Such a redirect is not followed, because the HTTP method might be lost. */
export function errorOfMovedChange(status: number, endpoint: string, to: URL): PlatformError {
  return new PlatformError({
    ...{ kind: 'not-found', status, endpoint },
    what: `The requested path has moved to ${to.pathname} (${status} at ${endpoint}); nothing was changed.`,
    remedy: 'Use the new path of the project or group, or its number.',
  })
}

/** Creates the error for a redirect to another host. The message shows only the origin, because the rest of the URL may contain secrets. */
export function errorOfForeignHost(endpoint: string, origin: string): PlatformError {
  return new PlatformError({
    ...{ kind: 'foreign-host', endpoint },
    what: `The platform's redirect leads to another host, ${redact(origin)} (${endpoint}); the token was not sent there.`,
    remedy: `If that is the platform's own address, set PIPESPAN_PLATFORM_URL to it.`,
  })
}

/** Creates the error for a 2xx response or a redirect that cannot come from the API. */
export function errorOfNoApi(status: number, endpoint: string, detail: string | undefined): PlatformError {
  return new PlatformError({
    ...{ kind: 'not-the-api', status, endpoint, detail },
    what: `The response does not come from the platform's API (${status} at ${endpoint}${quoted(detail)}).`,
    remedy: wrongAddress,
  })
}

/** Creates the error for a failed response from the object storage to which the platform redirected the request. */
export function errorOfStorage(status: number, endpoint: string): PlatformError {
  return new PlatformError({
    ...{ kind: 'unavailable', endpoint },
    what: `The platform's object storage refused the request (${status} after a redirect from ${endpoint}).`,
    remedy: "Pipespan retries automatically. If this persists, check the platform's object storage and its clock.",
  })
}
