// Turns the kept lines of a job's log into lines for export: redacted, each with a time, in groups that each fit one request. Redacting a megabyte
// takes long, so the event loop gets its turns meanwhile.
import { inTurns, type RedactText } from '../text-redaction.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { KeptLine } from './line-ring.ts'
import type { KeptLines } from './kept-lines.ts'
import type { LogLine, Section } from '../../model/inside.ts'

export interface KeptLog {
  readonly job: Pick<JobSnapshot, 'start' | 'end'>
  readonly lines: KeptLines
  readonly sections: readonly Section[]
  /** The sections that are exported as spans. A line outside of them belongs to the job's span. */
  readonly exported: readonly Section[]
  readonly redactText: RedactText
  /** The maximum number of bytes that were read, and whether the whole log was read. */
  readonly readMax: number
  readonly isWhole: boolean
}

/** Maximum length of a line's text, bytes. */
const maxBody = 16 * 1024
/** Maximum number of bytes in one group, so that backends with a limit of 1 MB accept it. */
const maxBytes = 512 * 1024
/** Estimated number of bytes of a record in addition to its text. */
const bytesOfRecord = 300

/** The lines in groups that each fit one request. */
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
  job,
  lines,
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
  let last = { number: 0, at: job.start }
  let stamped: number | undefined

  const exportedLine = async ({ number, at, stream, place, index, text }: KeptLine): Promise<LogLine> => {
    const section = place?.ordinal === undefined ? undefined : byOrdinal.get(place.ordinal)
    const { start, end } = section ?? job
    const share = (index + 1) / (lines.linesIn(place?.ordinal) + 1)
    // A line without a timestamp gets that of the line before. If no line before has one, the time is interpolated within the section.
    const time = at ?? stamped ?? Math.round(start + (end - start) * share)
    stamped = at ?? stamped
    last = { number, at: time }
    return {
      ...{ number, at: time, text: inBytes(await clean(text), maxBody) },
      ...(at === undefined && { estimated: true }),
      ...(stream !== undefined && { stream }),
      ...(section !== undefined && spans.has(section.ordinal) && { section: section.ordinal }),
      ...(place !== undefined && { sectionName: await cleanName(place.name) }),
      ...(text.startsWith('ERROR: Job failed') && { isError: true }),
    }
  }
  const cleanName = async (name: string): Promise<string> => {
    const shown = cleanNames.get(name) ?? (await clean(name))
    cleanNames.set(name, shown)
    return shown
  }
  const note = (number: number, text: string): LogLine => ({ number, at: last.at, estimated: true, text })

  for (const line of lines.head) yield await exportedLine(line)
  const { missing } = lines
  if (missing !== undefined) {
    yield note(missing.number, `[${missing.lines} lines of the log are left out here: ${missing.bytes} bytes]`)
  }
  for (const line of lines.tail) yield await exportedLine(line)
  if (!isWhole) yield note(last.number + 1, `[the log is longer: only ${readMax} bytes of it are read]`)
}

/** Cuts a text to a number of bytes of UTF-8, never within a character. */
function inBytes(text: string, max: number): string {
  if (text.length * 3 <= max || Buffer.byteLength(text) <= max) return text
  const bytes = Buffer.from(text)
  let end = max
  // A byte of the form 10xxxxxx continues a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}
