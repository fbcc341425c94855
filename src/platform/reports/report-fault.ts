// Why a job's report cannot be read any further. What was read before remains.
import { Fault } from '../../lib/fault.ts'
import type { ReportFaultReason } from '../../model/test-report.ts'

/** Thrown while a report is read; it becomes the report's `fault`. */
export class ReportFault extends Fault {
  readonly reason: ReportFaultReason

  constructor(reason: ReportFaultReason, what: string) {
    super(what, remedies[reason])
    this.reason = reason
  }
}

/** Answers the ReportFault that `read` throws; undefined if it completes. Other errors pass through. */
export async function faultOf(read: () => Promise<void>): Promise<ReportFault | undefined> {
  try {
    await read()
    return undefined
  } catch (error) {
    if (error instanceof ReportFault) return error
    throw error
  }
}

const whole = 'Have the job write the whole file before it ends.'
const smaller = 'Split it over several jobs, or leave output of passing tests out of it.'

const remedies: Readonly<Record<ReportFaultReason, string>> = {
  empty: whole,
  archive: 'A newer version of the platform hands out reports by themselves.',
  not_gzip: 'Look at what stands between the platform and Pipespan: it changes artifacts.',
  not_xml: 'Have `artifacts:reports` name files of the format of each report only.',
  not_junit: 'Have `artifacts:reports:junit` name JUnit XML files only.',
  not_json: 'Have `artifacts:reports` name files of the format of each report only.',
  suite_error: "Open the pipeline's tests at the platform: it says what is wrong with the file.",
  truncated: whole,
  damaged: 'Run the job again.',
  malformed: 'Have the job write well-formed XML.',
  entities: 'Have the job write its report without a document type.',
  too_large: smaller,
  too_deep: 'Have the job write JUnit XML: suites with cases in them.',
  too_many: smaller,
  foreign: 'Have `artifacts:reports` name files of the format of each report only.',
}
