// The inside of a job: sections and lines of its log, its tests and other reports, its own spans. It is sent after the job's span, in chunks of its
// own (`inside-chunks.ts`).
import type { JobFacts } from './observation.ts'
import type { JobReport } from './job-reports.ts'
import type { JobTests } from './job-tests.ts'
import type { OwnSpan } from './own-span.ts'
import type { Millis } from './instant.ts'

/** The job as the chunk with its span has it: what ids, times and names are derived from. */
export interface InsideJob extends Pick<JobFacts, 'kind' | 'name'> {
  readonly id: number
  readonly start: Millis
  readonly end: Millis
  readonly salt?: string | undefined
  /** As its span has it: `success`, `failed`, … */
  readonly status?: string | undefined
}

/** The part of a job's inside that one chunk has. */
export interface JobInside {
  readonly job: InsideJob
  /** Only with sections and lines. */
  readonly ranOn?: RanOn | undefined
  readonly sections?: readonly Section[] | undefined
  readonly lines?: readonly LogLine[] | undefined
  readonly tests?: JobTests | undefined
  readonly report?: JobReport | undefined
  readonly ownSpans?: readonly OwnSpan[] | undefined
}

/** Where the job ran, as the head of its log says. */
export interface RanOn {
  /** The machine. */
  readonly host?: string | undefined
  /** The pod, and the node that it was on. */
  readonly pod?: string | undefined
  readonly node?: string | undefined
}

/** A part of a job's log, between its two markers. Times may have fractions of a millisecond. */
export interface Section {
  /** From 1, by start; sections that are not exported are counted, too. */
  readonly ordinal: number
  /** The ordinal of the enclosing section; undefined: the job itself. */
  readonly parent?: number | undefined
  readonly name: string
  readonly title?: string | undefined
  /** A section of the runner, a step of the script, or one that the script marked itself. */
  readonly kind: 'runner' | 'script' | 'custom'
  /** Where its times are from: the timestamps of the log's lines, or the numbers in its markers. */
  readonly clock: 'line' | 'marker'
  readonly start: Millis
  readonly end: Millis
  /** By how much its times were moved to lie within the job's, ms; undefined up to a second. */
  readonly clockShift?: number | undefined
  /** The job failed in it. */
  readonly failed?: true | undefined
}

/** A line of a job's log, without control sequences and timestamp, redacted. */
export interface LogLine {
  /** The number of the line, from 1. */
  readonly number: number
  readonly at: Millis
  /** The line has no timestamp, or an earlier one than a line before it: `at` is estimated, and never earlier than that of a line before. */
  readonly estimated?: true | undefined
  readonly text: string
  readonly stream?: 'stdout' | 'stderr' | undefined
  /** The ordinal of the innermost section that is exported. */
  readonly section?: number | undefined
  /** The name of the innermost section, exported or not. */
  readonly sectionName?: string | undefined
  readonly isError?: true | undefined
}
