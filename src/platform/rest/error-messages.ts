// Makes the errors of all requests, with their messages and remedies.
import { redact } from '../../lib/secret.ts'
import type { ErrorBody } from './error-body.ts'
import { PlatformError, type PlatformErrorKind } from '../port.ts'

interface Refusal {
  readonly kind: PlatformErrorKind
  readonly what: string
  readonly remedy: string
}

const wrongAddress =
  'Check PIPESPAN_PLATFORM_URL: it must be the address of the platform itself, without /api/v4, and no proxy or login page may answer in its place.'

/** The error for an answer with an error status. `answer` comes from `parseErrorBody`. */
export function errorOfStatus(status: number, endpoint: string, answer: ErrorBody): PlatformError {
  const { kind, what, remedy } = refusalOf(status, answer, endpoint.startsWith('GET ') ? 'read' : 'change')
  const words = answer.detail === undefined ? '' : `: "${answer.detail}"`
  return new PlatformError({
    ...answer,
    kind,
    what: `${what} (${status} at ${endpoint}${words}).`,
    remedy,
    status,
    endpoint,
  })
}

function refusalOf(
  status: number,
  answer: { readonly code?: string | undefined; readonly isPage: boolean },
  action: 'read' | 'change',
): Refusal {
  if (answer.isPage && status < 500 && status !== 429) {
    return { kind: 'not-the-api', what: "A web page answered instead of the platform's API", remedy: wrongAddress }
  }
  if (status === 401) {
    return {
      kind: 'unauthorized',
      what: 'The platform does not accept the token',
      remedy:
        'Check PIPESPAN_PLATFORM_TOKEN and PIPESPAN_PLATFORM_TOKEN_TYPE: the token may have expired or been revoked.',
    }
  }
  if (status === 403) {
    const scope = answer.code === 'insufficient_scope'
    return {
      kind: 'forbidden',
      what: scope ? "The token's scope does not suffice" : `The token may not ${action} this`,
      remedy: scope
        ? `Make a token that may ${action === 'read' ? 'read' : 'use'} the API, and set PIPESPAN_PLATFORM_TOKEN to it.`
        : `Give the token's user a role that may ${action} it, or a token of a wider scope.`,
    }
  }
  if (status === 404) {
    return {
      kind: 'not-found',
      what: 'The platform does not have this, or does not show it to this token',
      remedy: 'Check the ID or path. Something that was deleted or hidden is omitted until the token can see it again.',
    }
  }
  if (status === 429) {
    return {
      kind: 'limited',
      what: 'The platform keeps answering that there are too many requests',
      remedy: "Lower PIPESPAN_PLATFORM_BUDGET, or raise the platform's rate limit for this user.",
    }
  }
  if (status >= 500) {
    return {
      kind: 'unavailable',
      what: 'The platform cannot answer at the moment',
      remedy: "Pipespan asks again automatically. If this lasts, check the platform's health.",
    }
  }
  return {
    kind: 'refused',
    what: 'The platform refused the request',
    remedy: "The platform's message says why. The platform may also be too old for this request.",
  }
}

/** The error of a token that may read a project's pipelines but not their jobs or bridges: 403, or 404 although the pipeline exists. */
export function errorOfDetails(what: 'jobs' | 'bridges', refusal: PlatformError): PlatformError {
  const { kind, status, endpoint, detail } = refusal
  const words = detail === undefined ? '' : `: "${detail}"`
  return new PlatformError({
    ...{ kind, status, endpoint, detail },
    what: `The token may not read the ${what} of this project's pipelines, which are exported without them (${status} at ${endpoint}${words}).`,
    remedy: `Give the token's user a role that may read ${what}, or the token a wider scope. Pipespan asks for them again once a day.`,
  })
}

/** The error of a request without an answer. `reason` is the connection's error code, such as `ECONNREFUSED`. */
export function errorOfConnection(
  kind: 'network' | 'timeout',
  endpoint: string,
  reason: string,
  certificate: boolean,
): PlatformError {
  const what = kind === 'timeout' ? 'The platform did not answer in time' : 'The platform cannot be reached'
  const remedy = certificate
    ? "Set PIPESPAN_PLATFORM_CA_FILE to the certificate authority that signed the platform's certificate."
    : 'Check PIPESPAN_PLATFORM_URL, the network and the proxy. Pipespan asks again automatically.'
  return new PlatformError({ kind, what: `${what} (${endpoint}: ${reason}).`, remedy, endpoint, detail: reason })
}

/** The error of a stream that was aborted because it was too slow. */
export function errorOfSlow(endpoint: string, detail: string): PlatformError {
  return new PlatformError({
    kind: 'slow',
    what: `The platform sends too slowly (${endpoint}: ${detail}).`,
    remedy:
      "Pipespan asks again automatically. If this lasts, check the platform's storage of logs and artifacts, and the network.",
    endpoint,
    detail,
  })
}

/** The error of a change that was redirected. Such a redirect is not followed, because the method might get lost. */
export function errorOfMovedChange(status: number, endpoint: string, to: URL): PlatformError {
  return new PlatformError({
    kind: 'not-found',
    what: `The requested path has moved to ${to.pathname} (${status} at ${endpoint}); nothing was changed.`,
    remedy: 'Use the new path of the project or group, or its number.',
    status,
    endpoint,
  })
}

/** The error of a redirect that leads to another host. The message shows only the origin, because the rest may contain secrets. */
export function errorOfForeignHost(endpoint: string, origin: string): PlatformError {
  return new PlatformError({
    kind: 'foreign-host',
    what: `The platform's redirect leads to another host, ${redact(origin)} (${endpoint}); the token was not sent there.`,
    remedy: `If that is the platform's own address, set PIPESPAN_PLATFORM_URL to it.`,
    endpoint,
  })
}

/** The error of a 2xx or a redirect that cannot come from the API. */
export function errorOfNoApi(status: number, endpoint: string, detail: string | undefined): PlatformError {
  const words = detail === undefined ? '' : `: "${detail}"`
  return new PlatformError({
    kind: 'not-the-api',
    what: `The answer does not come from the platform's API (${status} at ${endpoint}${words}).`,
    remedy: wrongAddress,
    status,
    endpoint,
    detail,
  })
}

/** The error of an object storage to which the platform redirected. */
export function errorOfStorage(status: number, endpoint: string): PlatformError {
  return new PlatformError({
    kind: 'unavailable',
    what: `The platform's object storage refused the request (${status} after a redirect from ${endpoint}).`,
    remedy: "Pipespan asks again automatically. If this lasts, check the platform's object storage and its clock.",
    endpoint,
  })
}

/** The error of an answer that cannot be read. */
export function errorOfAnswer(
  kind: 'broken-answer' | 'unexpected-answer' | 'too-large',
  endpoint: string,
  detail: string,
): PlatformError {
  const what = {
    'broken-answer': "The platform's answer is incomplete",
    'unexpected-answer': "The platform's answer does not have the documented shape",
    'too-large': "The platform's answer is too large",
  }[kind]
  const remedy = {
    'broken-answer': 'Pipespan asks again automatically. If this lasts, a proxy may be cutting answers off.',
    'unexpected-answer': "Check PIPESPAN_PLATFORM_URL and the platform's version (its REST API must be v4).",
    'too-large': 'No documented answer of the platform is that large: check what this address serves.',
  }[kind]
  return new PlatformError({ kind, what: `${what} (${endpoint}: ${detail}).`, remedy, endpoint, detail })
}
