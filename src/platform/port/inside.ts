// Declares the calls that read the inside of a job: its log, its reports and its own spans. A part of the port, for enrichment.
import type { CallOptions } from '../port.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { JobReport, ReportType } from '../../model/job-reports.ts'
import type { LogLine, RanOn, Section } from '../../model/inside.ts'
import type { OwnSpan } from '../../model/own-span.ts'
import type { ReportFaultReason, TestOutcomes, TestReport } from '../../model/test-report.ts'

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

/** Reads spans that a job has written into its artifacts. A missing file is no error, because most jobs have none. */
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
