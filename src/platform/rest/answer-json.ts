// Parses the body of an answer as JSON. A large one takes several turns of the event loop, because `JSON.parse` of half a million
// keys takes 280 ms.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createJsonValues } from '../reports/json-values.ts'
import { ReportFault } from '../reports/report-fault.ts'
import { bytesPerTurn } from '../reports/unpack.ts'
import { reportCaps } from '../reports/caps.ts'

/** Smaller bodies are parsed at once, in 15 ms at most, which is quicker. */
const largeBody = 256 * 1024

/** With or without a byte order mark. Rejects if the body is no JSON. */
export async function jsonOf(body: Uint8Array): Promise<unknown> {
  const decoder = new TextDecoder()
  if (body.length < largeBody) return JSON.parse(decoder.decode(body))
  const found: unknown[] = []
  const values = createJsonValues({
    ...{ path: [], maxDepth: reportCaps.depth, maxValues: Infinity },
    onValue: value => found.push(value),
  })
  for (let from = 0; from < body.length; from += bytesPerTurn) {
    await nextTurn()
    values.write(decoder.decode(body.subarray(from, from + bytesPerTurn), { stream: true }))
  }
  values.end()
  if (found.length !== 1) throw new ReportFault('malformed', 'The answer is no JSON.')
  return found[0]
}
