// The options of job logs and reports: of which jobs they are read, how much, and what is redacted.
import { boolean, byteSize, oneOf } from './plain-kinds.ts'
import { artifactPaths, noneOr, patterns, regularExpressions } from './list-kinds.ts'
import { setting } from './option.ts'

/** Which jobs; one request for each. */
const someJobs = noneOr(['failed', 'slow', 'all'])

export const jobOptions = {
  sections: setting(someJobs, { default: 'none', example: 'failed,slow' }).describe(
    'Jobs whose log sections become spans: `none`, `failed`, `slow` (above the 95th percentile of the job), `all`. One request per job, shared with `logs`.',
  ),
  logs: setting(someJobs, { default: 'none', example: 'failed' }).describe(
    'Jobs whose log lines become log records, redacted; same values. Consider who can read them in the backend.',
  ),
  projects: setting(patterns, { unset: 'all exported projects', example: 'team/*' }).describe(
    'Projects whose job logs and reports are read: patterns of full paths.',
  ),
  spans: setting(artifactPaths, { unset: 'none', example: 'telemetry/spans.otlp.json' }).describe(
    "Artifact paths where a job may write its own spans as OTLP/JSON: one export request (`.otlp.json`) or one per line (`.otlp.jsonl`). They are added to the pipeline's trace, under the job. One request per path for each job with artifacts.",
  ),
  logsReadMax: setting(byteSize, { default: '128MiB' }).describe('Maximum size that is read of one log.'),
  logsMaxBytes: setting(byteSize, { default: '1MiB' }).describe(
    'Maximum size that is exported of one log as log records: one sixteenth from its beginning, the rest from its end.',
  ),
}

/** The options of the reports that a job uploads. */
export const reportOptions = {
  tests: setting(boolean, { default: 'false' }).describe(
    'Read JUnit test reports: totals, a record for each failure, flaky tests. One request for each job with such a report.',
  ),
  testsSpans: setting(oneOf(['none', 'suites', 'cases']), { default: 'none' }).describe(
    'Export spans of test suites, or also of test cases; at most 1,000 per job. No extra requests.',
  ),
  reports: setting(noneOr(['metrics', 'dotenv', 'coverage', 'findings']), {
    default: 'none',
    example: 'metrics,coverage',
  }).describe(
    'Other job reports to read: `metrics` (OpenMetrics text) become gauges, `dotenv` a log record with the keys in `dotenv_keys`, `coverage` (Cobertura, JaCoCo) a gauge of totals, `findings` (code quality, SARIF, security scans) a counter. One request per report.',
  ),
  dotenvKeys: setting(patterns, { example: 'VERSION,IMAGE_*' }).describe(
    'Keys of dotenv reports to export: name patterns. All other keys are dropped, because values are often secrets.',
  ),
}

export const redact = setting(regularExpressions, { protects: 'each', example: 'ACME-[0-9a-f]{32}' }).describe(
  'Regular expressions to redact in job logs, reports, events and the inventory, in addition to known secret formats, without backreferences and look-around. A comma within brackets or after a backslash is part of the expression.',
)
