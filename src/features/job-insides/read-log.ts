// Reads a job's log and extracts its sections and lines, if the rules include this job.
import { hasFailed, hasSucceeded } from '../../model/status.ts'
import { isChosen, type JobReadRules } from './job-reads.ts'
import type { InsideCounters } from './counts.ts'
import type { IsSlow } from '../../core/complete/usual-duration.ts'
import { type JobInside } from '../../model/inside.ts'
import { insideJobOf } from '../../model/inside-chunks.ts'
import type { JobReading } from './job-reading.ts'
import type { ReadLog } from '../../platform/port/inside.ts'

export interface LogReadingOptions extends Pick<JobReadRules, 'sections' | 'lines'> {
  readonly readLog: ReadLog
  readonly isSlow: IsSlow
  readonly counters: Pick<InsideCounters, 'logBytes' | 'sections' | 'lines' | 'cutLogs'>
}

/** The pause before an incomplete log is read again, ms. The platform archives a log some time after the job has ended. */
const rereadDelayMs = 120_000

export function createLogReading(options: LogReadingOptions): JobReading {
  const { readLog, isSlow, counters } = options
  return async ({ chunk, tries }, job, call) => {
    const asksSlow = [...options.sections, ...options.lines].includes('slow')
    const slow = asksSlow && (await isSlow(chunk, job))
    const wants = { sections: isChosen(options.sections, job, slow), lines: isChosen(options.lines, job, slow) }
    if (!wants.sections && !wants.lines) return { as: 'needless' }
    const isTraced = chunk.pipeline.facts.isDebugTraced === true
    if (!wants.sections && isTraced) {
      counters.cutLogs.debug_trace += 1
      return { as: 'needless' }
    }

    const log = await readLog(chunk.project.id, job, wants, call)
    const { sections } = log
    counters.logBytes += log.bytes
    const isOver = log.isFinished || (!hasSucceeded(job.status) && !hasFailed(job.status))
    if (tries === 0 && log.isWhole && !isOver) return { as: 'early', ms: rereadDelayMs }
    if (!log.isWhole) counters.cutLogs.size += 1

    const insides: JobInside[] = []
    const owner = { job: insideJobOf(job), ...(log.ranOn !== undefined && { ranOn: log.ranOn }) }
    if (wants.sections && sections.length > 0) {
      insides.push({ ...owner, sections })
      counters.sections.true += sections.length
      counters.sections.false += log.sectionsOmitted
    }
    if (wants.lines && (isTraced || log.isTraced)) counters.cutLogs.debug_trace += 1
    else if (wants.lines) {
      for (const lines of await log.lines()) {
        insides.push({ ...owner, lines })
        counters.lines.true += lines.length
      }
      counters.lines.false += log.linesOmitted
    }
    return { as: 'read', insides }
  }
}
