// Decides what an answer of the API is: JSON, a move to another address, or an error.
import type { PlatformError } from '../port.ts'
import { errorOfAnswer, errorOfForeignHost, errorOfNoApi, errorOfStatus } from './error-messages.ts'
import { jsonOf } from './answer-json.ts'
import { parseErrorBody, beginningOfError } from './error-body.ts'
import type { Answer } from './exchange.ts'

export type Judgement =
  | { readonly means: 'json'; readonly json: unknown }
  | { readonly means: 'moved'; readonly to: URL }
  | { readonly means: 'error'; readonly error: PlatformError }

/** `url`: the URL of the request. `endpoint`: its name in errors. `secrets`: texts that must not appear in errors. */
export async function judge(
  answer: Answer,
  url: URL,
  endpoint: string,
  secrets: readonly string[],
): Promise<Judgement> {
  const { status, headers, body } = answer
  if (status >= 200 && status < 300) return judgeBody(answer, endpoint, secrets)
  if (status === 301 || status === 308) {
    const location = headers.location ?? ''
    if (location !== '' && URL.canParse(location, url.href)) return judgeMove(new URL(location, url), url, endpoint)
  }
  if (status < 400) return failed(errorOfNoApi(status, endpoint, undefined))
  return failed(
    errorOfStatus(status, endpoint, parseErrorBody(beginningOfError(body), headers['content-type'], secrets)),
  )
}

async function judgeBody(
  { status, headers, body }: Answer,
  endpoint: string,
  secrets: readonly string[],
): Promise<Judgement> {
  const type = headers['content-type']
  // The platform has accepted the request and has no result yet.
  if (status === 202 && body.length === 0) return { means: 'json', json: null }
  try {
    return { means: 'json', json: await jsonOf(body) }
  } catch {
    // The parser's message is not used, because it quotes the body. A body that does not begin like JSON was not cut off: it comes from a proxy,
    // whatever its content type.
    const text = beginningOfError(body)
    const isJson = /\bjson\b/i.test(type ?? '') && /^\s*([[{"]|$)/.test(text)
    if (!isJson) return failed(errorOfNoApi(status, endpoint, parseErrorBody(text, type, secrets).detail))
    return failed(errorOfAnswer('broken-answer', endpoint, `JSON cut off after ${body.length} bytes`))
  }
}

/** Follows only a move within the same origin, because no other host, port or scheme may get the token. */
function judgeMove(to: URL, from: URL, endpoint: string): Judgement {
  if (to.origin !== from.origin) return failed(errorOfForeignHost(endpoint, 'redirect', to.origin))
  if (to.search === '') to.search = from.search
  return { means: 'moved', to }
}

function failed(error: PlatformError): Judgement {
  return { means: 'error', error }
}
