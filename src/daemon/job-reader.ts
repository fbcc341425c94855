// Starts the reader of job logs and reports.
import { createTextRedaction } from '../lib/text-redaction.ts'
import { createCapabilities } from '../core/complete/capability.ts'
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { createJobReader, type JobReader } from '../features/job-insides/job-reader.ts'
import { createLogReading, type LogReading } from '../features/job-insides/read-log.ts'
import { createReadLog } from '../platform/job-log/read-log.ts'
import { createReadReport } from '../platform/reports/read-report.ts'
import { createReportReading, type ReportReading } from '../features/job-insides/read-report.ts'
import { createSpanReading, type SpanReading } from '../features/job-insides/read-spans.ts'
import { createReadSpans } from '../platform/reports/read-spans.ts'
import { createTestReports } from '../platform/reports/read-tests.ts'
import { createTestReading, maxTestSpans, type TestReading } from '../features/job-insides/read-tests.ts'
import { derivedSpanIds } from '../core/telemetry/otlp/derived-ids.ts'
import { elapsed } from '../lib/clock.ts'
import { sparseWarnings } from '../lib/sparse-warnings.ts'
import { createSlowness } from '../core/complete/usual-duration.ts'
import { summed } from './summed.ts'
import { exactGlobs } from '../lib/chooser.ts'
import { ofFlakyTests } from '../features/job-insides/flaky-condition.ts'
import { jobReadRulesOf } from './processing.ts'
import { isChosen, jobReadsBy } from '../core/take-in/job-reads.ts'
import type { Connection } from './connections.ts'
import type { Started } from './steps.ts'
import type { Wiring } from './wiring.ts'

export interface JobReaderParts {
  readonly jobReader: JobReader
  readonly jobLogs: Pick<LogReading, 'counters'>
  readonly jobTests: Pick<TestReading, 'counters'>
  readonly jobReports: Pick<ReportReading, 'counters'>
  readonly jobSpans: Pick<SpanReading, 'counters'>
}

/** Runs even if nothing is configured: the queue may still hold what was asked for before a restart. */
export function startJobReader(wiring: Wiring): Started<JobReaderParts> {
  const { config, store, events, connections, queues: to, measure, notifier, lineSteps, clock, log } = wiring
  const { jobReads: queue, runs, repositories } = store
  const { refusedEndpoints } = repositories
  const tokens = connections.map(connection => ({
    ...connection,
    ...readingsOf(wiring, connection),
    errors: createErrorThrottle(log, connection.name),
  }))
  const jobReader = createJobReader({
    ...{ queue, runs, refusedEndpoints, to, measure, clock, log, tokens },
    reports: chunk => {
      const { job, tests: { flaky = [] } = {} } = chunk.inside ?? {}
      const ofTests = job === undefined ? [] : notifier.reports(...ofFlakyTests(chunk, job, flaky))
      return [...ofTests, ...lineSteps.flatMap(({ onInside }) => onInside?.(chunk) ?? [])]
    },
    onRead: () => events.pending.emit(),
  })
  if (jobReadsBy(jobReadRulesOf(config)) !== undefined) events.pending.on(() => jobReader.wake())
  jobReader.start()
  return {
    part: {
      jobReader,
      jobLogs: summed(tokens.map(({ jobLogs }) => jobLogs)),
      jobTests: summed(tokens.map(({ jobTests }) => jobTests)),
      jobReports: summed(tokens.map(({ jobReports }) => jobReports)),
      jobSpans: summed(tokens.map(({ jobSpans }) => jobSpans)),
    },
    why: 'remaining job logs and reports are read after the next start',
    stop: async () => jobReader.stop(),
  }
}

/** What reads logs and reports with one token. */
function readingsOf({ config, store, pastDurations, clock, log }: Wiring, { client, scope }: Connection) {
  const { runs, repositories, views, tests } = store
  const rules = jobReadRulesOf(config)
  const redactText = createTextRedaction(config.redact ?? [])
  const capabilities = createCapabilities(repositories.refusedEndpoints, scope)
  const jobLogs = createLogReading({
    ...rules,
    readLog: createReadLog({
      ...{ client, redactText, readMax: config.job.logsReadMax, linesMax: config.job.logsMaxBytes },
    }),
    isSlow: createSlowness(pastDurations, () => clock.now()),
  })
  const jobTests = createTestReading({
    ...{ capabilities, runs, memory: tests, spans: config.testsSpans },
    tests: createTestReports({
      ...{ client, redactText, maxText: config.attributes.valueLengthLimit },
      keptCases: config.testsSpans === 'cases' ? maxTestSpans : 0,
    }),
    sections: ({ key }, job) =>
      isChosen(rules.sections, job, true)
        ? views.sections(key, 1, job.id).then(all => all.flatMap(({ sections = [] }) => sections))
        : undefined,
    onReplaced: ({ message }) =>
      log.warn(
        `test reports are read as the platform has parsed them, as it does not hand out their artifacts: ${message}`,
      ),
    onForgotten: async reports => store.counters.add('pruned.test_reports_early', reports),
  })
  const warn = sparseWarnings(log, () => elapsed(clock))
  const jobReports = createReportReading({
    names: repositories.reportedNames,
    readReport: createReadReport({
      ...{ client, redactText },
      isAllowed: config.dotenvKeys === undefined ? () => false : exactGlobs(config.dotenvKeys),
    }),
    onFault: (message, facts) => warn('report', `a report of a job cannot be read: ${message}`, facts),
  })
  const { spans: paths = [] } = config.job
  const readSpans =
    paths.length === 0
      ? undefined
      : createReadSpans({ client, paths, redactText, maxText: config.attributes.valueLengthLimit })
  const jobSpans = createSpanReading({
    ...{ readSpans, spanIds: derivedSpanIds, runs },
    onFault: (message, facts) => warn('spans', `spans of a job cannot be read: ${message}`, facts),
  })
  const readings = { log: jobLogs.read, tests: jobTests.read, ...jobReports.readings, spans: jobSpans.read }
  return { jobLogs, jobTests, jobReports, jobSpans, readings }
}
