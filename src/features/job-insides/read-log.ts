// Reads a job's log for its sections and lines, if they are wanted of this job.
import { hasFailed, hasSucceeded } from '../../model/status.ts'
import { isChosen, type JobReadRules } from './job-reads.ts'
import type { IsSlow } from '../../core/complete/usual-duration.ts'
import { type JobInside } from '../../model/inside.ts'
import { insideJobOf } from '../../model/inside-chunks.ts'
import type { JobReading } from './job-reading.ts'
import type { ReadLog } from '../../platform/port/inside.ts'

export interface LogReadingOptions extends Pick<JobReadRules, 'sections' | 'lines'> {
  readonly readLog: ReadLog
  readonly isSlow: IsSlow
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

export function createLogReading(options: LogReadingOptions): LogReading {
  const { readLog, isSlow } = options
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

    const log = await readLog(chunk.project.id, job, wants, call)
    const { sections } = log
    counters.bytes += log.bytes
    const isOver = log.isFinished || (!hasSucceeded(job.status) && !hasFailed(job.status))
    if (tries === 0 && log.isWhole && !isOver) return { as: 'early', ms: onceMoreAfter }
    if (!log.isWhole) counters.cut += 1

    const insides: JobInside[] = []
    const owner = { job: insideJobOf(job), ...(log.ranOn !== undefined && { ranOn: log.ranOn }) }
    if (wants.sections && sections.length > 0) {
      insides.push({ ...owner, sections })
      counters.sections += sections.length
      counters.sectionsOmitted += log.sectionsOmitted
    }
    if (wants.lines && (isTraced || log.isTraced)) counters.debugTraces += 1
    else if (wants.lines) {
      for (const lines of await log.lines()) {
        insides.push({ ...owner, lines })
        counters.lines += lines.length
      }
      counters.linesOmitted += log.linesOmitted
    }
    return { as: 'read', insides }
  }
  return { read, counters }
}
