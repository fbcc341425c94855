// What an answer holds: its JSON, and in its headers the platform's rate limit (`RateLimit-Remaining`, `RateLimit-Reset`, `Retry-After`) and clock
// (`Date`).
import { httpDate, retryAfter } from '../../lib/retry-after.ts'
import { knownOf } from '../../model/versioned.ts'
import type { Millis } from '../../model/instant.ts'
import { errorOfAnswer, errorOfNoApi, maxErrorBytes, parseErrorBody } from './errors.ts'
import type { BudgetFacts } from '../port/budget.ts'
import type { Streamed } from './http.ts'

type Headers = Readonly<Record<string, string>>

/** Smaller values of `RateLimit-Reset` are seconds from now, as in the IETF draft. Larger ones are Unix times. */
const minUnixTime = 1_000_000_000

/**
 * True if a 429 comes from the rate limit of one endpoint: such an answer is JSON and lacks the headers of the general rate limit. `keys`: the keys
 * of the answer's JSON body.
 */
export function isOfEndpoint(status: number | undefined, headers: Headers, keys: readonly string[]): boolean {
  const hasGeneralLimit = Object.keys(headers).some(name => name.startsWith('ratelimit-'))
  return status === 429 && !hasGeneralLimit && (keys.includes('message') || keys.includes('error'))
}

/**
 * The rate limit as durations. `RateLimit-Reset` is a Unix time on the platform's clock, so it is compared with the answer's own `Date`. After a
 * 429 the pause is at least `minPause` ms.
 */
export function budgetFactsOf(status: number, headers: Headers, now: Millis, minPause: number): BudgetFacts {
  const platformNow = servedAt(headers) ?? now
  const remaining = count(headers['ratelimit-remaining'])
  const resetIn = untilReset(count(headers['ratelimit-reset']), platformNow)
  // A rate limit or an overload: in both cases `Retry-After` applies to all requests.
  const asked = status === 429 || status === 503 ? retryAfter(headers['retry-after'], platformNow) : undefined
  const pause = status === 429 ? Math.max(minPause, asked ?? resetIn ?? 0) : asked
  return knownOf({ remaining, resetIn, pause })
}

/** The time on the platform's clock when it answered. */
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

/** How far the platform's clock is ahead of ours. */
export interface ClockOffset {
  /** ms, negative if the platform's clock is behind ours; undefined until the platform has answered with its time. */
  readonly current: () => number | undefined
  /** `servedAt`: the answer's `Date`, on the platform's clock. `sentAt` and `receivedAt`: of the request and its answer, on ours. */
  readonly observe: (servedAt: Millis | undefined, sentAt: Millis, receivedAt: Millis) => void
}

/**
 * `Date` has whole seconds, and the platform wrote it between `sentAt` and `receivedAt`. So each answer proves an interval of offsets. The
 * offset moves only if it is outside the interval, and then by as little as possible: clocks that agree have the offset 0, and elapsed times
 * do not jitter with the latency of answers.
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

/** Reads the body as JSON, which may begin with a byte order mark. `secrets`: texts that must not appear in errors. Rejects with a PlatformError. */
export async function jsonOf(answer: Streamed, maxBytes: number, secrets: readonly string[]): Promise<unknown> {
  const { status, headers, endpoint } = answer
  const whole = await bounded(answer, maxBytes)
  // The platform has accepted the request and has no result yet.
  if (status === 202 && whole.length === 0) return null
  try {
    return JSON.parse(new TextDecoder().decode(whole))
  } catch {
    // The parser's message is not used, because it quotes the body. A body that does not begin like JSON was not cut off: it comes from a proxy,
    // whatever its content type.
    const type = headers['content-type']
    const text = whole.toString('utf8', 0, maxErrorBytes)
    const isJson = /\bjson\b/i.test(type ?? '') && /^\s*([[{"]|$)/.test(text)
    if (!isJson) throw errorOfNoApi(status, endpoint, parseErrorBody({ text, type, secrets }).detail)
    throw errorOfAnswer('broken-answer', endpoint, `JSON cut off after ${whole.length} bytes`)
  }
}

/**
 * Maximum number of JSON values, because each may take a hundred bytes when it is parsed, however short it is. A page of a hundred items has
 * about ten thousand.
 */
const maxValues = 500_000
const [comma, openList, openObject] = [0x2c, 0x5b, 0x7b]

/** Reads a whole body. Values are counted by their first characters; those within strings count, too. */
export async function bounded({ body, endpoint }: Streamed, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  let values = 0
  for await (const chunk of body) {
    bytes += chunk.length
    for (const byte of chunk) if (byte === comma || byte === openList || byte === openObject) values += 1
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) throw errorOfAnswer('too-large', endpoint, `more than ${maxBytes} bytes`)
    if (values > maxValues) throw errorOfAnswer('too-large', endpoint, `more than ${maxValues} values`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
