// Makes the errors of the observability instance's token API: the action that failed, the answer and a remedy.
import { Fault } from '../../lib/fault.ts'
import { wordsOf, type Answer } from './request.ts'

export type InstanceErrorKind =
  /** 401, or the API key is missing or cannot be sent. */
  | 'unauthorized'
  /** 403: the key's role does not suffice. */
  | 'forbidden'
  /** 404: there is no such API at this address. */
  | 'not-found'
  /** 409 and any other 4xx. */
  | 'refused'
  /** 429, 5xx, no connection, or no answer before the timeout. */
  | 'unavailable'
  /** A redirect, HTML, truncated JSON, or JSON of another shape. */
  | 'unreadable'

export interface InstanceErrorFacts {
  readonly kind: InstanceErrorKind
  readonly what: string
  readonly remedy: string
  readonly status?: number | undefined
  /** The time for which the instance asks to wait, ms. */
  readonly retryAfter?: number | undefined
  /** True if the instance may have performed the action although there is no usable answer. */
  readonly uncertain: boolean
}

/** The token API cannot be reached, refuses, or sends an unusable answer. The error never contains the API key or a token. */
export class InstanceError extends Fault {
  readonly kind: InstanceErrorKind
  readonly status: number | undefined
  readonly uncertain: boolean
  readonly retryAfter: number | undefined

  constructor(facts: InstanceErrorFacts) {
    super(facts.what, facts.remedy)
    this.kind = facts.kind
    this.status = facts.status
    this.uncertain = facts.uncertain
    this.retryAfter = facts.retryAfter
  }
}

const checkAddress =
  'Check PIPESPAN_OBSERVABILITY_URL: it must be the URL of the observability instance itself, not its OTLP endpoint, and not behind a login page.'

/** The API key is missing, or invalid in a header. */
export function errorOfKey(problem: 'missing' | 'unsendable'): InstanceError {
  const what =
    problem === 'missing'
      ? 'There is no API key for the observability instance.'
      : 'The API key has blanks, line breaks or other characters that are invalid in an HTTP header.'
  const remedy =
    problem === 'missing'
      ? 'Set PIPESPAN_OBSERVABILITY_API_KEY or PIPESPAN_OBSERVABILITY_API_KEY_FILE.'
      : 'Check PIPESPAN_OBSERVABILITY_API_KEY or its file: it must contain only the key.'
  return new InstanceError({ kind: 'unauthorized', what, remedy, uncertain: false })
}

/** The error for any answer but a 2xx. `action`: the failed action, such as "list the tokens". `key` is redacted in the instance's message. */
export function errorOfAnswer(answer: Answer, action: string, key: string): InstanceError {
  if (answer.kind === 'failed') return errorOfFailure(answer, action)
  const { status, retryAfter } = answer
  const words = isHtml(answer) ? undefined : wordsOf(answer.text, [key])
  const said = words === undefined ? `${status}` : `${status}: "${words}"`
  const uncertain = status >= 500
  const fault = (kind: InstanceErrorKind, what: string, remedy: string) =>
    new InstanceError({ kind, what: `Could not ${action}: ${what} (${said}).`, remedy, status, uncertain, retryAfter })
  if (status === 401) {
    const remedy = 'Check PIPESPAN_OBSERVABILITY_API_KEY (or its file): the key may have expired or been revoked.'
    return fault('unauthorized', 'the observability instance does not accept the API key', remedy)
  }
  if (status === 429 || status >= 500) {
    const what = status === 429 ? 'there were too many requests' : 'the observability instance cannot answer now'
    return fault('unavailable', what, 'Try again later; if this persists, check the health of the instance.')
  }
  if (isHtml(answer) || (status >= 300 && status < 400)) {
    return fault('unreadable', 'the answer is not from the token API', checkAddress)
  }
  if (status === 403) {
    const remedy = 'Use a key of a user with the Editor role, or of an administrator.'
    return fault('forbidden', 'the API key has no permission for this', remedy)
  }
  if (status === 404) return fault('not-found', 'there is no token API at this address', checkAddress)
  const remedy = "The instance's message says why. The instance may also be too old for this request."
  return fault('refused', 'the observability instance refused', remedy)
}

/** The error for a token that the instance still lists as valid after it was to be revoked. `status`: the answer to that. */
export function errorOfUnrevoked(id: string, status: number | undefined): InstanceError {
  return new InstanceError({
    kind: 'refused',
    what: `Could not revoke the ingest token ${id}: the answer was ${status}, but the token is still listed as valid.`,
    remedy:
      'Check PIPESPAN_OBSERVABILITY_URL, proxies before the instance and its version; until then the token can be used.',
    status,
    uncertain: false,
  })
}

function errorOfFailure(answer: Answer & { kind: 'failed' }, action: string): InstanceError {
  return new InstanceError({
    kind: 'unavailable',
    what: `Could not ${action}: the observability instance did not answer (${answer.reason}).`,
    remedy: answer.certificate
      ? 'Set PIPESPAN_OBSERVABILITY_CA_FILE to the CA certificate of the instance.'
      : 'Check PIPESPAN_OBSERVABILITY_URL and the network, and try again.',
    uncertain: answer.sent,
  })
}

/** The error for a 2xx with an unusable body. The message does not show the body, because it may contain a token. */
export function errorOfBody(answer: Answer & { kind: 'answered' }, action: string, problem: string): InstanceError {
  const html = isHtml(answer)
  return new InstanceError({
    kind: 'unreadable',
    what: `Could not ${action}: ${html ? 'a web page answered instead of the token API' : problem} (${answer.status}).`,
    remedy: html ? checkAddress : 'A proxy may be altering answers; also check PIPESPAN_OBSERVABILITY_URL.',
    status: answer.status,
    uncertain: true,
  })
}

function isHtml({ contentType, text }: { contentType: string; text: string }): boolean {
  return /^text\/html\b/i.test(contentType) || /^\s*<(!doctype|html)/i.test(text)
}
