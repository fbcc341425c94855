// Reads the body of an answer as JSON. A large body is parsed in several turns of the event loop, because `JSON.parse` takes 280 ms for half a
// million keys.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createJsonValues } from '../reports/json-values.ts'
import { errorOfAnswer, errorOfNoApi } from './error-messages.ts'
import { maxErrorBytes, parseErrorBody } from './error-body.ts'
import { ReportFault } from '../reports/report-fault.ts'
import { bytesPerTurn } from '../reports/unpack.ts'
import { reportCaps } from '../reports/caps.ts'
import type { Streamed } from './stream.ts'

/** Smaller bodies, in bytes, are parsed by `JSON.parse`, which is faster and takes at most 15 ms for them. */
const largeBody = 256 * 1024

/** `secrets`: texts that must not appear in errors. Rejects with a PlatformError. */
export async function readJson(
  { status, headers, body, endpoint }: Streamed,
  maxBytes: number,
  secrets: readonly string[],
): Promise<unknown> {
  const whole = await bounded(body, maxBytes)
  if ('detail' in whole) throw errorOfAnswer('too-large', endpoint, whole.detail)
  // The platform has accepted the request and has no result yet.
  if (status === 202 && whole.length === 0) return null
  try {
    return await jsonOf(whole)
  } catch {
    // The parser's message is not used, because it quotes the body. A body that does not begin like JSON was not cut off: it comes from a proxy,
    // whatever its content type.
    const type = headers['content-type']
    const text = whole.toString('utf8', 0, maxErrorBytes)
    const isJson = /\bjson\b/i.test(type ?? '') && /^\s*([[{"]|$)/.test(text)
    if (!isJson) throw errorOfNoApi(status, endpoint, parseErrorBody(text, type, secrets).detail)
    throw errorOfAnswer('broken-answer', endpoint, `JSON cut off after ${whole.length} bytes`)
  }
}

/** Reads a whole body. If the body exceeds a limit, `detail` of the answer names that limit. */
export async function bounded(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer | { readonly detail: string }> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  let values = 0
  for await (const chunk of body) {
    bytes += chunk.length
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) return { detail: `more than ${maxBytes} bytes` }
    values += valuesIn(chunk)
    if (values > maxValues) return { detail: `more than ${maxValues} values` }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * Maximum number of JSON values, because each may take a hundred bytes when it is parsed, however short it is. A page of a hundred items has
 * about ten thousand.
 */
const maxValues = 500_000
const [comma, openList, openObject] = [0x2c, 0x5b, 0x7b]

/** An upper bound for the number of JSON values. It is not exact, because characters within strings count, too. */
function valuesIn(chunk: Uint8Array): number {
  let values = 0
  for (const byte of chunk) if (byte === comma || byte === openList || byte === openObject) values += 1
  return values
}

/** The JSON of a body, which may begin with a byte order mark. Rejects if the body is not JSON. */
export async function jsonOf(body: Uint8Array): Promise<unknown> {
  const decoder = new TextDecoder()
  if (body.length < largeBody) return JSON.parse(decoder.decode(body))
  const documents: unknown[] = []
  const values = createJsonValues({
    ...{ maxDepth: reportCaps.depth, maxValues: Infinity },
    paths: [{ path: [], onValue: value => documents.push(value) }],
  })
  for (let from = 0; from < body.length; from += bytesPerTurn) {
    await nextTurn()
    values.write(decoder.decode(body.subarray(from, from + bytesPerTurn), { stream: true }))
  }
  values.end()
  if (documents.length !== 1) throw new ReportFault('malformed', 'The answer is not JSON.')
  return documents[0]
}
