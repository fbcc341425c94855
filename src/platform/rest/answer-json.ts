// Parses the body of an answer as JSON. A large body is parsed in several turns of the event loop, because `JSON.parse` takes 280 ms for half a
// million keys.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createJsonValues } from '../reports/json-values.ts'
import { ReportFault } from '../reports/report-fault.ts'
import { bytesPerTurn } from '../reports/unpack.ts'
import { reportCaps } from '../reports/caps.ts'

/** Smaller bodies, in bytes, are parsed by `JSON.parse`, which is faster and takes at most 15 ms for them. */
const largeBody = 256 * 1024

/** The JSON of a body, which may begin with a byte order mark. Rejects if the body is not JSON. */
export async function jsonOf(body: Uint8Array): Promise<unknown> {
  const decoder = new TextDecoder()
  if (body.length < largeBody) return JSON.parse(decoder.decode(body))
  const documents: unknown[] = []
  const values = createJsonValues({
    ...{ path: [], maxDepth: reportCaps.depth, maxValues: Infinity },
    onValue: value => documents.push(value),
  })
  for (let from = 0; from < body.length; from += bytesPerTurn) {
    await nextTurn()
    values.write(decoder.decode(body.subarray(from, from + bytesPerTurn), { stream: true }))
  }
  values.end()
  if (documents.length !== 1) throw new ReportFault('malformed', 'The answer is not JSON.')
  return documents[0]
}
