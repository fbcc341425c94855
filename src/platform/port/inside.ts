// The port's part for enrichment: what is read of a job's inside.
import type { CallOptions } from '../port.ts'
import type { JobSnapshot } from '../../model/chunk.ts'
import type { JobReport, ReportType } from '../../model/job-reports.ts'
import type { LogLine, Section } from '../../model/inside.ts'
import type { ReportFaultReason } from '../../model/test-report.ts'

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

/** Why a report cannot be read, or not to its end. */
export interface InsideFault {
  readonly reason: ReportFaultReason
  /** A sentence that ends in a remedy, without text from the report. */
  readonly message: string
}
