// Part of the port: declares the calls that read details of a job: its log, its reports, and the spans that it wrote.
import type { CallOptions } from '../port.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Millis } from '../../model/instant.ts'
import type { RedactText } from '../../lib/text-redaction.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { JobReport, ReportType } from '../../model/job-reports.ts'
import type { LogLine, RanOn, Section } from '../../model/inside.ts'
import type { OwnSpan } from '../../model/own-span.ts'
import type { ReportFaultReason, TestOutcomes, TestReport } from '../../model/test-report.ts'

/** The client's calls that read details of a job. They reject with the same errors as the client's other calls. */
export interface InsideClient {
  inside(rules: InsideRules): InsideReading
  showLogs(rules: ShowRules): ShowLog
}

/** Limits how much of a job's log, reports and spans is read, and which values may be exported. */
export interface InsideRules {
  readonly redactText: RedactText
  /** `readMax`: maximum number of bytes read from one log. `linesMax`: maximum number of bytes of a log that are exported as lines. */
  readonly readMax: number
  readonly linesMax: number
  /** Whether the value of this dotenv key may be exported. */
  readonly isAllowed: (key: string) => boolean
  /** Paths of artifacts to which a job may have written spans. */
  readonly paths: readonly string[]
  /** Maximum length of any exported string in a span or a test, UTF-16 units. */
  readonly maxText: number
  /** Maximum number of a job's test cases that are kept individually, with their durations. */
  readonly keptCases: number
}

export interface InsideReading {
  readonly log: ReadLog
  readonly report: ReadReport
  readonly spans: ReadSpans
  readonly tests: TestReports
}

export interface ShowRules extends Pick<InsideRules, 'redactText' | 'readMax'> {
  /** Maximum number of logs fetched per minute. The rest of the API budget is reserved for other requests. */
  readonly maxPerMinute: number
  /** Timeout for fetching one log, ms. */
  readonly timeoutMs?: number | undefined
  readonly clock: Pick<Clock, 'now'>
}

/** Fetches a job's log to show it on a page. It is redacted like exported lines and is not stored. */
export type ShowLog = (job: ShownJob) => Promise<ShownLog>

export interface ShownJob {
  readonly projectId: number
  readonly id: number
  readonly start: Millis
  readonly end: Millis
  /** True if the job's script failed. If so, the section in which it failed is marked. */
  readonly isScriptFailure: boolean
}

export type ShownLog =
  | {
      readonly as: 'log'
      readonly lines: readonly ShownLine[]
      readonly sections: readonly Section[]
      /** The lines that are omitted from the middle of the log. `number` is the line number of the first omitted line. */
      readonly missing?: { readonly lines: number; readonly bytes: number; readonly number: number } | undefined
      /** False if the log was longer than the read limit. */
      readonly isWhole: boolean
    }
  /** The log contains a debug trace, which reveals the job's variables, so the log is not shown. */
  | { readonly as: 'traced' }
  | { readonly as: 'refused'; readonly what: string; readonly remedy: string }

export interface ShownLine {
  readonly number: number
  readonly runs: readonly StyledText[]
  /** The ordinal of the innermost section in `sections` that contains the line. */
  readonly section?: number | undefined
}

/** A piece of text that has a single style. */
export interface StyledText {
  readonly text: string
  readonly bold?: true | undefined
  /** The terminal colour number: 0 to 7 are the normal colours, 8 to 15 their bright variants. If undefined, the text has the default colour. */
  readonly colour?: number | undefined
}

/** Reads a job's log once, as a stream. */
export type ReadLog = (
  projectId: number,
  job: JobSnapshot,
  wants: { readonly sections: boolean; readonly lines: boolean },
  options: CallOptions,
) => Promise<LogRead>

/** The sections and lines of a job's log, with secrets redacted. */
export interface LogRead {
  readonly bytes: number
  /** False if the log was longer than the read limit. */
  readonly isWhole: boolean
  /** True if the log ends with the last line that the runner writes. */
  readonly isFinished: boolean
  /** True if a debug trace in the log reveals the job's variables. Detected only if the caller requests lines. */
  readonly isTraced: boolean
  /** Where the job ran; undefined if the head of the log does not report it. */
  readonly ranOn: RanOn | undefined
  readonly sections: readonly Section[]
  /** Number of sections omitted because the job has more than the limit. */
  readonly sectionsOmitted: number
  /**
   * Returns the exported lines, which are from the beginning and the end of the log: redacted, and grouped so that each group fits into one export
   * request.
   */
  lines(): Promise<LogLine[][]>
  /** Number of log lines omitted between the exported beginning and end of the log. */
  readonly linesOmitted: number
}

/** Reads one job report of any type except test reports. It reads only numbers and, from dotenv reports, the values of allowed keys. */
export type ReadReport = (
  projectId: number,
  job: JobSnapshot,
  type: ReportType,
  options: CallOptions,
) => Promise<ReportRead>

export interface ReportRead {
  /** The report; undefined if it contains nothing to export. */
  readonly report?: JobReport | undefined
  /** Number of the report's series or values that were omitted. */
  readonly dropped: number
  /** Why the report could not be read completely. */
  readonly fault?: InsideFault | undefined
}

/** Reads the spans that a job wrote to its artifacts. A missing file is not an error, because most jobs have none. */
export type ReadSpans = (
  projectId: number,
  job: JobSnapshot,
  /** Returns the span IDs that are already in use. The job's own spans must not have them. Called only if the job has spans. */
  takenIds: () => Promise<Iterable<string>>,
  options: CallOptions,
) => Promise<SpansRead>

export interface SpansRead {
  readonly spans: readonly OwnSpan[]
  readonly counts: Readonly<SpanCounts>
  /** The span files that exist in the job's artifacts. */
  readonly files: readonly { readonly path: string; readonly fault: InsideFault | undefined }[]
}

export interface SpanCounts {
  kept: number
  /** Number of items that are not valid OTLP spans. */
  invalid: number
  /** Number of spans that lie more than an hour outside the job's time range, or that end before they start. */
  misplaced: number
  /** Number of spans whose ID is already used by an earlier span or by a span that Pipespan itself creates for the run. */
  repeated: number
  /** Number of spans omitted because the job has more than the limit. */
  beyond: number
}

/** Reads the tests of a job, and redacts their names, messages and stack traces. */
export interface TestReports {
  /** Reads the test report of a single job. Rejects with a PlatformError if the request fails or the platform is too old to serve such reports. */
  ofJob(projectId: number, job: JobSnapshot, options: CallOptions): Promise<TestsRead>
  /** Reads the test reports of a pipeline's latest jobs, as the platform has parsed them. */
  ofPipeline(projectId: number, pipelineId: number, options: CallOptions): Promise<PipelineTests>
  /** Whether a section of the log runs the job's script. */
  readonly isScript: (section: Section) => boolean
}

export interface TestsRead {
  readonly report: TestReport
  readonly outcomes: TestOutcomes
}

export interface PipelineTests {
  /** Returns the tests of a job; undefined if the report has no suite with this job's name. */
  of(job: JobSnapshot): Promise<TestsRead | undefined>
}

/** Why a report could not be read completely, or not at all. */
export interface InsideFault {
  readonly reason: ReportFaultReason
  /** An error message. It ends with advice on how to fix the problem, and quotes nothing from the report. */
  readonly message: string
}
