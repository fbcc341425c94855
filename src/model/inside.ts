// What was read about the inside of a job: the sections of its log, the log's lines, its tests and other reports. It goes out in chunks of its own, under the job's
// span, after the chunk that has this span (`inside-chunks.ts`).
import type { JobFacts } from './observation.ts'
import type { JobReport } from './job-reports.ts'
import type { JobTests } from './job-tests.ts'
import type { OwnSpan } from './own-span.ts'
import type { Millis } from './instant.ts'

/** What is needed of the job for ids, times and names: as the chunk with its span has it. */
export interface InsideJob extends Pick<JobFacts, 'kind' | 'name'> {
  readonly id: number
  readonly start: Millis
  readonly end: Millis
  readonly salt?: string | undefined
}

/** What one chunk has of the inside of one job. */
export interface JobInside {
  readonly job: InsideJob
  readonly sections?: readonly Section[] | undefined
  readonly lines?: readonly LogLine[] | undefined
  readonly tests?: JobTests | undefined
  readonly report?: JobReport | undefined
  readonly ownSpans?: readonly OwnSpan[] | undefined
}

/** A part of a job's log, between its two markers. Instants may have fractions of a millisecond. */
export interface Section {
  /** From 1, by start; counted before any is left out. */
  readonly ordinal: number
  /** The ordinal of the section around it; undefined: the job itself. */
  readonly parent?: number | undefined
  readonly name: string
  readonly title?: string | undefined
  /** Whose it is: the runner's own, one of the script's steps, or one that the script marked itself. */
  readonly kind: 'runner' | 'script' | 'custom'
  /** By which clock its times are: the stamps of the log's lines, or the numbers in its markers. */
  readonly clock: 'line' | 'marker'
  readonly start: Millis
  readonly end: Millis
  /** By how much its times had to be moved into the job's, ms; undefined up to a second. */
  readonly clockShift?: number | undefined
  /** The job failed in it. */
  readonly failed?: true | undefined
}

/** A line of a job's log, without control sequences and without its stamp, redacted. */
export interface LogLine {
  /** From 1. */
  readonly number: number
  readonly at: Millis
  /** The line has no stamp: `at` is estimated from the lines around it. */
  readonly estimated?: true | undefined
  readonly text: string
  readonly stream?: 'stdout' | 'stderr' | undefined
  /** The ordinal of the innermost section that is exported. */
  readonly section?: number | undefined
  /** The name of the innermost section, exported or not. */
  readonly sectionName?: string | undefined
  readonly isError?: true | undefined
}
