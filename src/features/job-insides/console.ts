// The pages, routes and tools for job logs and tests, and their additions to the job page.
import { answerOf } from '../../console/access/own-values.ts'
import { at, filteredAt, type ConsolePart } from '../../console/console-part.ts'
import { failedTests } from './failed-tests.ts'
import { flakyFixes } from './pages/flaky-fixes.ts'
import { costlyTests, costlyTestsShape, flakyTests, flakyTestsShape, testSpanNames } from './pages/test-figures.ts'
import { costlyTestsPage, flakyTestsPage } from './pages/tests.ts'
import { get } from '../../console/api/api-route.ts'
import { html, type Content } from '../../console/layout/html.ts'
import {
  hasLog,
  jobLogShape,
  jobLogView,
  logsForPeople,
  maxFindLength,
  type LogSources,
} from './pages/job-log-detail.ts'
import { instanceQuery, scopedQuery } from '../../console/api/api-queries.ts'
import { isFinished } from '../../model/status.ts'
import { jobLogPage } from './pages/job-log.ts'
import { logAddress } from '../../console/pipelines/run-rows.ts'
import { number } from '../../console/layout/format.ts'
import { onSources } from '../../console/sources/api-clients.ts'
import { jobParts, type JobDetail } from '../../console/jobs/job-detail.ts'
import { jobReportShape, reportOf, testsCard, type JobReport } from './pages/job-tests.ts'
import { logTail } from './pages/log-tail.ts'
import { testTool, logTool } from './pages/tools.ts'
import { z } from 'zod'
import type { InsideOptions } from './options.ts'
import type { PagesParts } from '../../console/ports.ts'
import type { PartContext } from '../../daemon/feature.ts'

/** The maximum number of chunks with test results that are read per job. */
const maxReadings = 20

const logQuery = instanceQuery.extend({
  find: z
    .string()
    .trim()
    .max(maxFindLength)
    .default('')
    .describe('Text to search for; lines that do not contain it are left out.'),
})
const testQuery = scopedQuery.extend({ span: z.enum(testSpanNames).default('30d').describe('Period.') })

export function insidesConsole(options: InsideOptions, context: PartContext): ConsolePart {
  const jobLog = logsForPeople(options, context)
  const logsOf = ({ views, clock, now }: PagesParts): LogSources => ({ views, clock, now, jobLog: jobLog() })
  return {
    links: [{ group: 'What is broken', link: ['/tests', 'Tests', 'scoped'] }],
    fills: [
      ...[failedTests, flakyFixes, readsOnSources],
      jobParts.with({
        fields: { tests: jobReportShape.optional() },
        read: async (parts, key, jobId) => ({ tests: reportOf(await parts.views.tests(key, maxReadings, jobId)) }),
        links: ({ job, pipeline }, settings, { base, query }) =>
          jobLog() !== undefined &&
          settings.adminToken() !== undefined &&
          hasLog(job) &&
          html`<a class="button" href="${logAddress(base, pipeline, job.id, { query })}">Show its log</a>`,
        failure: async (parts, settings, asked, detail, context) => {
          const { tests } = detail as JobDetail & { readonly tests?: JobReport }
          return html`<section id="tests" data-region>${tests !== undefined && testsCard(tests)}</section>
            ${await logTail(logsOf(parts), settings, asked, detail, context)}`
        },
        withoutSections: ({ job }) => whyNoSections(job.status, options.job.sections),
      }),
    ],
    pages: (parts, settings) => [
      at('/pipelines/:projectId/:pipelineId/jobs/:jobId/log', async (request, asked) =>
        jobLogPage(logsOf(parts), settings, asked, request),
      ),
      filteredAt(parts, '/tests', async (request, own) =>
        flakyTestsPage(own, { ...settings, readsTests: options.tests }, request),
      ),
      filteredAt(parts, '/tests/costly', async (request, own) =>
        costlyTestsPage(own, { ...settings, readsTests: options.tests }, request),
      ),
    ],
    routes: (parts, settings) => [
      get(
        '/pipelines/:projectId/:pipelineId/jobs/:jobId/log',
        'The log of a job, fetched from the platform and redacted; only if `PIPESPAN_PAGES_LOGS` is on and an admin token is set.',
        { query: logQuery, answer: jobLogShape },
        async ({ find, ...asked }) => jobLogView(logsOf(parts), settings, asked, find),
      ),
      get(
        '/tests',
        'Flaky tests, most expensive first, for all projects or one.',
        { query: testQuery, answer: flakyTestsShape },
        async asked => answerOf(parts, asked.own, async own => flakyTests(own, settings, asked, own.now())),
      ),
      get(
        '/tests/costly',
        'The tests that fail most often and the slowest tests, most expensive first, for all projects or one.',
        { query: testQuery, answer: costlyTestsShape },
        async asked => answerOf(parts, asked.own, async own => costlyTests(own, asked, own.now())),
      ),
    ],
    tools: [logTool, testTool],
  }
}

const readsOnSources = onSources({
  fields: {},
  read: async () => ({}),
  facts: (_, { jobs: { read = 0, empty = 0, refused = 0, withheld = 0, failed = 0, expired = 0, ...others } = {} }) => {
    const all = [read, empty, refused, withheld, failed, expired, ...Object.values(others)]
    const words = `${number(read + empty)} read, ${number(refused + withheld)} denied, ${number(failed)} failed, ${number(expired)} expired`
    return [['Job logs and reports', all.some(count => count > 0) && words]]
  },
})

/** Explains why a job has no sections. `chosen` is the value of PIPESPAN_JOB_SECTIONS. */
function whyNoSections(status: string, chosen: readonly string[]): Content {
  if (chosen.length === 0) {
    return html`Sections come from the job’s log, which is not read. Set <code>PIPESPAN_JOB_SECTIONS</code> to
      <code>failed</code>, <code>slow</code> or <code>all</code>, with a <code>PIPESPAN_PLATFORM_TOKEN</code>, to see
      the sections of future jobs.`
  }
  if (!isFinished(status)) return 'Sections are read from the log after the pipeline has ended.'
  return html`No sections: <code>PIPESPAN_JOB_SECTIONS</code> (${chosen.join(', ')}) does not include this job, its log
    has not been read yet or cannot be read, or the log has no sections.`
}
