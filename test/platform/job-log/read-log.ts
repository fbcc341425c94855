// Reads a log as the daemon does, in windows whose sizes the test chooses.
import { LogReader, type ReadLine } from '../../../src/platform/job-log/log-reader.ts'
import { Sections, type JobTimes } from '../../../src/platform/job-log/sections.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import type { Section } from '../../../src/model/inside.ts'

export const jobStart = Date.parse('2026-01-21T09:47:20Z')
export const jobTimes: JobTimes = { start: jobStart, end: jobStart + 60_000, isScriptFailure: false }

export interface ReadLog {
  readonly sections: readonly Section[]
  readonly omitted: number
  readonly lines: readonly ReadLine[]
}

/** Reads a log. `sizes`: the window sizes in order; the last window is the rest of the log. */
export function readLog(log: string | Uint8Array, job: JobTimes = jobTimes, sizes: readonly number[] = []): ReadLog {
  const redactText = createTextRedaction([])
  const sections = new Sections(job)
  const lines: ReadLine[] = []
  const reader = new LogReader({
    marker: marker => sections.marker(marker),
    title: text => sections.title(text),
    line: line => lines.push(line),
  })
  const bytes = Buffer.from(log)
  let at = 0
  for (const size of sizes) {
    reader.feed(bytes.subarray(at, at + size))
    at += size
  }
  reader.feed(bytes.subarray(at))
  reader.end()
  return { sections: sections.finish(redactText), omitted: sections.omitted, lines }
}

const escape = '\u001b'
export const erase = `\r${escape}[0K`

/** Returns a section marker as a runner writes it, `seconds` after the start of the job. */
export function marker(edge: 'start' | 'end', name: string, seconds: number, options = ''): string {
  return `section_${edge}:${jobStart / 1000 + seconds}:${name}${options}${erase}`
}

/** Returns the timestamp of a log line, `ms` after the start of the job. */
export function stamp(ms: number, kind = '00O '): string {
  return `${new Date(jobStart + ms).toISOString().replace('Z', '123Z')} ${kind}`
}
