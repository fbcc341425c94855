// The reference of all attributes, docs/ATTRIBUTES.md, written from the tables that make them.
import { jobAttributes } from '../mapping/job.ts'
import { legacy } from '../legacy-names.ts'
import { linkAttributes, linkMeanings } from '../mapping/link.ts'
import { logAttributes } from '../mapping/log.ts'
import { logLineAttributes } from '../mapping/log-line.ts'
import { pipelineAttributes } from '../mapping/pipeline.ts'
import { defaultValueLengthLimit } from '../attribute-policy.ts'
import { resourceAttributes } from '../mapping/resource.ts'
import { familyMeaning, failureReasons, otherMeaning, type FailureMeaning } from '../mapping/failure-reasons.ts'
import { sectionAttributes } from '../mapping/section.ts'
import { changeStates, statusMeanings } from '../mapping/statuses.ts'
import { schemaUrl } from '../mapping/semconv.ts'
import { dotenvAttributes, dotenvEvent } from '../mapping/report.ts'
import { eventAttributes } from '../mapping/event.ts'
import { ownSpanAttributes } from '../mapping/own-span.ts'
import { reportFaultReasons } from '../../model/test-report.ts'
import {
  flakyTestAttributes,
  testEvents,
  testFailureAttributes,
  testReportAttributes,
  testSpanAttributes,
} from '../mapping/test.ts'
import type { TelemetryProfile } from '../settings.ts'
import { code, table } from './markdown.ts'

/** What the reference shows of a row, whatever its subject. */
interface ReferenceRow {
  readonly keys: readonly string[]
  readonly type: string
  readonly when: string
  readonly note?: string
}

/** Markdown, ending in a line feed. */
export function attributesReference(profiles: Readonly<Record<string, TelemetryProfile>>): string {
  return `${[
    '# Attributes',
    'Written from the tables in `src/telemetry/mapping` by `npm run docs`; a test holds it against them.',
    introduction(profiles),
    '## Resource',
    plainTable(resourceAttributes),
    ownAttributes,
    '## Pipeline span and log record',
    pipelineSpan,
    pairedTable(pipelineAttributes),
    '## Job span and log record',
    jobSpan,
    pairedTable(jobAttributes),
    '## Log records',
    logRecord,
    plainTable(logAttributes),
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
    '## Links',
    plainTable(linkAttributes),
    table(
      ['value', 'the link goes'],
      Object.entries(linkMeanings).map(([type, meaning]) => [code(type), meaning]),
    ),
    '## Values',
    '### Statuses',
    'A status that is not in this table comes from a newer platform: it passes through in `pipeline.status` or `job.status`, has neither state nor result, and is counted.',
    table(
      ['status', 'run state', 'result'],
      Object.entries(statusMeanings).map(([status, { state, result }]) => [
        code(status),
        code(state),
        status === 'failed' ? 'by failure reason' : result === undefined ? '' : code(result),
      ]),
    ),
    '### Failure reasons',
    reasons,
    table(
      ['failure reasons', 'result', '`platform.cicd.failure.domain`', '`cicd.system.component`'],
      [
        ...[...Map.groupBy(failureReasons, ([, meaning]) => JSON.stringify(wordsOf(meaning))).values()].map(alike => [
          alike.map(([reason]) => code(reason)).join(', '),
          ...(alike[0] === undefined ? [] : wordsOf(alike[0][1])),
        ]),
        [
          'every `downstream_…`, `upstream_…`, `insufficient_…`, `reached_…` and `…_bridge_…`',
          ...wordsOf(familyMeaning),
        ],
        ['any other, or none', ...wordsOf(otherMeaning)],
      ],
    ),
    '### States of a merge request',
    table(
      ['platform', '`vcs.change.state`'],
      [
        ...Object.entries(changeStates).map(([state, value]) => [code(state), code(value)]),
        ['`opened`, a draft', '`wip`'],
      ],
    ),
  ].join('\n\n')}\n`
}

function introduction(profiles: Readonly<Record<string, TelemetryProfile>>): string {
  const prefixes = Object.entries(profiles).map(([name, { namespace }]) => `${code(namespace)} for ${code(name)}`)
  return `Names and types are a contract: dashboards and alerts may rely on them. Names below \`platform.\` are the vendor's; the platform's
profile decides on that prefix (${prefixes.join(', ')}). Names of the conventions follow <${schemaUrl}>.

Every name and value, the resource's included, is subject to \`PIPESPAN_ATTRIBUTES_DROP\` and \`PIPESPAN_ATTRIBUTES_HASH\`: names or glob
patterns (\`pipeline.user.*\`, \`*.username\`) of attributes that are left out, or whose value is replaced by the first 16 bytes of its
SHA-256 as hex. Dropping wins over hashing. Names of spans and status messages are no attributes: a pipeline's name and ref, a job's name
and its failure reason stay readable there. Strings are cut at ${defaultValueLengthLimit} UTF-16 code units.`
}

const ownAttributes = `Your own attributes (\`OTEL_RESOURCE_ATTRIBUTES\`, or the configuration file) come after these. They may set \`service.name\` (where
\`OTEL_SERVICE_NAME\` does not), \`service.namespace\` and \`deployment.environment\` or \`deployment.environment.name\`; \`vcs.*\`, the
vendor's names and \`service.version\` stay as above.`

const pipelineSpan = `Span name \`pipeline: {name or ref}\`, kind SERVER. Status OK for \`success\`, ERROR for \`failed\` (with the failure reason that decided
as its message, where there is one; where its configuration was refused, with what was wrong in it) and for \`canceled\`, else UNSET.`

const jobSpan = `Span name \`job: {name}\`, kind INTERNAL, child of the pipeline's span; status as above. A job that never ran starts and ends at its finish,
else at the pipeline's.`

const logRecord = `One for each pipeline and job, with the trace and span id of its span and all attributes of it, beside those below. Body
\`Pipeline {status}: {name or ref}\`, or \`Job {status}: {name} ({stage})\`. Time: finished, else started, else created. Severity INFO for \`success\`,
WARN for \`canceled\`, ERROR for \`failed\` (WARN where the job may fail), else DEBUG.`

const inside = `What is read about the inside of jobs goes out in requests of its own, in scope \`pipespan.job\`, with the pipeline's resource and trace id: see
[inside of jobs](inside-jobs.md).`

const sectionSpan = `\`PIPESPAN_JOB_SECTIONS\`. Span name: the section's, for the runner's own; else \`section: {title or name}\`. Kind INTERNAL, child of the section around
it, else of the job's span. Status ERROR for the section that a job with the failure reason \`script_failure\` failed in, else UNSET.`

const testRecords = `\`PIPESPAN_TESTS\`. Events: their names are in the field \`event_name\` of the log record, with
\`PIPESPAN_EVENTS_NAME_ATTRIBUTE\` in the attribute ${code(eventAttributes[0]?.keys[0] ?? '')} too. Time: the end of the job, whose trace id and span id they have. Severity ERROR for
failures, else INFO. A job has one report, and 100 failures and 100 flaky tests at most.`

const faults = `A report that could not be read to its end says why in \`platform.test.report.fault\`, and counts what was read before: ${reportFaultReasons.map(code).join(', ')}.`

const testSpan = `\`PIPESPAN_TESTS_SPANS\`. Span name \`test suite: {name}\`, child of the job's span, and \`test: {name}\`, child of its suite's. Kind INTERNAL. Status ERROR for
what failed, else UNSET. A suite has its own time where that lies within the job; else suites are laid out one after another. 1,000 spans a job
at most, suites first.`

const reportRecords = `\`PIPESPAN_REPORTS\`. Metrics, coverage and findings are [metrics](METRICS.md) alone. A job's dotenv report is one event, named in the field
\`event_name\` of the log record, of the job's span and of the time of its end: each key that \`PIPESPAN_DOTENV_KEYS\` allows is an attribute
${code(`${dotenvEvent}.{key}`)}, redacted; 100 keys a report at most.`

const ownSpan = `\`PIPESPAN_JOB_SPANS\`. As the job wrote them: name, kind, span id, attributes, events, links, status, redacted, times to the microsecond. Trace id and resource are
the pipeline's; a span whose parent is not among them stands below the job's span, and a link into their own trace leads into the pipeline's. Values that are maps are their JSON. 1,000 spans a
job, 64 attributes, 32 events and 32 links a span, 64 values a list at most; attributes that begin with \`cicd.\`, \`vcs.\`, \`pipeline.\`, \`job.\` or the platform's prefix are left out. Beside their own attributes they have:`

const logLine = `\`PIPESPAN_JOB_LOGS\`. One record for each line, with the trace id and the span id of the innermost section that is exported, else of the job. Time: the line's
stamp, else estimated from the lines around it. Severity ERROR for the runner's own \`ERROR: Job failed\`, else unset. Body: the line without
control sequences, redacted, 16 KiB at most.`

const reasons = `A failed job's result follows from its failure reason. A failed pipeline's is taken over the latest job of each name that failed and was not
allowed to: \`failure\` over \`timeout\` over \`error\`. \`error.type\` and the span's status message are the reason of the job that decides.`

function wordsOf({ result, domain, component }: FailureMeaning): string[] {
  return [result, domain, component].map(word => (word === undefined ? '' : code(word)))
}

/** As it is exported. */
function wireType(type: string): string {
  return type === 'nanoseconds' ? 'int' : type
}

/** Legacy names beside those of the conventions and the vendor. */
function pairedTable(rows: readonly ReferenceRow[]): string {
  return table(
    ['legacy', 'conventions, vendor', 'type', 'when', 'note'],
    rows.map(({ keys, type, when, note }) => [
      keys
        .filter(key => legacy.test(key))
        .map(code)
        .join(', '),
      keys
        .filter(key => !legacy.test(key))
        .map(code)
        .join(', '),
      wireType(type),
      when,
      note ?? '',
    ]),
  )
}

function plainTable(rows: readonly ReferenceRow[]): string {
  return table(
    ['attribute', 'type', 'when', 'note'],
    rows.map(({ keys, type, when, note }) => [keys.map(code).join(', '), wireType(type), when, note ?? '']),
  )
}
