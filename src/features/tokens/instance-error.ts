// The errors of the observability instance's token API. Each error names the action that failed and the response, and says how to fix the problem.
import { certificateRemedy } from '../../lib/certificate-remedy.ts'
import { Fault } from '../../lib/fault.ts'
import { wordsOf, type Answer } from './request.ts'

/** Thrown if the token API cannot be reached, rejects a request, or sends an unusable response. The error never contains the API key or a token. */
export class InstanceError extends Fault {
  /** Undefined if there was no response. */
  readonly status: number | undefined
  /** True if the instance may have performed the action although it sent no usable response. */
  readonly uncertain: boolean

  constructor(
    what: string,
    remedy: string,
    { status, uncertain }: { status?: number | undefined; uncertain: boolean },
  ) {
    super(what, remedy)
    this.status = status
    this.uncertain = uncertain
  }
}

const checkAddress =
  'Check PIPESPAN_OBSERVABILITY_URL: it must be the URL of the observability instance itself, not its OTLP endpoint, and not behind a login page.'

/** The error for an API key that is missing or that cannot be sent in a header. */
export function errorOfKey(problem: 'missing' | 'unsendable'): InstanceError {
  const [what, remedy] =
    problem === 'missing'
      ? [
          'There is no API key for the observability instance.',
          'Set PIPESPAN_OBSERVABILITY_API_KEY or PIPESPAN_OBSERVABILITY_API_KEY_FILE.',
        ]
      : [
          'The API key has blanks, line breaks or other characters that are invalid in an HTTP header.',
          'Check PIPESPAN_OBSERVABILITY_API_KEY or its file: it must contain only the key.',
        ]
  return new InstanceError(what, remedy, { uncertain: false })
}

/**
 * Returns the error for any response except a 2xx. `action` is the failed action, such as "list the tokens". `key` is redacted in the instance's
 * message.
 */
export function errorOfAnswer(answer: Answer, action: string, key: string): InstanceError {
  if (answer.kind === 'failed') {
    const trust = 'Set PIPESPAN_OBSERVABILITY_CA_FILE to the CA certificate of the instance.'
    const remedy =
      certificateRemedy(answer.code, trust) ?? 'Check PIPESPAN_OBSERVABILITY_URL and the network, and try again.'
    const what = `Could not ${action}: the observability instance did not answer (${answer.reason}).`
    return new InstanceError(what, remedy, { uncertain: answer.sent })
  }
  const { status } = answer
  const words = isHtml(answer) ? undefined : wordsOf(answer.text, [key])
  const reason = words === undefined ? `${status}` : `${status}: "${words}"`
  const [what, remedy] = reasonOf(status, isHtml(answer))
  return new InstanceError(`Could not ${action}: ${what} (${reason}).`, remedy, { status, uncertain: status >= 500 })
}

function reasonOf(status: number, isPage: boolean): readonly [what: string, remedy: string] {
  if (status === 401) {
    return [
      'the observability instance does not accept the API key',
      'Check PIPESPAN_OBSERVABILITY_API_KEY (or its file): the key may have expired or been revoked.',
    ]
  }
  if (status === 429 || status >= 500) {
    const what = status === 429 ? 'there were too many requests' : 'the observability instance cannot answer now'
    return [what, 'Try again later; if this persists, check the health of the instance.']
  }
  if (isPage || status < 400) return ['the response is not from the token API', checkAddress]
  if (status === 403) {
    const remedy = 'Use a key of a user with the Editor role, or of an administrator.'
    return ['the API key has no permission for this', remedy]
  }
  if (status === 404) return ['there is no token API at this address', checkAddress]
  const remedy = "The instance's message says why. The instance may also be too old for this request."
  return ['the observability instance refused', remedy]
}

/**
 * Returns the error for a token that the instance still lists as valid after its revocation. `status` is the status of the response to the
 * revocation.
 */
export function errorOfUnrevoked(id: string, status: number): InstanceError {
  return new InstanceError(
    `Could not revoke the ingest token ${id}: the response was ${status}, but the token is still listed as valid.`,
    'Check PIPESPAN_OBSERVABILITY_URL, the proxies in front of the instance, and its version; until then the token can be used.',
    { status, uncertain: false },
  )
}

/** Returns the error for a 2xx with an unusable body. The message does not show the body, because it may contain a token. */
export function errorOfBody(answer: Answer & { kind: 'answered' }, action: string, problem: string): InstanceError {
  const { status } = answer
  const html = isHtml(answer)
  return new InstanceError(
    `Could not ${action}: ${html ? 'a web page answered instead of the token API' : problem} (${status}).`,
    html ? checkAddress : 'A proxy may be altering responses; also check PIPESPAN_OBSERVABILITY_URL.',
    { status, uncertain: true },
  )
}

function isHtml({ contentType, text }: { contentType: string; text: string }): boolean {
  return /^text\/html\b/i.test(contentType) || /^\s*<(!doctype|html)/i.test(text)
}
