// Prepares the kept lines of a job's log for export. They are redacted, given a time, and grouped so that each group fits into one request. Redacting
// a megabyte takes long, so this is done over several turns of the event loop.
import { inTurns, type RedactText } from '../../lib/text-redaction.ts'
import type { KeptLine, KeptLines } from './kept-lines.ts'
import type { LogLine, Section } from '../../model/inside.ts'
import type { Millis } from '../../model/instant.ts'

export interface KeptLog {
  readonly lines: KeptLines
  readonly timesOf: (stretch: number) => { readonly start: Millis; readonly end: Millis }
  readonly sections: readonly Section[]
  /** The sections that are exported as spans. A line outside of them belongs to the job's span. */
  readonly exported: readonly Section[]
  readonly redactText: RedactText
  /** The maximum number of log bytes that are read. `isWhole`: whether the whole log was read. */
  readonly readMax: number
  readonly isWhole: boolean
}

/** Maximum length of a line's text, bytes. */
const maxBody = 16 * 1024
/** Maximum size of a group of lines, bytes. Backends with a request limit of 1 MB accept groups of this size. */
const maxBytes = 512 * 1024
/** Estimated size of a log record without its text, bytes. */
const bytesOfRecord = 300

/** The lines to export, in groups that each fit into one request. */
export async function logLines(log: KeptLog): Promise<LogLine[][]> {
  const groups: LogLine[][] = []
  let bytes = Infinity
  for await (const line of linesOf(log)) {
    const size = bytesOfRecord + Buffer.byteLength(line.text)
    bytes += size
    if (bytes > maxBytes) {
      groups.push([])
      bytes = size
    }
    groups.at(-1)?.push(line)
  }
  return groups
}

async function* linesOf({
  lines,
  timesOf,
  sections,
  exported,
  redactText,
  readMax,
  isWhole,
}: KeptLog): AsyncGenerator<LogLine, void> {
  const clean = inTurns(redactText)
  const cleanNames = new Map<string, string>()
  const spans = new Set(exported.map(({ ordinal }) => ordinal))
  const byOrdinal = new Map(sections.map(section => [section.ordinal, section]))
  const { head, tail, missing } = lines
  let last = { number: 0, at: (head[0] ?? tail[0])?.at ?? timesOf(0).start }

  const exportedLine = async (line: KeptLine): Promise<LogLine> => {
    const { number, stream, place, text } = line
    const section = place?.ordinal === undefined ? undefined : byOrdinal.get(place.ordinal)
    // A line's time is never earlier than the preceding line's, because a clock may be set back and streams may be written out of order.
    const time = Math.max(last.at, line.at ?? estimate(line))
    const isStamped = stream !== undefined && time === line.at
    const shown = inBytes(await clean(text), maxBody)
    last = { number, at: time }
    return {
      ...{ number, at: time, text: shown },
      ...(!isStamped && { estimated: true }),
      ...(stream !== undefined && { stream }),
      ...(section !== undefined && spans.has(section.ordinal) && { section: section.ordinal }),
      ...(place !== undefined && { sectionName: await cleanName(place.name) }),
      ...(shown.startsWith('ERROR: Job failed') && { isError: true }),
    }
  }
  /** If a log has no timestamps, the lines of a stretch are assumed to be evenly spaced in time. */
  const estimate = ({ stretch, index }: KeptLine): Millis => {
    const { start, end } = timesOf(stretch)
    return Math.round(start + ((end - start) * (index + 1)) / (lines.linesIn(stretch) + 1))
  }
  const cleanName = async (name: string): Promise<string> => {
    const shown = cleanNames.get(name) ?? (await clean(name))
    cleanNames.set(name, shown)
    return shown
  }
  const note = (number: number, text: string): LogLine => {
    last = { number, at: last.at }
    return { ...last, estimated: true, text }
  }

  for (const line of head) yield await exportedLine(line)
  if (missing !== undefined) {
    const lines = missing.lines === 1 ? '1 line of the log is' : `${missing.lines} lines of the log are`
    yield note(missing.number, `[${lines} left out here: ${missing.bytes} bytes]`)
  }
  for (const line of tail) yield await exportedLine(line)
  if (!isWhole) yield note(last.number + 1, `[the log is longer: only ${readMax} bytes of it are read]`)
}

/** Truncates a string to a maximum number of UTF-8 bytes, never within a character. */
function inBytes(text: string, max: number): string {
  if (text.length * 3 <= max || Buffer.byteLength(text) <= max) return text
  const bytes = Buffer.from(text)
  let end = max
  // In UTF-8, a byte of the form 10xxxxxx continues a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}
