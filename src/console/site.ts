// The console's pages by path. This table is used both for requests and for live updates.
import { maxProjects } from './layout/scope-heading.ts'
import { comparedRuns, comparedWith } from './pipelines/compared-with.ts'
import { comparePage } from './pipelines/compare.ts'
import { confirmPage, actionOf, exportsPage, exportsView } from './exports/exports.ts'
import { deadLetterPage } from './exports/dead-letter.ts'
import { jobDetail, jobParts } from './jobs/job-detail.ts'
import { jobPage } from './jobs/job.ts'
import { overviewOf, overviewPage } from './overview/overview.ts'
import { notAllowedPage } from './access/entrance.ts'
import { pipelineDetail } from './pipelines/pipeline-detail.ts'
import { pipelinePage } from './pipelines/pipeline.ts'
import { pipelinesPage } from './pipelines/pipelines.ts'
import { sourcesPage, sourcesView } from './sources/sources.ts'
import { askedTimeline, offered, timelineOf } from './timeline/timeline-figures.ts'
import { timelinePage } from './timeline/timeline.ts'
import { at, filteredAt, type Address, type ConsolePart } from './console-part.ts'
import type { PagesParts, PagesSettings } from './ports.ts'

export function siteOf(
  parts: PagesParts,
  settings: PagesSettings,
  features: readonly ConsolePart[],
): readonly Address[] {
  const filtered = (path: string, page: Parameters<typeof filteredAt>[2]): Address => filteredAt(parts, path, page)
  return [
    at('/', async context => {
      const asked = { span: '24h', kinds: [], limit: 50, pipelines: 0 } as const
      const [overview, timeline] = await Promise.all([
        overviewOf(parts, context.now),
        timelineOf(parts, settings, asked, context.now),
      ])
      return overviewPage(overview, timeline, parts, context)
    }),
    filtered('/pipelines', async (context, parts) => pipelinesPage(parts, context)),
    at('/pipelines/:projectId/:pipelineId', async (context, asked) => {
      const detail = await pipelineDetail(parts, settings, asked)
      return detail && pipelinePage(detail, parts, context)
    }),
    at('/pipelines/:projectId/:pipelineId/compare', async (context, asked) => {
      const text = context.query.get('with') ?? 'before'
      const wanted = comparedWith(text)
      const misread =
        wanted === undefined
          ? `“${text}” is not a valid comparison. Use before, green, usual or the ID of a pipeline.`
          : undefined
      const found = await comparedRuns(parts, { ...asked, with: wanted ?? 'before' })
      return found && comparePage(found, misread, context)
    }),
    at('/pipelines/:projectId/:pipelineId/jobs/:jobId', async (context, asked) => {
      const detail = await jobDetail(parts, settings, asked)
      if (detail === undefined) return undefined
      const own = jobParts.of(parts)
      const tail = await Promise.all(own.map(async one => one.failure(parts, settings, asked, detail, context)))
      const links = own.map(one => one.links(detail, settings, context))
      const noSections = own.length === 0 ? 'No sections are known.' : own.map(one => one.withoutSections(detail))
      return jobPage(detail, { links, tail, noSections, legacyName: parts.legacyName }, context)
    }),
    filtered('/timeline', async (context, parts) => {
      const timeline = await timelineOf(parts, settings, askedTimeline(context.query), context.now)
      return timelinePage(timeline, offered(parts.timeline, settings), await parts.views.projects(maxProjects), context)
    }),
    at('/sources', async context => sourcesPage(await sourcesView(parts), parts, context)),
    at('/exports', async context => exportsPage(await exportsView(parts, context.query.get('sort')), context)),
    at('/exports/confirm', async context => {
      if (context.may === 'nothing') return notAllowedPage()
      const action = actionOf(context.query)
      return action && (await confirmPage(parts, action, context))
    }),
    at('/exports/:id', async (context, { id }) => deadLetterPage(parts, id, context)),
    ...features.flatMap(({ pages }) => pages?.(parts, settings) ?? []),
  ]
}
