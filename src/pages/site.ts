// The table of pages by their paths, for requests and for live updates.
import { auditPage, auditView } from './sources/audit.ts'
import { behindPage } from './environments/behind.ts'
import { changesPage } from './changes/changes.ts'
import { comparedRuns, comparedWith } from './pipelines/compared-with.ts'
import { comparePage } from './pipelines/compare.ts'
import { confirmPage, actionOf, exportsPage, exportsView } from './exports/exports.ts'
import { costlyTestsPage, flakyTestsPage } from './tests/tests.ts'
import { deadLetterPage } from './exports/dead-letter.ts'
import { environmentsPage } from './environments/environments.ts'
import { jobDetail } from './jobs/job-detail.ts'
import { jobLogPage } from './jobs/job-log.ts'
import { jobPage } from './jobs/job.ts'
import { overviewOf, overviewPage } from './overview/overview.ts'
import { NotShown } from './layout/not-shown.ts'
import { notShownPage } from './access/entrance.ts'
import { pipelineDetail } from './pipelines/pipeline-detail.ts'
import { pipelinePage } from './pipelines/pipeline.ts'
import { pipelinesPage } from './pipelines/pipelines.ts'
import { sourcesPage, sourcesView } from './sources/sources.ts'
import { askedTrends } from './trends/trend-filters.ts'
import { trendsOf } from './trends/trend-figures.ts'
import { tokensPage, tokensView } from './sources/tokens.ts'
import { costPage } from './cost/cost.ts'
import { costsView } from './cost/cost-figures.ts'
import { regressionsPage } from './trends/regressions.ts'
import { spanOf } from './layout/trend-spans.ts'
import { askedTimeline, timelineOf } from './changes/timeline-figures.ts'
import { timelinePage } from './changes/timeline.ts'
import { trendsPage } from './trends/trends.ts'
import { wholeNumber } from './layout/whole-number.ts'
import type { Page, Reader } from './layout/frame.ts'
import type { PagesParts, PagesSettings } from './ports.ts'

export interface Address {
  /** Rendering it sends requests to the platform, so it is never updated live. */
  readonly isOnDemand?: true
  /** In fastify's syntax: `/pipelines/:project/:pipeline`. */
  readonly path: string
  /** Undefined becomes "not found". `given`: the values of the path's parameters. */
  readonly page: (reader: Reader, given: readonly string[]) => Promise<Page | undefined>
}

/** How many projects are suggested in the form. */
const mostProjects = 500

export function siteOf(parts: PagesParts, settings: PagesSettings): readonly Address[] {
  return [
    {
      path: '/',
      page: async reader => {
        const asked = { span: '24h', kinds: [], limit: 50, pipelines: 0 } as const
        const [overview, timeline] = await Promise.all([
          overviewOf(parts, reader.now),
          timelineOf(parts, settings, asked, reader.now),
        ])
        return overviewPage(overview, timeline, reader)
      },
    },
    { path: '/pipelines', page: async reader => pipelinesPage(parts, reader) },
    {
      path: '/pipelines/:project/:pipeline',
      page: async (reader, given) => {
        const [projectId, pipelineId] = given.map(wholeNumber)
        if (projectId === undefined || pipelineId === undefined) return undefined
        const instance = reader.query.get('instance') ?? undefined
        const detail = await pipelineDetail(parts, settings, { projectId, pipelineId, instance })
        return detail && pipelinePage(detail, parts, reader)
      },
    },
    {
      path: '/pipelines/:project/:pipeline/compare',
      page: async (reader, given) => {
        const [projectId, pipelineId] = given.map(wholeNumber)
        if (projectId === undefined || pipelineId === undefined) return undefined
        const instance = reader.query.get('instance') ?? undefined
        const text = reader.query.get('with') ?? 'before'
        const wanted = comparedWith(text)
        const misread =
          wanted === undefined
            ? `“${text}” is nothing to compare with: write before, green, usual or the number of a pipeline.`
            : undefined
        const found = await comparedRuns(parts, { projectId, pipelineId, instance, with: wanted ?? 'before' })
        return found && comparePage(found, misread, reader)
      },
    },
    {
      path: '/pipelines/:project/:pipeline/jobs/:job',
      page: async (reader, given) => {
        const [projectId, pipelineId, jobId] = given.map(wholeNumber)
        if (projectId === undefined || pipelineId === undefined || jobId === undefined) return undefined
        const instance = reader.query.get('instance') ?? undefined
        const detail = await jobDetail(parts, settings, { projectId, pipelineId, jobId, instance })
        const showsLog = parts.jobLog !== undefined && settings.adminToken() !== undefined
        return detail && jobPage(detail, { ...settings, showsLog, legacyName: parts.legacyName }, reader)
      },
    },
    {
      path: '/pipelines/:project/:pipeline/jobs/:job/log',
      isOnDemand: true,
      page: async (reader, given) => {
        const [projectId, pipelineId, jobId] = given.map(wholeNumber)
        if (projectId === undefined || pipelineId === undefined || jobId === undefined) return undefined
        const instance = reader.query.get('instance') ?? undefined
        return jobLogPage(parts, settings, { projectId, pipelineId, jobId, instance }, reader)
      },
    },
    {
      path: '/trends',
      page: async reader => {
        const trends = await trendsOf(parts, askedTrends(reader.query), reader.now)
        const { project, job, span } = trends
        if (project === undefined || job !== undefined) return trendsPage(trends, undefined, reader)
        const asked = { span, project: project.name, kinds: [], limit: 100, pipelines: 100 }
        return trendsPage(trends, await timelineOf(parts, settings, asked, reader.now), reader)
      },
    },
    { path: '/trends/regressions', page: async reader => regressionsPage(parts, settings, reader) },
    {
      path: '/cost',
      page: async reader => {
        const asked = {
          span: spanOf(reader.query.get('span')),
          projectId: wholeNumber(reader.query.get('project') ?? ''),
        }
        return costPage(await costsView(parts, settings, asked), reader)
      },
    },
    { path: '/tests', page: async reader => flakyTestsPage(parts, settings, reader) },
    { path: '/tests/costly', page: async reader => costlyTestsPage(parts, settings, reader) },
    { path: '/changes', page: async reader => changesPage(parts, reader) },
    { path: '/environments', page: async reader => environmentsPage(parts, reader) },
    {
      path: '/environments/behind/:project',
      isOnDemand: true,
      page: async (reader, given) => {
        const [projectId] = given.map(wholeNumber)
        const environment = reader.query.get('environment')
        if (projectId === undefined || environment === null) return undefined
        const instance = reader.query.get('instance') ?? undefined
        return behindPage(parts, { projectId, environment, instance }, reader)
      },
    },
    {
      path: '/timeline',
      page: async reader => {
        const timeline = await timelineOf(parts, settings, askedTimeline(reader.query), reader.now)
        return timelinePage(timeline, settings, await parts.views.projects(mostProjects), reader)
      },
    },
    { path: '/sources', page: async reader => sourcesPage(await sourcesView(parts), reader) },
    { path: '/exports', page: async reader => exportsPage(await exportsView(parts, reader.query.get('sort')), reader) },
    {
      path: '/exports/confirm',
      page: async reader => {
        const action = actionOf(reader.query)
        return action && confirmPage(action, reader)
      },
    },
    {
      path: '/exports/:id',
      page: async (reader, [id = '']) => {
        const number = wholeNumber(id)
        return number === undefined ? undefined : deadLetterPage(parts, number, reader)
      },
    },
    {
      path: '/audit',
      page: async reader => {
        const view = await auditView(parts, settings, reader.query.get('after') ?? undefined)
        return view instanceof NotShown ? notShownPage(view) : auditPage(view, reader)
      },
    },
    { path: '/tokens', page: async reader => tokensPage(await tokensView(parts, reader.query.get('sort')), reader) },
  ]
}

/** The page at a path, with the values of the path's parameters. */
export function addressed(
  site: readonly Address[],
  path: string,
): { readonly address: Address; readonly given: readonly string[] } | undefined {
  const wanted = path.replace(/(?<=.)\/$/, '').split('/')
  for (const address of site) {
    const parts = address.path.split('/')
    if (parts.length !== wanted.length) continue
    if (!parts.every((part, index) => part.startsWith(':') || part === wanted[index])) continue
    return { address, given: wanted.filter((_, index) => parts[index]?.startsWith(':') === true) }
  }
  return undefined
}
