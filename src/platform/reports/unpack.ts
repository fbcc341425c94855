// Decompresses and decodes an artifact as a stream, within its size limits. It yields to the event loop between two chunks of text.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { ReportFault } from './report-fault.ts'
import type { ReportCaps } from './report-fault.ts'

type Bytes = AsyncIterable<Uint8Array>

/** Number of bytes at the start of a file that are searched for a byte order mark and an XML encoding declaration. */
const headBytes = 256

/** Number of bytes that are read in one turn of the event loop. Metric samples are the slowest content; they take 13 ms for this many bytes. */
export const bytesPerTurn = 8 * 1024

/**
 * Yields the text of an artifact, which is plain text or a gzip with one or more members. `isText` detects plain text by its first bytes; by default
 * it accepts XML and JSON. Throws a ReportFault if the artifact cannot be read. Errors from the source are rethrown.
 */
export async function* textOf(
  source: Bytes,
  caps: Pick<ReportCaps, 'packed' | 'unpacked'>,
  isText: (head: Uint8Array) => boolean = looksLikeMarkup,
): AsyncGenerator<string, void> {
  const bytes = atMost(unpacked(atMost(source, caps.packed, 'packed'), isText), caps.unpacked, 'unpacked')
  const { head, rest } = await begun(bytes, headBytes)
  const decoder = new TextDecoder(encodingOf(head))
  for await (const chunk of joined(head, rest)) {
    for (let from = 0; from < chunk.length; from += bytesPerTurn) {
      await nextTurn()
      yield decoder.decode(chunk.subarray(from, from + bytesPerTurn), { stream: true })
    }
  }
  yield decoder.decode()
}

async function* unpacked(source: Bytes, isText: (head: Uint8Array) => boolean): Bytes {
  const { head, rest } = await begun(source, 4)
  const all = joined(head, rest)
  if (head.length === 0) throw new ReportFault('empty', 'The report is empty.')
  if (Buffer.from(head).toString('latin1', 0, 2) === 'PK') {
    throw new ReportFault('archive', 'The platform responded with the archive of all artifacts instead of the report.')
  }
  if (!(head[0] === 0x1f && head[1] === 0x8b)) {
    if (!isText(head)) throw new ReportFault('not_gzip', 'The report is not a gzip file.')
    yield* all
    return
  }
  yield* gunzipped(all)
}

/** Number of compressed bytes that are decompressed at a time. It is small because the output may be a thousand times as large. */
const windowBytes = 8 * 1024

/**
 * Yields everything that can be decompressed before it throws an error. A Node.js pipe would drop data that had not been read when the error
 * occurred.
 */
async function* gunzipped(source: Bytes): Bytes {
  const gunzip = createGunzip()
  const ready: Uint8Array[] = []
  const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<unknown>()
  gunzip.on('data', (chunk: Uint8Array) => ready.push(chunk))
  gunzip.on('end', () => end(undefined))
  gunzip.on('error', fail)
  ended.catch(() => undefined)
  try {
    for await (const window of inWindows(source)) {
      // After an error the `write` callback may never be called, so the code also waits for `ended`.
      await Promise.race([ended, new Promise<void>(resolve => gunzip.write(window, () => resolve()))])
      yield* ready.splice(0)
    }
    gunzip.end()
    await ended
  } catch (error) {
    yield* ready.splice(0)
    throw ofZlib(error) ?? error
  } finally {
    gunzip.destroy()
  }
  yield* ready
}

/** Splits the bytes into pieces of equal size, so that a corrupt file always yields the same bytes, however its bytes are chunked on arrival. */
async function* inWindows(source: Bytes): Bytes {
  let pending: Uint8Array = new Uint8Array(0)
  for await (const chunk of source) {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    let from = 0
    for (; pending.length - from >= windowBytes; from += windowBytes) yield pending.subarray(from, from + windowBytes)
    pending = pending.subarray(from)
  }
  if (pending.length > 0) yield pending
}

function ofZlib(error: unknown): ReportFault | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'Z_BUF_ERROR') return new ReportFault('truncated', 'The gzip ends too early.')
  return typeof code === 'string' && code.startsWith('Z_')
    ? new ReportFault('damaged', 'The gzip is damaged.')
    : undefined
}

async function* atMost(source: Bytes, limit: number, what: string): Bytes {
  let bytes = 0
  for await (const chunk of source) {
    const left = limit - bytes
    bytes += chunk.length
    if (bytes <= limit) yield chunk
    else {
      // The text is truncated at the exact byte, so that the result does not depend on how the bytes are chunked on arrival.
      if (left > 0) yield chunk.subarray(0, left)
      throw new ReportFault('too_large', `The report has more than ${limit} bytes ${what}.`)
    }
  }
}

/** Splits the source into its first bytes and the rest. If the source fails after some bytes, the error is thrown when the rest is read. */
export async function begun(source: Bytes, bytes: number): Promise<{ head: Uint8Array; rest: Bytes }> {
  const iterator = source[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let length = 0
  while (length < bytes) {
    const next = await iterator.next().catch((error: unknown) => {
      // If some bytes arrived before the error, they are returned first, and the error is thrown when the rest is read.
      if (length === 0) throw error
      return { failed: error }
    })
    if ('failed' in next) return { head: Buffer.concat(chunks), rest: failing(next.failed) }
    if (next.done === true) break
    chunks.push(next.value)
    length += next.value.length
  }
  return { head: Buffer.concat(chunks), rest: { [Symbol.asyncIterator]: () => iterator } }
}

async function* failing(error: unknown): Bytes {
  throw error
}

export async function* joined(head: Uint8Array, rest: Bytes): Bytes {
  if (head.length > 0) yield head
  yield* rest
}

/** True if the file begins with a byte order mark, white space, XML or JSON. */
function looksLikeMarkup(head: Uint8Array): boolean {
  const mark = Buffer.from(head).toString('hex', 0, 3)
  const first = head[0] ?? 0
  return mark === 'efbbbf' || /^(?:fffe|feff)/.test(mark) || '<{[ \t\r\n'.includes(String.fromCharCode(first))
}

/** True if the bytes contain no control characters other than white space. */
export function looksLikePlainText(head: Uint8Array): boolean {
  return head.every(byte => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d)
}

/** Returns the encoding that the byte order mark indicates, or else the one in the XML declaration, or else UTF-8. */
function encodingOf(head: Uint8Array): string {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be'
  const text = Buffer.from(head).toString('latin1')
  const declared = /^\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/.exec(text)?.[1]
  // If an XML declaration can be read as Latin-1, the text is not UTF-16, whatever the declaration claims.
  if (declared === undefined || /^utf-?16/i.test(declared)) return 'utf-8'
  try {
    return new TextDecoder(declared).encoding
  } catch {
    return 'utf-8'
  }
}
