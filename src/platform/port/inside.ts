// Declares the calls that read the inside of a job: its log, its reports and its own spans. A part of the port.
import type { CallOptions } from '../port.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Millis } from '../../model/instant.ts'
import type { RedactText } from '../../lib/text-redaction.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { JobReport, ReportType } from '../../model/job-reports.ts'
import type { LogLine, RanOn, Section } from '../../model/inside.ts'
import type { OwnSpan } from '../../model/own-span.ts'
import type { ReportFaultReason, TestOutcomes, TestReport } from '../../model/test-report.ts'

/** The further calls of a client. Each rejects as those of the client do. */
export interface InsideClient {
  inside(rules: InsideRules): InsideReading
  showLogs(rules: ShowRules): ShowLog
}

/** How much is read of the inside of jobs, and what of it may pass. */
export interface InsideRules {
  readonly redactText: RedactText
  /** Maximum number of bytes that are read of one log, and that are exported of it as lines. */
  readonly readMax: number
  readonly linesMax: number
  /** Whether the value of this key of a dotenv report may be exported. */
  readonly isAllowed: (key: string) => boolean
  /** Artifacts in which a job may have written spans. */
  readonly paths: readonly string[]
  /** Maximum length of an exported text of a span or a test, UTF-16 units. */
  readonly maxText: number
  /** Maximum number of test cases of a job that are kept with their times. */
  readonly keptCases: number
}

export interface InsideReading {
  readonly log: ReadLog
  readonly report: ReadReport
  readonly spans: ReadSpans
  readonly tests: TestReports
}

export interface ShowRules extends Pick<InsideRules, 'redactText' | 'readMax'> {
  /** Maximum number of logs within any minute, because the rest of the API budget is for other requests. */
  readonly maxPerMinute: number
  /** Timeout for one log, ms. */
  readonly timeoutMs?: number | undefined
  readonly clock: Pick<Clock, 'now'>
}

/** Fetches a job's log for a page and redacts it like exported lines. The log is not stored. */
export type ShowLog = (job: ShownJob) => Promise<ShownLog>

export interface ShownJob {
  readonly projectId: number
  readonly id: number
  readonly start: Millis
  readonly end: Millis
  /** True if the job's script failed. The section in which it failed is then marked. */
  readonly isScriptFailure: boolean
}

export type ShownLog =
  | {
      readonly as: 'log'
      readonly lines: readonly ShownLine[]
      readonly sections: readonly Section[]
      /** Lines that are left out in the middle; `number`: the first of them. */
      readonly missing?: { readonly lines: number; readonly bytes: number; readonly number: number } | undefined
      /** False if the log is longer than the part that is read. */
      readonly isWhole: boolean
    }
  /** A debug trace shows the job's variables, so the log is not shown. */
  | { readonly as: 'traced' }
  | { readonly as: 'refused'; readonly what: string; readonly remedy: string }

export interface ShownLine {
  readonly number: number
  readonly runs: readonly StyledText[]
  /** The ordinal of the innermost kept section. */
  readonly section?: number | undefined
}

/** A text in one style. */
export interface StyledText {
  readonly text: string
  readonly bold?: true | undefined
  /** The terminal's number: 0 to 7 for the colours, 8 to 15 for their bright variants. Undefined: the default colour. */
  readonly colour?: number | undefined
}

/** Reads a job's log once, as a stream. */
export type ReadLog = (
  projectId: number,
  job: JobSnapshot,
  wants: { readonly sections: boolean; readonly lines: boolean },
  options: CallOptions,
) => Promise<LogRead>

/** The sections and lines of a job's log, without secrets. */
export interface LogRead {
  readonly bytes: number
  /** False if the log is longer than the part that is read. */
  readonly isWhole: boolean
  /** True if the log ends with the runner's last line. */
  readonly isFinished: boolean
  /** True if a debug trace in the log shows the job's variables. Only detected if lines are wanted. */
  readonly isTraced: boolean
  /** Undefined if the head of the log does not say it. */
  readonly ranOn: RanOn | undefined
  readonly sections: readonly Section[]
  /** Number of sections beyond the limit for one job. */
  readonly sectionsOmitted: number
  /** Redacts the first and the last lines, and groups them so that each group fits one request. */
  lines(): Promise<LogLine[][]>
  /** Number of lines that are omitted between the first and the last ones. */
  readonly linesOmitted: number
}

/** Reads one report of a job, of any type but tests. It only reads numbers and, in dotenv reports, the values of allowed keys. */
export type ReadReport = (
  projectId: number,
  job: JobSnapshot,
  type: ReportType,
  options: CallOptions,
) => Promise<ReportRead>

export interface ReportRead {
  /** Undefined if the report contains nothing to export. */
  readonly report?: JobReport | undefined
  /** Number of series or values that were omitted. */
  readonly dropped: number
  /** The reason why the report could not be read to its end. */
  readonly fault?: InsideFault | undefined
}

/** Reads spans that a job has written into its artifacts. A missing file is not an error, because most jobs have none. */
export type ReadSpans = (
  projectId: number,
  job: JobSnapshot,
  /** The IDs that the job's own spans must not have. Called only if there are spans. */
  takenIds: () => Promise<Iterable<string>>,
  options: CallOptions,
) => Promise<SpansRead>

export interface SpansRead {
  readonly spans: readonly OwnSpan[]
  readonly counts: Readonly<SpanCounts>
  /** The files that exist. */
  readonly files: readonly { readonly path: string; readonly fault: InsideFault | undefined }[]
}

export interface SpanCounts {
  kept: number
  /** Items that are not a valid OTLP span. */
  invalid: number
  /** Spans that are more than an hour outside of the job, or end before they start. */
  misplaced: number
  /** Spans whose ID an earlier span has, or a span that Pipespan makes for the run. */
  repeated: number
  /** Spans beyond the limit for a job. */
  beyond: number
}

/** Reads the tests of a job and redacts their texts. */
export interface TestReports {
  /** Reads the job's own report. Rejects with a PlatformError also if the platform is too old to serve it. */
  ofJob(projectId: number, job: JobSnapshot, options: CallOptions): Promise<TestsRead>
  /** Reads the reports of a pipeline's latest jobs, as parsed by the platform. */
  ofPipeline(projectId: number, pipelineId: number, options: CallOptions): Promise<PipelineTests>
  /** Whether the section runs the script of its job. */
  readonly isScript: (section: Section) => boolean
}

export interface TestsRead {
  readonly report: TestReport
  readonly outcomes: TestOutcomes
}

export interface PipelineTests {
  /** Undefined if the report has no suite of this job's name. */
  of(job: JobSnapshot): Promise<TestsRead | undefined>
}

/** The reason why a report cannot be read, or not to its end. */
export interface InsideFault {
  readonly reason: ReportFaultReason
  /** A sentence that ends in a remedy, without text from the report. */
  readonly message: string
}
