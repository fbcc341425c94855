// The port's part for enrichment: what is read of a job's inside.
import type { CallOptions } from '../port.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { JobReport, ReportType } from '../../model/job-reports.ts'
import type { LogLine, Section } from '../../model/inside.ts'
import type { OwnSpan } from '../../model/own-span.ts'
import type { ReportFaultReason, TestOutcomes, TestReport } from '../../model/test-report.ts'

/** Reads a job's log once, as a stream. */
export type ReadLog = (
  projectId: number,
  job: JobSnapshot,
  wants: { readonly sections: boolean; readonly lines: boolean },
  options: CallOptions,
) => Promise<LogRead>

/** What is inside a job's log, without secrets. */
export interface LogRead {
  readonly bytes: number
  /** False if the log is longer than what is read. */
  readonly isWhole: boolean
  /** The runner has written its last line. */
  readonly isFinished: boolean
  /** A debug trace shows the variables of the job. Recognised where lines are wanted. */
  readonly isTraced: boolean
  readonly sections: readonly Section[]
  /** Beyond the limit for one job. */
  readonly sectionsOmitted: number
  /** Redacts the first and the last lines; in groups that each fit one request. */
  lines(): Promise<LogLine[][]>
  /** Left out between them. */
  readonly linesOmitted: number
}

/** Reads a job's report other than that of its tests. Only numbers are read, and of dotenv reports the values of allowed keys. */
export type ReadReport = (
  projectId: number,
  job: JobSnapshot,
  type: ReportType,
  options: CallOptions,
) => Promise<ReportRead>

export interface ReportRead {
  /** Undefined: nothing in it is to be exported. */
  readonly report?: JobReport | undefined
  /** Series or values that were left out. */
  readonly dropped: number
  /** Why that is not all of it. */
  readonly fault?: InsideFault | undefined
}

/** Reads spans that a job has written into its artifacts. Most jobs have no such file, which is no error. */
export type ReadSpans = (
  projectId: number,
  job: JobSnapshot,
  /** Ids that its own spans must not have; called if there are spans. */
  takenIds: () => Promise<Iterable<string>>,
  options: CallOptions,
) => Promise<SpansRead>

export interface SpansRead {
  readonly spans: readonly OwnSpan[]
  readonly counts: Readonly<SpanCounts>
  /** The files that were there. */
  readonly files: readonly { readonly path: string; readonly fault: InsideFault | undefined }[]
}

export interface SpanCounts {
  kept: number
  /** Not a valid OTLP span. */
  invalid: number
  /** More than an hour outside of the job, or its end is before its start. */
  misplaced: number
  /** Its id is that of an earlier one, or one that we derive for a span of the run. */
  repeated: number
  /** Beyond the limit for a job. */
  beyond: number
}

/** Reads the tests of a job, redacted. */
export interface TestReports {
  /** The job's own report. Rejects with a PlatformError also if the platform is too old to hand it out. */
  ofJob(projectId: number, job: JobSnapshot, options: CallOptions): Promise<TestsRead>
  /** The reports of a pipeline's latest jobs, as the platform has parsed them. */
  ofPipeline(projectId: number, pipelineId: number, options: CallOptions): Promise<PipelineTests>
  /** The name that parallel jobs (`rspec 1/3`, `rspec 2/3`) share, which are one suite in the report of a pipeline. */
  readonly groupOf: (jobName: string) => string
  /** Whether it runs the script of its job. */
  readonly isScript: (section: Section) => boolean
}

export interface TestsRead {
  readonly report: TestReport
  readonly outcomes: TestOutcomes
}

export interface PipelineTests {
  /** Undefined: there are none of this job's name. */
  of(job: JobSnapshot): Promise<TestsRead | undefined>
}

/** Why a report cannot be read, or not to its end. */
export interface InsideFault {
  readonly reason: ReportFaultReason
  /** A sentence that ends in a remedy, without text from the report. */
  readonly message: string
}
