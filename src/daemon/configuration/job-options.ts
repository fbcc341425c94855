// The options of job logs and reports: of which jobs they are read, how much, and what is redacted.
import { boolean, byteSize, oneOf } from './plain-kinds.ts'
import { artifactPaths, noneOr, patterns, regularExpressions } from './list-kinds.ts'
import { setting } from './option.ts'

/** Which jobs; one request for each. */
const someJobs = noneOr(['failed', 'slow', 'all'])

export const jobOptions = {
  sections: setting(someJobs, {
    variable: 'PIPESPAN_JOB_SECTIONS',
    default: 'none',
    description:
      'Jobs whose log sections become spans: `none`, `failed`, `slow` (above the 95th percentile of the job), `all`. One request per job, shared with `logs`.',
    example: 'failed,slow',
  }),
  logs: setting(someJobs, {
    variable: 'PIPESPAN_JOB_LOGS',
    default: 'none',
    description:
      'Jobs whose log lines become log records, redacted; same values. Consider who can read them in the backend.',
    example: 'failed',
  }),
  projects: setting(patterns, {
    variable: 'PIPESPAN_JOB_PROJECTS',
    unset: 'all exported projects',
    description: 'Projects whose job logs and reports are read: patterns of full paths.',
    example: 'team/*',
  }),
  spans: setting(artifactPaths, {
    variable: 'PIPESPAN_JOB_SPANS',
    unset: 'none',
    description:
      "Artifact paths where a job may write its own spans as OTLP/JSON: one export request (`.otlp.json`) or one per line (`.otlp.jsonl`). They are added to the pipeline's trace, under the job. One request per path for each job with artifacts.",
    example: 'telemetry/spans.otlp.json',
  }),
  logsReadMax: setting(byteSize, {
    variable: 'PIPESPAN_JOB_LOGS_READ_MAX',
    default: '128MiB',
    description: 'Maximum size that is read of one log.',
  }),
  logsMaxBytes: setting(byteSize, {
    variable: 'PIPESPAN_JOB_LOGS_MAX_BYTES',
    default: '1MiB',
    description:
      'Maximum size that is exported of one log as log records: one sixteenth from its beginning, the rest from its end.',
  }),
}

/** The options of the reports that a job uploads. */
export const reportOptions = {
  tests: setting(boolean, {
    variable: 'PIPESPAN_TESTS',
    default: 'false',
    description:
      'Read JUnit test reports: totals, a record for each failure, flaky tests. One request for each job with such a report.',
  }),
  testsSpans: setting(oneOf(['none', 'suites', 'cases']), {
    variable: 'PIPESPAN_TESTS_SPANS',
    default: 'none',
    description: 'Export spans of test suites, or also of test cases; at most 1,000 per job. No extra requests.',
  }),
  reports: setting(noneOr(['metrics', 'dotenv', 'coverage', 'findings']), {
    variable: 'PIPESPAN_REPORTS',
    default: 'none',
    description:
      'Other job reports to read: `metrics` (OpenMetrics text) become gauges, `dotenv` a log record with the keys in `dotenv_keys`, `coverage` (Cobertura, JaCoCo) a gauge of totals, `findings` (code quality, SARIF, security scans) a counter. One request per report.',
    example: 'metrics,coverage',
  }),
  dotenvKeys: setting(patterns, {
    variable: 'PIPESPAN_DOTENV_KEYS',
    description:
      'Keys of dotenv reports to export: name patterns. All other keys are dropped, because values are often secrets.',
    example: 'VERSION,IMAGE_*',
  }),
}

export const redact = setting(regularExpressions, {
  protects: 'each',
  variable: 'PIPESPAN_REDACT',
  description:
    'Regular expressions to redact in job logs, reports, events and the inventory, in addition to known secret formats, without backreferences and look-around. A comma within brackets or after a backslash is part of the expression.',
  example: 'ACME-[0-9a-f]{32}',
})
