// Reads a response from the platform: its JSON body and, from its headers, the rate limit (`RateLimit-Remaining`, `RateLimit-Reset`, `Retry-After`)
// and the platform's clock (`Date`).
import { httpDate, retryAfter } from '../../lib/retry-after.ts'
import { knownOf } from '../../model/versioned.ts'
import type { Millis } from '../../model/instant.ts'
import { errorOfAnswer, errorOfNoApi, maxErrorBytes, parseErrorBody } from './errors.ts'
import type { BudgetFacts } from '../port/budget.ts'
import type { Streamed } from './http.ts'

type Headers = Readonly<Record<string, string>>

/** Smallest value of `RateLimit-Reset` that is taken as a Unix time. Smaller values are seconds from now, as in the IETF draft. */
const minUnixTime = 1_000_000_000

/**
 * True if a 429 response comes from the rate limit of a single endpoint. Such a response is JSON and lacks the general rate limit headers. `keys`:
 * the keys of the response's JSON body.
 */
export function isOfEndpoint(status: number | undefined, headers: Headers, keys: readonly string[]): boolean {
  const hasGeneralLimit = Object.keys(headers).some(name => name.startsWith('ratelimit-'))
  return status === 429 && !hasGeneralLimit && (keys.includes('message') || keys.includes('error'))
}

/**
 * Returns the rate limit of a response as durations. `RateLimit-Reset` is a Unix time on the platform's clock, so it is compared with the `Date` of
 * the same response. After a 429, the pause is at least `minPause` ms.
 */
export function budgetFactsOf(status: number, headers: Headers, now: Millis, minPause: number): BudgetFacts {
  const platformNow = servedAt(headers) ?? now
  const remaining = count(headers['ratelimit-remaining'])
  const resetIn = untilReset(count(headers['ratelimit-reset']), platformNow)
  // If the response signals a rate limit or an overload, its `Retry-After` applies to all requests.
  const asked = status === 429 || status === 503 ? retryAfter(headers['retry-after'], platformNow) : undefined
  const pause = status === 429 ? Math.max(minPause, asked ?? resetIn ?? 0) : asked
  return knownOf({ remaining, resetIn, pause })
}

/** Returns the time, on the platform's clock, at which the platform sent the response. */
export function servedAt(headers: Headers): Millis | undefined {
  return httpDate(headers.date)
}

function untilReset(reset: number | undefined, platformNow: Millis): number | undefined {
  if (reset === undefined) return undefined
  return Math.max(0, reset < minUnixTime ? reset * 1000 : reset * 1000 - platformNow)
}

function count(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,15}$/.test(header.trim()) ? Number(header) : undefined
}

/** Tracks how far the platform's clock is ahead of ours. */
export interface ClockOffset {
  /**
   * Returns the clock offset in ms. It is negative if the platform's clock is behind ours, and undefined until a response contains the platform's
   * time.
   */
  readonly current: () => number | undefined
  /**
   * Updates the clock offset from one response. `servedAt`: the `Date` of the response, on the platform's clock. `sentAt` and `receivedAt`: the times
   * of the request and its response, on our clock.
   */
  readonly observe: (servedAt: Millis | undefined, sentAt: Millis, receivedAt: Millis) => void
}

/**
 * Estimates the clock offset from the `Date` headers of responses. `Date` has whole seconds, and the platform wrote it between `sentAt` and
 * `receivedAt`, so each response narrows the offset to an interval. The estimate changes only if it falls outside that interval, and then by as
 * little as possible. Therefore the offset is 0 if the clocks agree, and elapsed times do not jitter with response latency.
 */
export function createClockOffset(): ClockOffset {
  let offset: number | undefined
  return {
    current: () => offset,
    observe: (servedAt, sentAt, receivedAt) => {
      if (servedAt === undefined) return
      const [min, max] = [servedAt - receivedAt, servedAt + 999 - sentAt]
      offset = Math.min(Math.max(offset ?? 0, min), Math.max(min, max))
    },
  }
}

/**
 * Reads the body as JSON. The body may begin with a byte order mark. `secrets`: strings that must not appear in errors. Rejects with a PlatformError.
 */
export async function jsonOf(answer: Streamed, maxBytes: number, secrets: readonly string[]): Promise<unknown> {
  const { status, headers, endpoint } = answer
  const whole = await bounded(answer, maxBytes)
  // A 202 without a body means that the platform has accepted the request but has no result yet.
  if (status === 202 && whole.length === 0) return null
  try {
    return JSON.parse(new TextDecoder().decode(whole))
  } catch {
    // The JSON parser's message is not used, because it quotes the body. A body that does not even begin like JSON was not truncated; it comes from a
    // proxy, whatever its content type.
    const type = headers['content-type']
    const text = whole.toString('utf8', 0, maxErrorBytes)
    const isJson = /\bjson\b/i.test(type ?? '') && /^\s*([[{"]|$)/.test(text)
    if (!isJson) throw errorOfNoApi(status, endpoint, parseErrorBody({ text, type, secrets }).detail)
    throw errorOfAnswer('broken-answer', endpoint, `JSON cut off after ${whole.length} bytes`)
  }
}

/**
 * Maximum number of JSON values in a response. Once parsed, a value may take a hundred bytes, however short its text is. A page of a hundred items
 * has about ten thousand values.
 */
const maxValues = 500_000
const [comma, openList, openObject] = [0x2c, 0x5b, 0x7b]

/**
 * Reads a whole response body within the limits. JSON values are counted by their first characters, including occurrences of these characters inside
 * strings.
 */
export async function bounded({ body, endpoint }: Streamed, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  let values = 0
  for await (const chunk of body) {
    bytes += chunk.length
    for (const byte of chunk) if (byte === comma || byte === openList || byte === openObject) values += 1
    // Throwing an error exits the loop, which closes the connection.
    if (bytes > maxBytes) throw errorOfAnswer('too-large', endpoint, `more than ${maxBytes} bytes`)
    if (values > maxValues) throw errorOfAnswer('too-large', endpoint, `more than ${maxValues} values`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
