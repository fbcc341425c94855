// Declares job internals: the sections and lines of a job's log, its tests and other reports, and the spans that it recorded itself. They are sent
// after the job's span, in their own chunks (`inside-chunks.ts`).
import type { JobFacts } from './observation.ts'
import type { JobReport } from './job-reports.ts'
import type { JobTests } from './job-tests.ts'
import type { OwnSpan } from './own-span.ts'
import type { Millis } from './instant.ts'

/** The job as its exported span describes it. The IDs, times and names of the job's internals are derived from these fields. */
export interface InsideJob extends Pick<JobFacts, 'kind' | 'name'> {
  readonly id: number
  readonly start: Millis
  readonly end: Millis
  readonly salt?: string | undefined
  /** The job's status in its exported span: `success`, `failed`, … */
  readonly status?: string | undefined
}

/** The part of a job's internals that one chunk contains. */
export interface JobInside {
  readonly job: InsideJob
  /** Where the job ran. Set only in chunks with sections and lines. */
  readonly ranOn?: RanOn | undefined
  readonly sections?: readonly Section[] | undefined
  readonly lines?: readonly LogLine[] | undefined
  readonly tests?: JobTests | undefined
  readonly report?: JobReport | undefined
  readonly ownSpans?: readonly OwnSpan[] | undefined
}

/** Where a job ran, as read from the first lines of its log. */
export interface RanOn {
  readonly host?: string | undefined
  /** The Kubernetes pod that the job ran in, and the node of that pod. */
  readonly pod?: string | undefined
  readonly node?: string | undefined
}

/** A section of a job's log, between a start marker and an end marker. Its times may have fractions of a millisecond. */
export interface Section {
  /** The section's number in order of start, starting at 1. Sections that are not exported are counted too. */
  readonly ordinal: number
  /** The ordinal of the enclosing section. Undefined for a section at the top level of the job. */
  readonly parent?: number | undefined
  readonly name: string
  readonly title?: string | undefined
  /** Whether the section belongs to the runner, is a step of the script, or was marked by the script. */
  readonly kind: 'runner' | 'script' | 'custom'
  /** The source of the section's times: the timestamps of the log's lines, or the numbers in the section's markers. */
  readonly clock: 'line' | 'marker'
  readonly start: Millis
  readonly end: Millis
  /** The number of ms by which the section's times were shifted to fall within the job's times; undefined if the shift was at most a second. */
  readonly clockShift?: number | undefined
  /** True if the job failed in this section. */
  readonly failed?: true | undefined
}

/** A line of a job's log, redacted, without control sequences and timestamp. */
export interface LogLine {
  /** The line number in the log, starting at 1. */
  readonly number: number
  readonly at: Millis
  /**
   * True if the line's time `at` is estimated, because the line has no timestamp or one that is earlier than a preceding line's. An estimated time is
   * never earlier than the time of the preceding line.
   */
  readonly estimated?: true | undefined
  readonly text: string
  readonly stream?: 'stdout' | 'stderr' | undefined
  /** The ordinal of the innermost exported section that contains the line. */
  readonly section?: number | undefined
  /** The name of the innermost section that contains the line, even if that section is not exported. */
  readonly sectionName?: string | undefined
  readonly isError?: true | undefined
}
