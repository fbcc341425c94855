// The lines of a job's log that are kept, as they are exported: with a time each, redacted, and divided so that each chunk fits one
// request.
import { inBytes } from '../lib/in-bytes.ts'
import type { RedactText } from '../platform/text-redaction.ts'
import type { JobInside, LogLine, Section } from '../model/inside.ts'
import type { KeptLine } from '../platform/job-log/line-ring.ts'
import type { KeptLines } from '../platform/job-log/kept-lines.ts'

export interface KeptLog {
  readonly job: JobInside['job']
  readonly lines: KeptLines
  readonly sections: readonly Section[]
  /** Those that are spans: a line is of the span of one of these, else of the job's. */
  readonly exported: readonly Section[]
  readonly redactText: RedactText
  /** How much of the log was to be read, and whether that was all of it. */
  readonly readMax: number
  readonly isWhole: boolean
}

/** Of one line, bytes. */
const longestBody = 16 * 1024
/** Of one chunk, bytes of lines: a backend that takes a megabyte takes every chunk. */
const mostBytes = 512 * 1024
/** What a record costs besides its text. */
const bytesOfRecord = 300

export function lineInsides(log: KeptLog): JobInside[] {
  const groups: LogLine[][] = []
  let bytes = Infinity
  for (const line of linesOf(log)) {
    const size = bytesOfRecord + Buffer.byteLength(line.text)
    bytes += size
    if (bytes > mostBytes) {
      groups.push([])
      bytes = size
    }
    groups.at(-1)?.push(line)
  }
  return groups.map(lines => ({ job: log.job, lines }))
}

function* linesOf({ job, lines, sections, exported, redactText, readMax, isWhole }: KeptLog): Generator<LogLine> {
  const spans = new Set(exported.map(({ ordinal }) => ordinal))
  const byOrdinal = new Map(sections.map(section => [section.ordinal, section]))
  let last = { number: 0, at: job.start }
  let stamped: number | undefined

  const exportedLine = ({ number, at, stream, place, index, text }: KeptLine): LogLine => {
    const section = place?.ordinal === undefined ? undefined : byOrdinal.get(place.ordinal)
    const { start, end } = section ?? job
    const share = (index + 1) / (lines.linesIn(place?.ordinal) + 1)
    // Among lines with stamps one without has the time of the line before.
    const time = at ?? stamped ?? Math.round(start + (end - start) * share)
    stamped = at ?? stamped
    last = { number, at: time }
    return {
      ...{ number, at: time, text: inBytes(redactText(text), longestBody) },
      ...(at === undefined && { estimated: true }),
      ...(stream !== undefined && { stream }),
      ...(section !== undefined && spans.has(section.ordinal) && { section: section.ordinal }),
      ...(place !== undefined && { sectionName: place.name }),
      ...(text.startsWith('ERROR: Job failed') && { isError: true }),
    }
  }
  const note = (number: number, text: string): LogLine => ({ number, at: last.at, estimated: true, text })

  for (const line of lines.head) yield exportedLine(line)
  const { missing } = lines
  if (missing !== undefined) {
    yield note(missing.number, `[${missing.lines} lines of the log are left out here: ${missing.bytes} bytes]`)
  }
  for (const line of lines.tail) yield exportedLine(line)
  if (!isWhole) yield note(last.number + 1, `[the log is longer: only ${readMax} bytes of it are read]`)
}
