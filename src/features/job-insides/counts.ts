// The counts of the items that the daemon reads from job logs and reports. They are exported as the daemon's own metrics.
import type { CountOf } from '../../daemon/feature.ts'
import type { ReportFaultReason } from '../../model/test-report.ts'
import type { ReportType } from '../../model/job-reports.ts'
import type { SpanCounts } from '../../platform/port/inside.ts'

// prettier-ignore
export const insideCounts: readonly CountOf[] = [
  { name: 'pipespan.job.reads', unit: '{job}', attributes: ['outcome'], counter: 'reads',
    description: 'Reads of job logs and reports: read, empty or not needed, repeated because incomplete, refused by the platform, withheld because the platform refuses such requests, failed (mostly retried), or expired.' },
  { name: 'pipespan.job.log.bytes', unit: 'By', counter: 'logBytes',
    description: 'Bytes of job logs that were read.' },
  { name: 'pipespan.job.log.sections', unit: '{section}', attributes: ['kept'], counter: 'sections',
    description: 'Sections of job logs: exported, or over the limit per job.' },
  { name: 'pipespan.job.log.lines', unit: '{line}', attributes: ['kept'], counter: 'lines',
    description: 'Lines of job logs: exported, or left out in the middle.' },
  { name: 'pipespan.job.log.cut', unit: '{log}', attributes: ['reason'], counter: 'cutLogs',
    description: 'Job logs that were not fully exported: over the size limit (`size`), or withheld because they print variables of the job (`debug_trace`).' },
  { name: 'pipespan.test.reports', unit: '{report}', attributes: ['fault'], counter: 'testReports',
    description: 'Test reports read: complete (`none`), or the reason why they are incomplete.' },
  { name: 'pipespan.test.cases', unit: '{case}', attributes: ['kept'], counter: 'testCases',
    description: 'Test cases of these reports: counted, or over the limit per report.' },
  { name: 'pipespan.test.failures', unit: '{case}', attributes: ['kept'], counter: 'testFailures',
    description: 'Failed test cases: exported as a record, or beyond the first 100 of a job.' },
  { name: 'pipespan.test.dropped_times', unit: '{time}', counter: 'droppedTimes',
    description: 'Implausible times of suites and cases: more than ten times the duration of the job.' },
  { name: 'pipespan.test.flaky', unit: '{case}', counter: 'flaky',
    description: 'Tests that failed and passed on the same code.' },
  { name: 'pipespan.job.reports', unit: '{report}', attributes: ['type', 'fault'], counter: 'reports',
    description: 'Other job reports read, by artifact type: complete (`none`), or the reason why reading stopped.' },
  { name: 'pipespan.job.report.series', unit: '{series}', attributes: ['kept'], counter: 'series',
    description: 'Series of metrics reports: exported, not a number, or over the limit per report or project.' },
  { name: 'pipespan.job.report.values', unit: '{value}', attributes: ['kept'], counter: 'values',
    description: 'Values of allowed keys in dotenv reports: exported, or over the limit per report.' },
  { name: 'pipespan.job.report.findings', unit: '{finding}', counter: 'findings',
    description: 'Findings in code quality and security reports.' },
  { name: 'pipespan.job.spans', unit: '{span}', attributes: ['outcome'], counter: 'spans',
    description: 'Spans made by jobs: kept, not valid OTLP (`invalid`), more than an hour outside their job or ending before they start (`misplaced`), with a duplicate ID (`repeated`), or over the limit per job.' },
  { name: 'pipespan.job.spans.files', unit: '{file}', attributes: ['fault'], counter: 'spanFiles',
    description: 'Files with such spans: read completely (`none`), or the reason why reading stopped.' },
]

/** The counts since the daemon started, summed over all tokens. Their names are those in the `counter` fields of `insideCounts`. */
export interface InsideCounters {
  logBytes: number
  readonly sections: Kept
  readonly lines: Kept
  readonly cutLogs: { size: number; debug_trace: number }
  readonly testReports: Map<ReportOutcome, number>
  readonly testCases: Kept
  readonly testFailures: Kept
  droppedTimes: number
  flaky: number
  readonly reports: Map<ReportType, Map<ReportOutcome, number>>
  readonly series: Kept
  readonly values: Kept
  findings: number
  readonly spans: SpanCounts
  readonly spanFiles: Map<ReportOutcome, number>
}

/** `true` is the number of exported items, `false` the number of items that were left out. */
interface Kept {
  true: number
  false: number
}

/** Why a report was not read to its end; `none` if it was read completely. */
type ReportOutcome = ReportFaultReason | 'none'

export function insideCounters(): InsideCounters {
  const kept = (): Kept => ({ true: 0, false: 0 })
  return {
    ...{ logBytes: 0, sections: kept(), lines: kept(), cutLogs: { size: 0, debug_trace: 0 } },
    ...{ testReports: new Map([['none', 0]]), testCases: kept(), testFailures: kept(), droppedTimes: 0, flaky: 0 },
    ...{ reports: new Map(), series: kept(), values: kept(), findings: 0 },
    ...{ spans: { kept: 0, invalid: 0, misplaced: 0, repeated: 0, beyond: 0 }, spanFiles: new Map() },
  }
}

export function countIn<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
