// Reads the sections and lines of a job's log in one pass over a stream. Only content that will be exported is kept in memory.
import { createKeyWatch, redacted } from '../../lib/text-redaction.ts'
import { withControlsMarked } from '../../lib/plain-text.ts'
import { KeptLines } from './kept-lines.ts'
import { logLines } from './log-lines.ts'
import { LogReader } from './log-reader.ts'
import { RanOnReader } from './ran-on.ts'
import { Sections } from './sections.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { InsideRules, ReadLog } from '../port/inside.ts'
import type { PlatformClient } from '../port.ts'

// Detects a debug trace (`CI_DEBUG_TRACE`) in a job's log. A debug trace prints the job's variables, and the platform masks only exact values of
// masked variables, so such a log must not be exported.

/** Maximum number of characters of the log that are searched for a debug trace, which prints the variables at its beginning. */
const maxRead = 256 * 1024
/** Minimum number of platform variables that a log must print to be recognised as a debug trace. */
const minVariables = 3

const exported = /^\s*(?:\++\s*)?(?:export\s+|declare\s+-x\s+|\$env:|set\s+)?"?CI_[A-Z0-9_]+"?\s*=/
const traced = /^\s*\++\s*(?:export\s+|declare\s+-x\s+)?CI_[A-Z0-9_]+/
const switchedOn = /\bCI_DEBUG_TRACE["']?\s*[:=]\s*["']?(?:true|1|yes)\b/i

/**
 * Creates a function that must be called with each line of a log in order. It returns true for the line that reveals a debug trace, and for every
 * later line.
 */
export function createDebugWatch(): (text: string) => boolean {
  let read = 0
  let count = 0
  let isTraced = false
  return text => {
    if (isTraced || read > maxRead) return isTraced
    read += text.length + 1
    if (!text.includes('CI_')) return false
    if (exported.test(text) || traced.test(text)) count += 1
    isTraced = count >= minVariables || switchedOn.test(text)
    return isTraced
  }
}

const lastLine = /^(?:Job succeeded|ERROR: Job failed)/

export function createReadLog(
  client: Pick<PlatformClient, 'jobLog'>,
  { redactText, readMax, linesMax }: Pick<InsideRules, 'redactText' | 'readMax' | 'linesMax'>,
): ReadLog {
  return async (projectId, job, wants, call) => {
    const log = new OpenLog(job, wants.lines ? linesMax : 0)
    const { bytes, isWhole } = await client.jobLog(projectId, job.id, {
      ...{ ...call, maxBytes: readMax },
      onWindow: window => log.reader.feed(window),
    })
    log.reader.end()
    const sections = log.sections.finish(redactText)
    const exported = wants.sections ? sections : []
    const timesOf = (stretch: number) => log.sections.timesOf(stretch)
    return {
      ...{ bytes, isWhole, isFinished: log.isFinished, isTraced: log.isTraced },
      ranOn: log.ranOn.finish(redactText),
      ...{ sections, sectionsOmitted: log.sections.omitted, linesOmitted: log.lines.missing?.lines ?? 0 },
      lines: async () => logLines({ lines: log.lines, timesOf, sections, exported, redactText, readMax, isWhole }),
    }
  }
}

class OpenLog {
  readonly reader: LogReader
  readonly sections: Sections
  readonly lines: KeptLines
  readonly ranOn = new RanOnReader()
  /** True if the last line of the log is the one that the runner writes when the job ends. */
  isFinished = false
  /** True if a debug trace has printed the job's variables. */
  isTraced = false

  constructor({ start, end, status, failureReason }: JobSnapshot, linesMax: number) {
    const isScriptFailure = status === 'failed' && failureReason === 'script_failure'
    this.sections = new Sections({ start: Math.round(start), end: Math.round(Math.max(start, end)), isScriptFailure })
    this.lines = new KeptLines(linesMax)
    const isKey = createKeyWatch()
    const isTraced = createDebugWatch()
    this.reader = new LogReader({
      marker: marker => this.sections.marker(marker),
      title: text => this.sections.title(text),
      line: (line, raw) => {
        if (line.text.trim() === '') return
        this.isFinished = lastLine.test(line.text)
        this.ranOn.line(line.text, this.sections.place?.name)
        if (linesMax === 0) return
        this.isTraced = isTraced(line.text)
        // The places of removed control sequences stay marked until the line is redacted, because a secret may begin at one of them.
        const text = isKey(line.text) ? redacted : withControlsMarked(raw)
        this.lines.add({ ...line, text }, this.sections.place, this.sections.stretch)
      },
    })
  }
}
