// The options of what is read about the inside of jobs: of which, how much, and what is redacted.
import { boolean, byteSize, oneOf } from './plain-kinds.ts'
import { artifactPaths, noneOr, patterns, regularExpressions } from './list-kinds.ts'
import { setting } from './option.ts'

/** Of which jobs; each costs one request a job. */
const someJobs = noneOr(['failed', 'slow', 'all'])

export const jobOptions = {
  sections: setting(someJobs, {
    variable: 'PIPESPAN_JOB_SECTIONS',
    default: 'none',
    says: 'Jobs whose log is read for its sections, which become spans: `none`, `failed`, `slow` (above the 95th percentile of the job itself), `all`. A request a job, together with `logs`.',
    example: 'failed,slow',
  }),
  logs: setting(someJobs, {
    variable: 'PIPESPAN_JOB_LOGS',
    default: 'none',
    says: 'Jobs whose log lines are exported as log records, redacted: likewise. Mind who may read them where they go.',
    example: 'failed',
  }),
  projects: setting(patterns, {
    variable: 'PIPESPAN_JOB_PROJECTS',
    unset: 'all that are exported',
    says: 'Projects of whose jobs the inside is read: patterns of their full paths.',
    example: 'team/*',
  }),
  spans: setting(artifactPaths, {
    variable: 'PIPESPAN_JOB_SPANS',
    unset: 'none',
    says: "Paths among a job's artifacts where it may leave spans of its own: OTLP/JSON, one request (`.otlp.json`) or one in each line (`.otlp.jsonl`). They are forwarded in the pipeline's trace, below the job. A request a path for each job with artifacts.",
    example: 'telemetry/spans.otlp.json',
  }),
  logsReadMax: setting(byteSize, {
    variable: 'PIPESPAN_JOB_LOGS_READ_MAX',
    default: '128MiB',
    says: 'How much of one log is read.',
  }),
  logsMaxBytes: setting(byteSize, {
    variable: 'PIPESPAN_JOB_LOGS_MAX_BYTES',
    default: '1MiB',
    says: 'How much of one log is exported as log records: a sixteenth from its beginning, the rest from its end.',
  }),
}

/** What is read of a job's own reports. */
export const reportOptions = {
  tests: setting(boolean, {
    variable: 'PIPESPAN_TESTS',
    default: 'false',
    says: 'Reports of tests (JUnit) are read: totals, a record for each failure, flaky tests. A request for each job that has such a report.',
  }),
  testsSpans: setting(oneOf(['none', 'suites', 'cases']), {
    variable: 'PIPESPAN_TESTS_SPANS',
    default: 'none',
    says: 'Spans of test suites, or of their cases too; 1,000 a job at most. No request of its own.',
  }),
  reports: setting(noneOr(['metrics', 'dotenv', 'coverage', 'findings']), {
    variable: 'PIPESPAN_REPORTS',
    default: 'none',
    says: 'Other reports of jobs that are read: `metrics` (OpenMetrics text) become gauges, `dotenv` a log record of the keys that `dotenv_keys` allows, `coverage` (Cobertura, JaCoCo) a gauge of totals, `findings` (code quality, SARIF, security scans) a counter. A request for each such report.',
    example: 'metrics,coverage',
  }),
  dotenvKeys: setting(patterns, {
    variable: 'PIPESPAN_DOTENV_KEYS',
    says: "Keys of dotenv reports that are exported: patterns of names. No other key leaves, as a value is a secret's usual home.",
    example: 'VERSION,IMAGE_*',
  }),
}

export const redact = setting(regularExpressions, {
  variable: 'PIPESPAN_REDACT',
  says: 'Regular expressions of what is redacted in everything read about the inside of jobs and in the texts of events, besides the shapes of secrets that are known. A comma within brackets or after a backslash is part of one.',
  example: 'ACME-[0-9a-f]{32}',
})
