// Tests whether the OTLP endpoint accepts a token by sending an empty export with it.
import type { Dispatcher } from 'undici'
import type { Secret } from '../../lib/secret.ts'
import { isGrpc, isOtlpGrpc, isWebPage } from '../../lib/wrong-service.ts'
import { isSendable, send } from './request.ts'

export interface ProofOptions {
  /** The full URL of the OTLP endpoint, such as `https://otel.example:4318/v1/traces`. */
  readonly url: string
  /** Additional headers that the daemon also sends with its exports. */
  readonly headers?: Readonly<Record<string, string>>
  readonly dispatcher?: Dispatcher | undefined
  readonly timeoutMs: number
}

export type Proof =
  | { readonly kind: 'accepted' }
  /** The endpoint responded with 401 or 403: it rejects this token. */
  | { readonly kind: 'refused'; readonly status: number }
  /** The endpoint did not respond, or its response does not show whether it accepts the token. */
  | { readonly kind: 'unclear'; readonly reason: string }

/** Tests whether the endpoint accepts a token. Without a token, it tests whether the endpoint accepts exports without one. */
export type Prove = (token: Secret | undefined) => Promise<Proof>

/**
 * Tests a token with an empty ExportTraceServiceRequest, which is 0 bytes long (OTLP, "Binary Protobuf Encoding"; proto3 omits empty fields). The
 * endpoint must respond to an empty request with success (OTLP, "Full Success").
 */
export function createProver({ url, headers = {}, dispatcher, timeoutMs }: ProofOptions): Prove {
  return async token => {
    const value = token?.reveal()
    if (value !== undefined && !isSendable(value)) {
      return { kind: 'unclear', reason: 'the token has characters that are invalid in an HTTP header' }
    }
    const answer = await send({
      method: 'POST',
      url: new URL(url),
      headers: {
        ...lowered(headers),
        'content-type': 'application/x-protobuf',
        ...(value === undefined ? {} : { authorization: `Bearer ${value}` }),
      },
      body: new Uint8Array(0),
      timeoutMs,
      dispatcher,
    })
    if (answer.kind === 'failed') return { kind: 'unclear', reason: answer.reason }
    const { status } = answer
    if (isGrpc(answer.contentType)) return { kind: 'unclear', reason: isOtlpGrpc }
    if (status >= 200 && status < 300) {
      const isPage = isWebPage(Buffer.from(answer.text), answer.contentType)
      return isPage
        ? { kind: 'unclear', reason: 'a web page answered instead of an OTLP receiver' }
        : { kind: 'accepted' }
    }
    if (status === 401 || status === 403) return { kind: 'refused', status }
    return { kind: 'unclear', reason: `the endpoint responded with ${status}` }
  }
}

/** Returns the headers with lower-case names, so that the token's header replaces a configured one instead of being sent alongside it. */
function lowered(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
