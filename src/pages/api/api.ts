// The JSON API: one table of routes. Both the routes and their OpenAPI description are made from it.
import { z } from 'zod'
import type { ApiRoute } from './api-route.ts'
import { auditView, auditShape } from '../sources/audit.ts'
import { environmentsOf, environmentsShape } from '../environments/environment-figures.ts'
import { exportRoutes } from './api-export-routes.ts'
import { pipelineList, pipelineListShape } from '../pipelines/pipelines.ts'
import { jobDetail, jobDetailShape } from '../jobs/job-detail.ts'
import { jobLogView, jobLogShape } from '../jobs/job-log-detail.ts'
import { overviewOf } from '../overview/overview.ts'
import { overviewShape } from '../overview/overview-shape.ts'
import { pipelineDetail, pipelineDetailShape } from '../pipelines/pipeline-detail.ts'
import {
  defaultRegressions,
  previewOf,
  previewShape,
  regressionsOf,
  regressionsShape,
} from '../trends/regression-figures.ts'
import { sourcesView, sourcesShape } from '../sources/sources.ts'
import { comparedRuns, comparedRunsShape } from '../pipelines/compared-with.ts'
import { costsView, costsShape } from '../cost/cost-figures.ts'
import { behindOf, behindShape } from '../environments/behind.ts'
import { changesOf, changesShape } from '../changes/change-figures.ts'
import { timelineOf, timelineShape } from '../changes/timeline-figures.ts'
import { trendsOf, trendsShape } from '../trends/trend-figures.ts'
import { costlyTests, costlyTestsShape, flakyTests, flakyTestsShape } from '../tests/test-figures.ts'
import { tokensView, tokensShape } from '../sources/tokens.ts'
import {
  auditQuery,
  behindQuery,
  changesQuery,
  compareQuery,
  costQuery,
  filters,
  logQuery,
  previewQuery,
  regressionQuery,
  scopedQuery,
  testQuery,
  timelineQuery,
  tokensQuery,
  trendQuery,
  wholeNumber,
} from './api-queries.ts'
import type { PagesParts, PagesSettings } from '../ports.ts'

export function apiRoutes(
  parts: PagesParts,
  settings: Pick<PagesSettings, 'adminToken' | 'readsAudit' | 'traceLink' | 'costUnit' | 'hasPrices' | 'regressions'>,
): readonly ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/overview',
      says: 'What needs attention, the flow from webhook to backend, running and recently finished pipelines.',
      answer: overviewShape,
      handle: async () => overviewOf(parts, parts.now()),
    },
    {
      method: 'GET',
      path: '/pipelines',
      says: 'Pipelines, newest first, filtered and paginated.',
      query: filters,
      answer: pipelineListShape,
      handle: async ({ query }) => {
        const { limit, ...rest } = query
        return pipelineList(parts, rest, limit as number)
      },
    },
    {
      method: 'GET',
      path: '/pipelines/:projectId/:pipelineId',
      says: 'One pipeline with its family, its exports and every span sent for it.',
      params: z.object({ projectId: wholeNumber, pipelineId: wholeNumber }),
      query: z.object({ instance: z.string().optional() }),
      answer: pipelineDetailShape,
      handle: async ({ params, query }) =>
        pipelineDetail(parts, settings, {
          projectId: params.projectId as number,
          pipelineId: params.pipelineId as number,
          instance: query.instance as string | undefined,
        }),
    },
    {
      method: 'GET',
      path: '/pipelines/:projectId/:pipelineId/compare',
      says: 'One pipeline compared with another run: jobs joined by stage and name, and what explains the difference in duration.',
      params: z.object({ projectId: wholeNumber, pipelineId: wholeNumber }),
      query: compareQuery,
      answer: comparedRunsShape,
      handle: async ({ params, query }) => {
        const { projectId, pipelineId } = params as { projectId: number; pipelineId: number }
        return comparedRuns(parts, { projectId, pipelineId, ...compareQuery.parse(query) })
      },
    },
    {
      method: 'GET',
      path: '/pipelines/:projectId/:pipelineId/jobs/:jobId',
      says: 'One job with its sections, tests, usual duration, recent runs and every span sent for it.',
      params: z.object({ projectId: wholeNumber, pipelineId: wholeNumber, jobId: wholeNumber }),
      query: z.object({ instance: z.string().optional() }),
      answer: jobDetailShape,
      handle: async ({ params, query }) =>
        jobDetail(parts, settings, {
          projectId: params.projectId as number,
          pipelineId: params.pipelineId as number,
          jobId: params.jobId as number,
          instance: query.instance as string | undefined,
        }),
    },
    {
      method: 'GET',
      path: '/pipelines/:projectId/:pipelineId/jobs/:jobId/log',
      says: 'The log of a job, fetched from the platform and redacted; only where `PIPESPAN_PAGES_LOGS` is on and an admin token is set.',
      params: z.object({ projectId: wholeNumber, pipelineId: wholeNumber, jobId: wholeNumber }),
      query: logQuery,
      answer: jobLogShape,
      handle: async ({ params, query }) => {
        const { projectId, pipelineId, jobId } = params as { projectId: number; pipelineId: number; jobId: number }
        const { instance, find } = logQuery.parse(query)
        return jobLogView(parts, settings, { projectId, pipelineId, jobId, instance }, find)
      },
    },
    {
      method: 'GET',
      path: '/trends',
      says: 'Durations, queue times and failures over time, for all projects, one project or one job, compared with the previous period.',
      query: trendQuery,
      answer: trendsShape,
      handle: async ({ query }) => {
        const { project, name, ...rest } = trendQuery.parse(query)
        return trendsOf(parts, { ...rest, projectId: project, pipelineName: name }, parts.now())
      },
    },
    {
      method: 'GET',
      path: '/trends/regressions',
      says: 'Pipelines and jobs that became slower or less reliable: unresolved ones, and those resolved in the last 100 days, for all projects or one.',
      query: regressionQuery,
      answer: regressionsShape,
      handle: async ({ query }) => {
        const { project, job } = regressionQuery.parse(query)
        return { regressions: await regressionsOf(parts, { projectId: project, job }) }
      },
    },
    {
      method: 'GET',
      path: '/trends/regressions/preview/:projectId',
      says: 'What a rule would have flagged in a project, by its stored pipelines. Changes nothing.',
      params: z.object({ projectId: wholeNumber }),
      query: previewQuery,
      answer: previewShape,
      handle: async ({ params, query }) => {
        const { slower, slower_by: slowerBy, failing } = previewQuery.parse(query)
        const { rule } = settings.regressions ?? defaultRegressions
        const asked = {
          slower: slower ?? rule.slower,
          slowerBy: slowerBy ?? rule.slowerBy,
          failing: failing ?? rule.failing,
        }
        return previewOf(parts, params.projectId as number, asked)
      },
    },
    {
      method: 'GET',
      path: '/cost',
      says: 'Job minutes and cost by project, job, branch class, runner type and day, and how much of it was retried, superseded, failed or flaky; and by exact branch and runner, over the pipelines that are stored.',
      query: costQuery,
      answer: costsShape,
      handle: async ({ query }) => {
        const { project, span } = costQuery.parse(query)
        return costsView(parts, settings, { span, projectId: project })
      },
    },
    {
      method: 'GET',
      path: '/tests',
      says: 'Flaky tests, most expensive first, for all projects or one.',
      query: testQuery,
      answer: flakyTestsShape,
      handle: async ({ query }) => flakyTests(parts, testQuery.parse(query), parts.now()),
    },
    {
      method: 'GET',
      path: '/tests/costly',
      says: 'The most failing and the slowest tests, most expensive first, for all projects or one.',
      query: testQuery,
      answer: costlyTestsShape,
      handle: async ({ query }) => costlyTests(parts, testQuery.parse(query), parts.now()),
    },
    {
      method: 'GET',
      path: '/environments',
      says: 'What is deployed where, deployment frequency, lead time and failures, and the latest deployments, for all projects or one.',
      query: scopedQuery,
      answer: environmentsShape,
      handle: async ({ query }) => environmentsOf(parts, scopedQuery.parse(query), parts.now()),
    },
    {
      method: 'GET',
      path: '/environments/behind/:projectId',
      says: 'How many commits the deployed revision is behind the default branch. Sends one request to the platform; requires the platform API to be configured.',
      params: z.object({ projectId: wholeNumber }),
      query: behindQuery,
      answer: behindShape,
      handle: async ({ params, query }) =>
        behindOf(parts, { ...(params as { projectId: number }), ...behindQuery.parse(query) }),
    },
    {
      method: 'GET',
      path: '/changes',
      says: 'Changes (merge requests): times to merge, to first approval and to first pipeline, and the latest changes, for all projects or one.',
      query: changesQuery,
      answer: changesShape,
      handle: async ({ query }) => changesOf(parts, changesQuery.parse(query), parts.now()),
    },
    {
      method: 'GET',
      path: '/timeline',
      says: 'Deployments, merges, releases, flags, incidents and audit events, newest first, and the newest pipelines, for all projects or one. Audit events require an admin token to be configured.',
      query: timelineQuery,
      answer: timelineShape,
      handle: async ({ query }) => {
        const { kind = [], ...asked } = timelineQuery.parse(query)
        return timelineOf(parts, settings, { ...asked, kinds: [kind].flat() }, parts.now())
      },
    },
    {
      method: 'GET',
      path: '/sources',
      says: 'Webhooks, poller and redelivery: what each reported, what was refused, and how far each has read.',
      answer: sourcesShape,
      handle: async () => sourcesView(parts),
    },
    {
      method: 'GET',
      path: '/audit',
      says: 'Exported audit events, newest first, paginated, and how far they have been read. Requires an admin token to be configured.',
      query: auditQuery,
      answer: auditShape,
      handle: async ({ query }) => {
        const { after, limit } = auditQuery.parse(query)
        return auditView(parts, settings, after, limit)
      },
    },
    ...exportRoutes(parts),
    {
      method: 'GET',
      path: '/tokens',
      says: 'Ingest tokens in use, by name and fingerprint, and recorded rotations.',
      query: tokensQuery,
      answer: tokensShape,
      handle: async ({ query }) => tokensView(parts, tokensQuery.parse(query).sort),
    },
  ]
}
