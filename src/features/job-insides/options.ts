// The options of job logs and reports: of which jobs they are read, how much, and whether pages show logs.
import { boolean, byteSize, oneOf } from '../../daemon/configuration/plain-kinds.ts'
import { artifactPaths, noneOr, patterns } from '../../daemon/configuration/list-kinds.ts'
import { setting } from '../../daemon/configuration/option.ts'
import type { SliceOf } from '../../daemon/feature.ts'

/** Which jobs; one request for each. */
const someJobs = noneOr(['failed', 'slow', 'all'])

const job = {
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

const reports = {
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

const pages = {
  logs: setting(boolean, {
    default: 'false',
    needs: {
      'pages.enabled': 'Job logs are shown on the pages, which are off.',
      'admin.token': 'Job logs would be visible to anyone who can reach the pages: there is no admin token.',
      'platform.token': 'Job logs are fetched from the platform, but no platform token is set.',
    },
  }).describe(
    "Show job logs on the pages, redacted, fetched on demand with the platform token. Everyone with the admin token can read them with the daemon's permissions.",
  ),
}

export const insideOptions = { 'Job logs and reports': { job, ...reports }, Pages: { pages } }

export type InsideOptions = SliceOf<typeof insideOptions>
