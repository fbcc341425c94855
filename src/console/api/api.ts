// The JSON API as a single table of routes, from which both the routes and their OpenAPI description are generated.
import { z } from 'zod'
import { get, post, type ApiRoute } from './api-route.ts'
import { answerOf } from '../access/own-values.ts'
import { deadLetterDetail, deadLetterDetailShape } from '../exports/dead-letter.ts'
import { exportsQuery, exportsShape, exportsView, perform, tryNow } from '../exports/exports.ts'
import { triedNowShape } from '../exports/columns.ts'
import { pipelineList, pipelineListShape } from '../pipelines/pipelines.ts'
import { pipelinesQuery } from '../pipelines/run-filters.ts'
import { jobDetail, jobDetailShapeOf } from '../jobs/job-detail.ts'
import { overviewOf } from '../overview/overview.ts'
import { overviewShapeOf } from '../overview/overview-shape.ts'
import { pipelineDetail, pipelineDetailShape } from '../pipelines/pipeline-detail.ts'
import { configStatusShape } from '../sources/setup-shape.ts'
import { sourcesView, sourcesShapeOf } from '../sources/sources.ts'
import { comparedRuns, comparedRunsShape } from '../pipelines/compared-with.ts'
import { timelineKinds, timelineOf, timelineShape } from '../timeline/timeline-figures.ts'
import { chosen, compareQuery, instanceQuery, overviewQuery, timelineQuery, tried } from './api-queries.ts'
import type { ApiSettings, ConsolePart } from '../console-part.ts'
import type { PagesParts } from '../ports.ts'

const count = z.object({ count: z.number() })

export function apiRoutes(
  parts: PagesParts,
  settings: ApiSettings,
  features: readonly Pick<ConsolePart, 'routes' | 'timeline'>[],
): readonly ApiRoute[] {
  return [
    get(
      '/overview',
      'Problems that need attention, the flow from webhook to backend, and running and recently finished pipelines.',
      { query: overviewQuery, answer: overviewShapeOf(parts) },
      async ({ limit }) => overviewOf(parts, parts.now(), limit),
    ),
    get(
      '/config',
      'The live configuration: its digest, when it came into use, and the results of reloads.',
      { answer: configStatusShape },
      async () => parts.configStatus?.(),
    ),
    get(
      '/pipelines',
      'Pipelines, newest first, filtered and paginated.',
      { query: pipelinesQuery, answer: pipelineListShape },
      async ({ limit, ...asked }) => answerOf(parts, asked.own, async own => pipelineList(own, asked, limit)),
    ),
    get(
      '/pipelines/:projectId/:pipelineId',
      'One pipeline with its family, its exports and every span sent for it.',
      { query: instanceQuery, answer: pipelineDetailShape },
      async asked => pipelineDetail(parts, settings, asked),
    ),
    get(
      '/pipelines/:projectId/:pipelineId/compare',
      'One pipeline compared with another run: jobs joined by stage and name, and what explains the difference in duration.',
      { query: compareQuery, answer: comparedRunsShape },
      async asked => comparedRuns(parts, asked),
    ),
    get(
      '/pipelines/:projectId/:pipelineId/jobs/:jobId',
      'One job with its sections, usual duration, recent runs and every span sent for it.',
      { query: instanceQuery, answer: jobDetailShapeOf(parts) },
      async asked => jobDetail(parts, settings, asked),
    ),
    get(
      '/timeline',
      'Deployments, merges, releases, flags, incidents, audit events and pipelines, newest first, for all projects or one project. Audit events are only included if an admin token is configured.',
      {
        query: timelineQuery(timelineKinds(features.flatMap(({ timeline }) => timeline ?? []))),
        answer: timelineShape,
      },
      async ({ kind = [], ...asked }) =>
        answerOf(parts, asked.own, async own =>
          timelineOf(own, settings, { ...asked, kinds: [kind].flat() }, own.now()),
        ),
    ),
    get(
      '/sources',
      'Webhooks, poller and redelivery: what each reported, what was refused, and how far each has read.',
      { answer: sourcesShapeOf(parts) },
      async () => sourcesView(parts),
    ),
    get(
      '/exports',
      'The backlog of each destination and signal, and the newest dead letters.',
      { query: exportsQuery, answer: exportsShape },
      async ({ sort }) => exportsView(parts, sort),
    ),
    get(
      '/exports/dead-letters/:deadLetterId',
      'One dead letter with the spans or the record that the backend refused.',
      { answer: deadLetterDetailShape },
      async ({ deadLetterId }) => deadLetterDetail(parts, deadLetterId),
    ),
    post(
      '/exports/try',
      'Retries pending exports now, and lets open circuit breakers probe at once, for one destination or all.',
      { body: tried, answer: triedNowShape, isOfAll: true },
      async ({ destination }, by) => tryNow(parts, by, destination),
    ),
    post(
      '/dead-letters/retry',
      'Sends the named dead letters again, or all of them.',
      { body: chosen, answer: count },
      async ({ ids }, by) => ({ count: await perform(parts, { verb: 'retry', which: ids }, by) }),
    ),
    post(
      '/dead-letters/drop',
      'Drops the named dead letters for good, or all of them.',
      { body: chosen, answer: count },
      async ({ ids }, by) => ({ count: await perform(parts, { verb: 'drop', which: ids }, by) }),
    ),
    ...features.flatMap(({ routes }) => routes?.(parts, settings) ?? []),
  ]
}
