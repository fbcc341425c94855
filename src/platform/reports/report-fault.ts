// Declares the error for a report that cannot be read any further, the advice that its message contains, and the limits for reading reports. The
// reader for each report type decides whether to keep the data that it read before the error.
import { Fault } from '../../lib/fault.ts'
import type { ReportFaultReason } from '../../model/test-report.ts'

/** The error that stops reading a report. It becomes the result's `fault`. */
export class ReportFault extends Fault {
  readonly reason: ReportFaultReason

  constructor(reason: ReportFaultReason, what: string) {
    super(what, remedies[reason])
    this.reason = reason
  }
}

/** Returns the ReportFault that `read` throws, or undefined if `read` completes. Other errors are rethrown. */
export async function faultOf(read: () => Promise<void>): Promise<ReportFault | undefined> {
  try {
    await read()
    return undefined
  } catch (error) {
    if (error instanceof ReportFault) return error
    throw error
  }
}

const whole = 'Make the job write the whole file before it ends.'
const smaller = 'Split the report among several jobs, or omit the output of passing tests.'

const remedies: Readonly<Record<ReportFaultReason, string>> = {
  empty: whole,
  archive: 'Upgrade the platform: newer versions serve single reports.',
  not_gzip: 'Check the proxies between the platform and Pipespan: one of them changes artifacts.',
  not_xml: 'Make each entry of `artifacts:reports` name only files of its format.',
  not_junit: 'Make `artifacts:reports:junit` name only JUnit XML files.',
  not_json: 'Make each entry of `artifacts:reports` name only files of its format.',
  suite_error: "Open the pipeline's tests on the platform, which shows what is wrong with the file.",
  truncated: whole,
  damaged: 'Run the job again.',
  malformed: 'Make the job write well-formed XML.',
  entities: 'Make the job write its report without a document type.',
  too_large: smaller,
  too_deep: 'Make the job write JUnit XML: suites that contain cases.',
  too_many: smaller,
  mismatch: "Check the job's log: something failed that the test framework did not write into its report.",
  foreign: 'Make each entry of `artifacts:reports` name only files of its format.',
}

/** Limits how much of a report is read. Some limits are the platform's own. The limits that Pipespan sets are more generous. */
export interface ReportCaps {
  /** Maximum number of bytes downloaded for a report. */
  readonly packed: number
  /** Maximum size of a report after decompression, bytes. */
  readonly unpacked: number
  /** Maximum nesting depth of elements in a report. */
  readonly depth: number
  /** Maximum number of test cases whose results are read. Cases beyond this limit are only counted. */
  readonly cases: number
}

const megabyte = 1024 * 1024

export const reportCaps: ReportCaps = { packed: 30 * megabyte, unpacked: 100 * megabyte, depth: 100, cases: 100_000 }
