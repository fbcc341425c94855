// Generates the section "Inside of a job" of docs/ATTRIBUTES.md from the tables of these attributes.
import { code } from '../../../scripts/docs/markdown.ts'
import {
  dotenvAttributes,
  dotenvEvent,
  ownSpanAttributes,
} from '../../../src/features/job-insides/telemetry/job-attributes.ts'
import { eventAttributes } from '../../../src/core/telemetry/mapping/log.ts'
import {
  flakyTestAttributes,
  testEvents,
  testFailureAttributes,
  testReportAttributes,
  testSpanAttributes,
} from '../../../src/features/job-insides/telemetry/test-attributes.ts'
import { logLineAttributes, sectionAttributes } from '../../../src/features/job-insides/telemetry/log-attributes.ts'
import { plainTable } from '../../../scripts/docs/attributes.ts'
import { reportFaultReasons } from '../../../src/model/test-report.ts'

export function attributes(): string {
  return [
    '## Inside of a job',
    inside,
    '### Spans of sections',
    sectionSpan,
    plainTable(sectionAttributes),
    '### Lines of a job log',
    logLine,
    plainTable(logLineAttributes),
    '### Tests',
    testRecords,
    `#### ${code(testEvents.report)}`,
    plainTable(testReportAttributes),
    faults,
    `#### ${code(testEvents.failure)}`,
    plainTable(testFailureAttributes),
    `#### ${code(testEvents.flaky)}`,
    plainTable(flakyTestAttributes),
    '#### Spans of suites and cases',
    testSpan,
    plainTable(testSpanAttributes),
    '### Reports',
    reportRecords,
    `#### ${code(dotenvEvent)}`,
    plainTable(dotenvAttributes),
    '### Spans that a job made itself',
    ownSpan,
    plainTable(ownSpanAttributes),
  ].join('\n\n')
}

const inside = `What is read about jobs after the export of their pipeline is sent in separate requests, in scope \`pipespan.job\`, with the pipeline's resource and trace ID: see
[job logs and reports](inside-jobs.md).`

const sectionSpan = `Enabled by \`PIPESPAN_JOB_SECTIONS\`. Span name: the section's name, for the runner's own sections; otherwise \`section: {title or name}\`. Kind: INTERNAL. Parent: the section that contains it, or the job's span. Status: ERROR for the
section in which a job with the failure reason \`script_failure\` failed, otherwise UNSET.`

const testRecords = `Enabled by \`PIPESPAN_TESTS\`. These log records are events: their names are in the field \`event_name\`, and with
\`PIPESPAN_EVENTS_NAME_ATTRIBUTE\` also in the attribute ${code(eventAttributes[0]?.keys[0] ?? '')}. They have the trace and span ID of the job, and the time of its end. Severity: ERROR for failures, otherwise INFO. A job has one
report, and at most 100 failures and 100 flaky tests.`

const faults = `If a report cannot be read to its end, \`platform.test.report.fault\` says why (${reportFaultReasons.map(code).join(', ')}), and what was read until then counts. \`mismatch\`: the report was read whole, but a suite declares more failures and errors than the report has in it.`

const testSpan = `Enabled by \`PIPESPAN_TESTS_SPANS\`. Span names: \`test suite: {name}\`, under the job's span, and \`test: {name}\`, under its suite's. Kind: INTERNAL. Status: ERROR for what failed, otherwise UNSET. A suite has its own times if they
are within the job; otherwise suites are placed one after another, within the section of the job's script if its sections are exported. At most 1,000 spans per job, suites first.`

const reportRecords = `Enabled by \`PIPESPAN_REPORTS\`. Metrics, coverage and findings become [metrics](METRICS.md) only. The dotenv report of a job becomes one event, on the job's span and at the time of its end, with its name in the field \`event_name\`. Each key
that \`PIPESPAN_DOTENV_KEYS\` allows is an attribute ${code(`${dotenvEvent}.{key}`)}, redacted; at most 100 keys per report.`

const ownSpan = `Enabled by \`PIPESPAN_JOB_SPANS\`. Exported as the job wrote them: name, kind, span ID, attributes, events, links and status, redacted, with times to the microsecond. The trace ID and the resource are
the pipeline's. A span whose parent is not in the file is placed under the job's span, and a link into their own trace becomes a link into the pipeline's. Values that are maps become JSON. Limits: 1,000 spans per
job, 64 attributes, 32 events and 32 links per span, 64 values per list. Attributes that begin with \`cicd.\`, \`vcs.\`, \`pipeline.\`, \`job.\` or the platform's prefix are dropped. Their scope is \`pipespan.job.own\`, so that no name makes one look like Pipespan's own. In addition they have:`

const logLine = `Enabled by \`PIPESPAN_JOB_LOGS\`. One log record per line, with the trace ID, and the span ID of the innermost exported section or of the job. Time: the line's timestamp, or an estimate from the lines around it. Severity: ERROR for the
runner's own \`ERROR: Job failed\`, otherwise unset. Body: the line without control sequences, redacted, at most 16 KiB.`
