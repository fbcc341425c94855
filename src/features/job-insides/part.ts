// Sets up the daemon's reader of job logs and reports: one queue, and a set of readers for each platform token.
import { addressBelow, nameOf, type Condition } from '../../model/condition.ts'
import { insideCounters, type InsideCounters } from './counts.ts'
import { createCapabilities } from '../../core/complete/capability.ts'
import { createJobReader, type JobReadingToken } from './job-reader.ts'
import { createLogReading } from './read-log.ts'
import { createReportReading } from './read-report.ts'
import { createSlowness } from '../../core/complete/usual-duration.ts'
import { createSpanReading } from './read-spans.ts'
import { createTestReading, maxTestSpans } from './read-tests.ts'
import { createTextRedaction } from '../../lib/text-redaction.ts'
import { derivedSpanIds } from './telemetry/derived-ids.ts'
import { elapsed } from '../../lib/clock.ts'
import { exactGlobs } from '../../lib/chooser.ts'
import { isChosen, jobReadRulesOf, readsInsides } from './job-reads.ts'
import { jobReads } from './queue.ts'
import { sparseWarnings } from '../../lib/sparse-warnings.ts'
import { testMemory } from './test-memory.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { FlakyTest } from '../../model/job-tests.ts'
import type { InsideJob } from '../../model/inside.ts'
import type { InsideOptions } from './options.ts'
import type { InsideRules } from '../../platform/port/inside.ts'
import type { PartContext, Running, TokenContext } from '../../daemon/feature.ts'

/** The reader runs even if no logs or reports are configured, because the queue may still contain entries from before a restart. */
export function jobReaderOf(options: InsideOptions, context: PartContext): Running | undefined {
  const { store, events, queues: to, takesTotals, measure, notifier, clock, log } = context
  const counters = insideCounters()
  const tokens = context.tokens().map(token => tokenOf(options, token, counters))
  if (tokens.length === 0) return undefined
  const queue = store.on(jobReads)
  const reader = createJobReader({
    ...{ tokens, queue, runs: store.runs, to, takesTotals, measure, clock, log },
    refusedEndpoints: store.repositories.refusedEndpoints,
    reports: (chunk, of) => {
      const { job, tests: { flaky = [] } = {} } = chunk.inside ?? {}
      const ofTests = job === undefined ? [] : notifier.reports(...ofFlakyTests(chunk, job, flaky))
      return [...ofTests, ...context.line().lineSteps.flatMap(({ onInside }) => onInside?.(chunk, of) ?? [])]
    },
    onRead: () => events.pending.emit(),
  })
  if (readsInsides(jobReadRulesOf(options, context))) events.pending.on(() => reader.wake())
  return {
    ...reader,
    client: { name: 'jobs', counters: reader.counters },
    toRead: async () => queue.count(),
    get counters() {
      return { reads: reader.counters, ...counters }
    },
  }
}

/** Returns the readers of logs and reports that use this token. */
function tokenOf(options: InsideOptions, token: TokenContext, counters: InsideCounters): JobReadingToken {
  const { config, client, scope, territory, errors, store, clock, log } = token
  const { runs, repositories, views } = store
  const rules = jobReadRulesOf(options, token)
  const inside = client.inside(insideRulesOf(options, config))
  const warn = sparseWarnings(log, () => elapsed(clock))
  const logs = createLogReading({
    counters,
    ...{ ...rules, readLog: inside.log },
    isSlow: createSlowness(token.line().pastDurations, () => clock.now()),
  })
  const tests = createTestReading({
    counters,
    ...{ tests: inside.tests, capabilities: createCapabilities(repositories.refusedEndpoints, scope) },
    ...{ runs, memory: store.on(testMemory), spans: options.testsSpans },
    sections: ({ key }, job) =>
      isChosen(rules.sections, job, true)
        ? views.sections(key, 1, job.id).then(all => all.flatMap(({ sections = [] }) => sections))
        : undefined,
    onReplaced: ({ message }) =>
      log.warn(
        `test reports are read as the platform has parsed them, because it does not return their artifacts: ${message}`,
      ),
    onForgotten: async reports => store.counters.add('pruned.test_reports_early', reports),
  })
  const reports = createReportReading({
    counters,
    ...{ names: repositories.reportedNames, readReport: inside.report },
    onFault: (message, facts) => warn('report', `a report of a job cannot be read: ${message}`, facts),
  })
  const spans = createSpanReading({
    counters,
    ...{ readSpans: rules.spans ? inside.spans : undefined, spanIds: derivedSpanIds, runs },
    onFault: (message, facts) => warn('spans', `spans of a job cannot be read: ${message}`, facts),
  })
  return { territory, scope, errors, readings: { log: logs, tests, ...reports, spans } }
}

function insideRulesOf(
  { job, dotenvKeys, testsSpans }: InsideOptions,
  { redact, attributes }: PartContext['config'],
): InsideRules {
  return {
    ...{ redactText: createTextRedaction(redact ?? []), maxText: attributes.valueLengthLimit },
    ...{ readMax: job.logsReadMax, linesMax: job.logsMaxBytes, paths: job.spans ?? [] },
    isAllowed: dotenvKeys === undefined ? () => false : exactGlobs(dotenvKeys),
    keptCases: testsSpans === 'cases' ? maxTestSpans : 0,
  }
}

/**
 * Returns a condition to notify people about for each test that both failed and passed on the same code. Such a condition never ends, because a
 * passing test may still be flaky.
 */
function ofFlakyTests(
  { key, project }: Chunk,
  { id, name = '', end }: InsideJob,
  tests: readonly FlakyTest[],
): Condition[] {
  return tests.map(({ suite, name: test, within }) => ({
    ...{ kind: 'flaky-tests', instance: key.instance, project, subject: JSON.stringify([suite, test]), at: end },
    ...{ state: 'broken', version: [Math.round(end)] },
    title: `${nameOf(project)}: test ${test} is flaky`,
    text: `It failed and passed ${within === 'report' ? 'in one run of' : 'on the same revision in'} job ${name}.`,
    url: addressBelow(key.instance, project, `jobs/${id}`),
    details: {
      ...{ 'test.case.name': test, 'test.suite.name': suite, 'cicd.pipeline.task.name': name },
      'cicd.pipeline.task.run.id': String(id),
    },
  }))
}
