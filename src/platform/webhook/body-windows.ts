// Scans the bytes of a large body window by window, so that other work of the event loop gets its turn in between.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createJsonScan, type JsonSink } from '../json-scan.ts'

/** Bytes that are scanned at a time, and parsed: within 3 ms. */
export const windowBytes = 64 * 1024
/** How long one turn may last, ms. */
const turnMs = 10

/** Without a byte order mark. */
export function bytesOf(body: Uint8Array): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return bytes.toString('hex', 0, 3) === 'efbbbf' ? bytes.subarray(3) : bytes
}

/** All positions are in bytes. `between` is called after each window. Rejects with a ReportFault if the bytes are not JSON, even if they are not UTF-8. */
export async function scanInTurns(
  bytes: Buffer,
  sink: JsonSink,
  between?: () => Promise<void>,
  size = windowBytes,
): Promise<void> {
  const scan = createJsonScan(sink, { maxDepth: bytes.length })
  let until = performance.now() + turnMs
  for (let from = 0; from < bytes.length; from += size) {
    // A character for each byte: all that JSON itself consists of is ASCII.
    scan.write(bytes.toString('latin1', from, from + size))
    await between?.()
    if (performance.now() < until) continue
    await nextTurn()
    until = performance.now() + turnMs
  }
  scan.end()
}
