// Reads a whole JSON report into memory. A report consists of one or more concatenated documents, because the platform concatenates the files of one
// report.
//
// `JSON.parse` blocks the event loop for about 100 ms on 16 MiB of text. A scanner that yields to the event loop was tried, but its code was five
// times as long as all the other code that reads JSON reports.
import PQueue from 'p-queue'
import { begun, joined, textOf } from './unpack.ts'
import { ReportFault } from './report-fault.ts'

/** Maximum size of a JSON report after decompression, bytes. Parsed JSON takes several times as much memory as its text. */
export const maxJsonBytes = 16 * 1024 * 1024
/** Maximum number of documents in one JSON report. The limit exists because an exception has to be thrown to find the end of each document. */
const maxDocuments = 1_000

/** Maximum number of JSON values in a report. Without this limit, 16 MiB of `[],` would take 600 MB of memory. */
const maxValues = 1_500_000

/** Number of bytes of a report that are downloaded before the report is queued for parsing. */
const bytesBeforeTurn = 1024 * 1024

/**
 * To limit memory, the process reads one report at a time. Reports that are still being downloaded have a separate queue, so that a slow download
 * does not hold up the others.
 */
const turns = { downloaded: new PQueue({ concurrency: 1 }), arriving: new PQueue({ concurrency: 1 }) }

/** Reads the JSON documents of a report. Throws a ReportFault if the report cannot be read. Errors from the source are rethrown. */
export async function readDocuments(
  source: AsyncIterable<Uint8Array>,
  caps: { readonly packed: number; readonly unpacked: number },
): Promise<unknown[]> {
  const { head, rest } = await begun(source, bytesBeforeTurn)
  const queue = head.length < bytesBeforeTurn ? turns.downloaded : turns.arriving
  try {
    return await queue.add(async () => readInTurn(joined(head, rest), caps))
  } finally {
    // If a report is rejected because of its first bytes, the rest is not read. Ending the iterator closes the connection.
    await rest[Symbol.asyncIterator]().return?.()
  }
}

async function readInTurn(
  source: AsyncIterable<Uint8Array>,
  caps: { readonly packed: number; readonly unpacked: number },
): Promise<unknown[]> {
  const windows: string[] = []
  for await (const window of textOf(source, { ...caps, unpacked: Math.min(caps.unpacked, maxJsonBytes) })) {
    windows.push(window)
  }
  return documentsOf(windows.join(''))
}

/** Parses text that consists of one or more JSON documents. Throws a ReportFault if the text is not JSON. */
export function documentsOf(text: string): unknown[] {
  if (valuesIn(text) > maxValues) {
    throw new ReportFault('too_many', `The report has more than ${maxValues} objects, lists and values.`)
  }
  const documents: unknown[] = []
  for (let rest = text.trim(); rest !== '' || documents.length === 0;) {
    if (documents.length >= maxDocuments) {
      throw new ReportFault('too_many', `The report has more than ${maxDocuments} documents.`)
    }
    try {
      documents.push(JSON.parse(rest))
      rest = ''
    } catch (error) {
      const end = endOfFirst(rest, error)
      documents.push(JSON.parse(rest.slice(0, end)))
      rest = rest.slice(end).trimStart()
    }
  }
  return documents
}

/**
 * Returns an upper bound for the number of JSON values in the text. Characters inside strings are not counted, because descriptions contain many
 * commas.
 */
function valuesIn(text: string): number {
  let values = 0
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) isInString = !isInString
    else if (isInString) at += code === backslash ? 1 : 0
    else if (code === comma || code === bracket || code === brace) values += 1
  }
  return values
}

const [quote, backslash, comma, bracket, brace] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b]

/** Returns the position at which the first document ends. Undefined if the text does not contain several documents. */
function endOfFirst(text: string, error: unknown): number {
  const message = error instanceof SyntaxError ? error.message : ''
  const position = Number(/ at position (\d+)/.exec(message)?.[1] ?? NaN)
  if (message.startsWith('Unexpected non-whitespace character after JSON')) return position
  if (!/^[{[]/.test(text)) throw new ReportFault('not_json', 'The report is not JSON.')
  if (position >= text.length || /end of JSON|Unterminated/.test(message)) {
    throw new ReportFault('truncated', 'The report ends too early.')
  }
  throw new ReportFault('malformed', 'The report is not JSON.')
}

type Wire = Readonly<Record<string, unknown>>

/** Returns the value if it is an object, and an empty object otherwise. */
export function objectOf(value: unknown): Wire {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Wire) : {}
}

/** Returns the value if it is a list, and an empty list otherwise. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}
