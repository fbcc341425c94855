// Reads a report in JSON whole: one document, or several in a row, because the platform joins the files of one report.
//
// `JSON.parse` of 16 MiB blocks the event loop for some 100 ms. The code of a scanner that read the same text in turns was five times as long as the rest
// of these readers.
import PQueue from 'p-queue'
import { begun, joined, textOf } from './unpack.ts'
import { ReportFault } from './report-fault.ts'

/** Maximum number of bytes after unpacking: what is parsed takes several times as much memory. */
export const maxJsonBytes = 16 * 1024 * 1024
/** Maximum number of documents in one report, because finding the end of each costs an exception. */
const maxDocuments = 1_000

/** Maximum number of values: 16 MiB of `[],` would take 600 MB of memory. */
const maxValues = 1_500_000

/** Number of bytes of a report that are downloaded before it waits for its turn. */
const bytesBeforeTurn = 1024 * 1024

/** The process reads one report at a time, for the sake of memory. One that is still being downloaded has a queue of its own, because it may be slow. */
const turns = { downloaded: new PQueue({ concurrency: 1 }), arriving: new PQueue({ concurrency: 1 }) }

/** Throws a ReportFault; errors of the source are passed on. */
export async function readDocuments(
  source: AsyncIterable<Uint8Array>,
  caps: { readonly packed: number; readonly unpacked: number },
): Promise<unknown[]> {
  const { head, rest } = await begun(source, bytesBeforeTurn)
  const queue = head.length < bytesBeforeTurn ? turns.downloaded : turns.arriving
  try {
    return await queue.add(async () => readInTurn(joined(head, rest), caps))
  } finally {
    // A report that is refused by its first bytes leaves the rest unread: this closes the connection.
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

/** Throws a ReportFault if the text is not JSON. */
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

/** The maximum number of values that the text may have. Characters within strings do not count, because descriptions have many commas. */
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

/** The end of the first document in a text that has several. */
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

/** The object; empty for anything else. */
export function objectOf(value: unknown): Wire {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Wire) : {}
}

/** The list; empty for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}
