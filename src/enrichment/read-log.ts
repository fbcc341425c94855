// Reads a job's log once, as a stream, for its sections and lines. Only what is exported of it is held in memory.
import { createDebugWatch } from '../platform/job-log/debug-trace.ts'
import { createKeyWatch, redacted, type RedactText } from '../platform/text-redaction.ts'
import { isChosen, type JobReadRules } from '../processing/job-reads.ts'
import { KeptLines } from '../platform/job-log/kept-lines.ts'
import { LogReader } from '../platform/job-log/log-reader.ts'
import { lineInsides } from './line-insides.ts'
import { Sections } from '../platform/job-log/sections.ts'
import type { IsSlow } from './usual-duration.ts'
import type { InsideJob, JobInside } from '../model/inside.ts'
import type { JobReading } from './job-reading.ts'
import type { JobSnapshot } from '../model/chunk.ts'
import type { PlatformClient } from '../platform/port.ts'

export interface LogReadingOptions extends Pick<JobReadRules, 'sections' | 'lines'> {
  readonly client: Pick<PlatformClient, 'jobLog'>
  readonly isSlow: IsSlow
  readonly redactText: RedactText
  /** How much of one log is read, and how much is exported as lines, bytes. */
  readonly readMax: number
  readonly linesMax: number
}

/** Counted since start. */
export interface LogCounters {
  bytes: number
  sections: number
  /** Beyond the limit for one job. */
  sectionsOmitted: number
  lines: number
  /** Left out between the first and the last lines, which are exported. */
  linesOmitted: number
  /** Logs that were too long to be read to their end. */
  cut: number
  /** Logs whose lines are not exported because a debug trace shows the job's variables. */
  debugTraces: number
}

export interface LogReading {
  readonly read: JobReading
  readonly counters: Readonly<LogCounters>
}

/** When to read a log again that lacks its end, ms: the platform archives it some time after the job. */
const onceMoreAfter = 120_000
const lastLine = /^(?:Job succeeded|ERROR: Job failed)/

export function createLogReading(options: LogReadingOptions): LogReading {
  const { client, isSlow, redactText, readMax, linesMax } = options
  const counters: LogCounters = {
    ...{ bytes: 0, sections: 0, sectionsOmitted: 0, lines: 0, linesOmitted: 0, cut: 0, debugTraces: 0 },
  }
  const read: JobReading = async ({ chunk, tries }, job, call) => {
    const asksSlow = [...options.sections, ...options.lines].includes('slow')
    const slow = asksSlow && (await isSlow(chunk, job))
    const wants = { sections: isChosen(options.sections, job, slow), lines: isChosen(options.lines, job, slow) }
    if (!wants.sections && !wants.lines) return { as: 'needless' }
    const isTraced = chunk.pipeline.facts.isDebugTraced === true
    if (!wants.sections && isTraced) {
      counters.debugTraces += 1
      return { as: 'needless' }
    }

    const log = new OpenLog(job, wants.lines ? linesMax : 0)
    const { bytes, isWhole } = await client.jobLog(chunk.project.id, job.id, {
      ...{ ...call, maxBytes: readMax },
      onWindow: window => log.reader.feed(window),
    })
    log.reader.end()
    counters.bytes += bytes
    const isOver = log.isFinished || (job.status !== 'success' && job.status !== 'failed')
    if (tries === 0 && isWhole && !isOver) return { as: 'early', ms: onceMoreAfter }
    if (!isWhole) counters.cut += 1

    const sections = log.sections.finish(redactText)
    const insides: JobInside[] = []
    const owner = ownerOf(job)
    if (wants.sections && sections.length > 0) {
      insides.push({ job: owner, sections })
      counters.sections += sections.length
      counters.sectionsOmitted += log.sections.omitted
    }
    if (wants.lines && (isTraced || log.isTraced)) counters.debugTraces += 1
    else if (wants.lines) {
      const exported = wants.sections ? sections : []
      insides.push(
        ...(await lineInsides({ job: owner, lines: log.lines, sections, exported, redactText, readMax, isWhole })),
      )
      counters.lines += insides.reduce((sum, { lines = [] }) => sum + lines.length, 0)
      counters.linesOmitted += log.lines.missing?.lines ?? 0
    }
    return { as: 'read', insides }
  }
  return { read, counters }
}

/** One log while it is read. */
class OpenLog {
  readonly reader: LogReader
  readonly sections: Sections
  readonly lines: KeptLines
  /** The runner has written its last line. */
  isFinished = false
  /** A debug trace shows the variables of the job. */
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
      line: line => {
        if (line.text.trim() === '') return
        this.isFinished = lastLine.test(line.text)
        if (linesMax === 0) return
        this.isTraced = isTraced(line.text)
        this.lines.add(isKey(line.text) ? { ...line, text: redacted } : line, this.sections.place)
      },
    })
  }
}

/** The fields of a job that its spans, its log records and figures of its sections need. */
export function ownerOf({ id, kind, name, start, end, status, salt }: JobSnapshot): InsideJob {
  return { id, kind, name, start, end, status, ...(salt !== undefined && { salt }) }
}
