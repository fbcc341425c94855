// The options for job logs and reports: which jobs are read, how much is read, and whether pages show logs. Also checks the options and computes how
// many requests they cost.
import { boolean, byteSize, oneOf } from '../../daemon/configuration/plain-kinds.ts'
import { artifactPaths, noneOr, patterns } from '../../daemon/configuration/list-kinds.ts'
import { setting } from '../../daemon/configuration/option.ts'
import type { FeatureOf, PerToken, SliceOf } from '../../daemon/feature.ts'

/** Which jobs' logs are read. Each log costs one request. */
const someJobs = noneOr(['failed', 'slow', 'all'])

const job = {
  sections: setting(someJobs, { default: 'none', example: 'failed,slow' }).describe(
    'Jobs whose log sections become spans: `none`, `failed`, `slow` (above the 95th percentile of the job), `all`. One request per job, shared with `logs`.',
  ),
  logs: setting(someJobs, { default: 'none', example: 'failed' }).describe(
    'Jobs whose log lines become log records, redacted; the same values as for `sections`. Consider who can read job logs in the backend.',
  ),
  projects: setting(patterns, { unset: 'all exported projects', example: 'team/*' }).describe(
    'Projects whose job logs and reports are read: patterns of full paths.',
  ),
  spans: setting(artifactPaths, { unset: 'none', example: 'telemetry/spans.otlp.json' }).describe(
    "Artifact paths where a job may write its own spans as OTLP/JSON: one export request (`.otlp.json`) or one per line (`.otlp.jsonl`). They are added to the pipeline's trace, under the job. One request per path for each job with artifacts.",
  ),
  logsReadMax: setting(byteSize, { default: '128MiB' }).describe(
    'Maximum number of bytes that are read of one job log.',
  ),
  logsMaxBytes: setting(byteSize, { default: '1MiB' }).describe(
    'Maximum number of bytes of one job log that are exported as log records: one sixteenth from the beginning of the log, the rest from its end.',
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

export const wrongInsides: NonNullable<FeatureOf<InsideOptions>['faults']> = (
  { reports, dotenvKeys = [] },
  faultOf,
) => {
  if (!reports.includes('dotenv') || dotenvKeys.length > 0) return []
  const what = 'Dotenv reports are enabled, but no key is allowed to be exported.'
  const remedy =
    'List the keys in dotenv_keys (PIPESPAN_DOTENV_KEYS), or remove dotenv from reports (PIPESPAN_REPORTS).'
  return [faultOf('reports', what, remedy)]
}

const jobsThat = { failed: 'that failed', slow: 'that was slow', all: 'that ran' } as const

/** Describes how many API requests job logs and reports cost with one token. */
export const insideCosts: NonNullable<PerToken<InsideOptions>['costs']> = ({ job, tests, reports }, { platform }) => {
  const chosen = (['failed', 'slow', 'all'] as const).filter(one => [...job.sections, ...job.logs].includes(one))
  const paths = (job.spans ?? []).length
  if (chosen.length === 0 && !tests && reports.length === 0 && paths === 0) return []
  if (platform.url === undefined || platform.token.current() === undefined)
    return ['Job logs and reports: nothing is read without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.']
  const words = chosen.includes('all') ? jobsThat.all : chosen.map(one => jobsThat[one]).join(' or ')
  const switches = [job.sections.length > 0 && 'PIPESPAN_JOB_SECTIONS', job.logs.length > 0 && 'PIPESPAN_JOB_LOGS']
  const costs = [
    chosen.length > 0 &&
      `Job logs and reports (${switches.filter(Boolean).join(', ')}): 1 request for each job ${words}`,
    tests && 'Tests (PIPESPAN_TESTS): 1 request for each job with a JUnit report',
    paths > 0 &&
      `Spans of jobs (PIPESPAN_JOB_SPANS): ${paths} request${paths === 1 ? '' : 's'} for each job with artifacts`,
    reports.length > 0 &&
      `Reports (PIPESPAN_REPORTS): 1 request for each report of ${reports.join(', ')} that a job has`,
  ]
  return costs.flatMap(cost =>
    cost === false
      ? []
      : `${cost}, in addition to 2 for each pipeline; the budget is ${platform.budget} requests a minute.`,
  )
}
