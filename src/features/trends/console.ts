// The pages, API routes and tools for trends, costs, and what to fix first.
import { z } from 'zod'
import { answerOf } from '../../console/access/own-values.ts'
import { askedTrends } from './pages/filters.ts'
import { branchClasses } from '../../model/pipeline.ts'
import { costPage } from './cost/cost.ts'
import { costsShape } from './cost/shape.ts'
import { costsView } from './cost/figures.ts'
import { createFixFirst, fixFirstCard, fixFirstShape, type FixFirst } from './fix-first/view.ts'
import { createUsuals } from './usuals.ts'
import { filteredAt, type ConsolePart } from '../../console/console-part.ts'
import { get } from '../../console/api/api-route.ts'
import { given, wholeNumber } from '../../console/layout/address.ts'
import { group, instanceQuery, ownValue, projectId, text } from '../../console/api/api-queries.ts'
import { isGroup } from '../../core/store/ports/project-scope.ts'
import { lineSorts } from './pages/lines.ts'
import { onOverview } from '../../console/overview/overview-shape.ts'
import { spanNames, spanOf } from '../../console/layout/trend-spans.ts'
import { timelineOf } from '../../console/timeline/timeline-figures.ts'
import { trendsIn } from './reading/sql.ts'
import { trendsOf, trendsShape, trendsShapeOf, type Trends } from './pages/figures.ts'
import { trendsPage } from './pages/trends.ts'
import { usualsSlot } from '../../console/pipelines/usual.ts'
import type { PagesParts } from '../../console/ports.ts'
import type { PartContext } from '../../daemon/feature.ts'

const { instance } = instanceQuery.shape
const trendQuery = z.object({
  span: z.enum(spanNames).optional().describe('Period. Default: as far back as there is data.'),
  project: projectId,
  instance,
  group,
  own: ownValue,
  job: text('Exact name of a job of the `project`.'),
  branch: z.enum(branchClasses).optional().describe('Branch class.'),
  source: z.string().optional().describe('What started the pipeline, e.g. `push`.'),
  name: z.string().optional().describe('Pipeline name.'),
  ref: z.string().optional().describe('Exact branch or tag; counts stored pipelines only.'),
  runner: z.string().optional().describe('Runner description; counts stored jobs only.'),
  jobs: z.enum(lineSorts).optional().describe('Sort order of jobs.'),
  projects: z.enum(lineSorts).optional().describe('Sort order of projects.'),
})
const costQuery = z.object({
  span: z.enum(spanNames).exclude(['24h']).optional().describe('Period. Default: as far back as there is data.'),
  project: projectId,
  instance,
  group,
  own: ownValue,
  exact: z
    .enum(['true', 'false'])
    .optional()
    .describe('If `true`, costs are also returned by exact branch and runner, which takes up to a second.'),
})

export function trendsConsole(context: Pick<PartContext, 'config'>): ConsolePart {
  const known = new WeakMap<PagesParts, () => Promise<FixFirst>>()
  /** Returns the list of what to fix first, cached separately for each set of projects that users may see. */
  const fixFirstOf = async (parts: PagesParts): Promise<FixFirst> => {
    const { rules, unit } = context.config.costs
    const read = known.get(parts) ?? createFixFirst(parts, rules.length === 0 ? undefined : { unit })
    known.set(parts, read)
    return read()
  }
  return {
    links: [
      { group: 'Why is it slow', link: ['/trends', 'Trends', 'scoped'] },
      { group: 'Why is it slow', link: ['/cost', 'Cost', 'scoped'] },
    ],
    fills: [
      usualsSlot.with((reads, now) => createUsuals(trendsIn(reads), now)),
      onOverview({
        region: 'fix-first',
        fields: { fixFirst: fixFirstShape },
        read: async parts => ({ fixFirst: await fixFirstOf(parts) }),
        card: ({ fixFirst }, context) => fixFirstCard(fixFirst, context),
      }),
    ],
    pages: (parts, settings) => [
      filteredAt(parts, '/trends', async (context, of) => {
        const trends = await trendsOf(of, settings, askedTrends(context.query), context.now)
        const { project, job, span } = trends
        if (project === undefined || job !== undefined) return trendsPage(trends, undefined, of, context)
        const asked = { span, project: project.name, kinds: [], limit: 100, pipelines: 100 }
        return trendsPage(trends, await timelineOf(of, settings, asked, context.now), of, context)
      }),
      filteredAt(parts, '/cost', async (context, of) => {
        const { query } = context
        const scope = query.get('project') ?? ''
        const asked = {
          ...{ span: spanOf(query.get('span')), projectId: wholeNumber(scope), own: given(query, 'own') },
          instance: given(query, 'instance'),
          group: isGroup(scope) ? scope : undefined,
          isExact: query.get('exact') === 'true',
        }
        return costPage(await costsView(of, settings, asked), context)
      }),
    ],
    routes: (parts, settings) => [
      get('/fix-first', 'The fixable problems that cost most per week.', { answer: fixFirstShape }, async () =>
        fixFirstOf(parts),
      ),
      get(
        '/trends',
        'Durations, queue times and failures over time, for all projects, one project or one job, compared with the previous period.',
        { query: trendQuery, answer: trendsShapeOf(parts) },
        async ({ project, name: pipelineName, ...rest }) =>
          answerOf(parts, rest.own, async of =>
            trendsOf(of, settings, { ...rest, projectId: project, pipelineName }, of.now()),
          ),
      ),
      get(
        '/cost',
        'Job time and cost by project, job, branch class, runner type and day, and how much of it was wasted: retried, superseded or failed. With `exact=true` also by exact branch and runner, for pipelines that are still stored.',
        { query: costQuery, answer: costsShape },
        async ({ project, exact, ...rest }) =>
          answerOf(parts, rest.own, async of =>
            costsView(of, settings, { ...rest, projectId: project, isExact: exact === 'true' }),
          ),
      ),
    ],
    tools: [
      {
        name: 'fix_first',
        title: 'What to fix first',
        description:
          'The problems that cost most per week, most expensive first: jobs that always fail, flaky tests, regressions, waits for runners, superseded pipelines. Times are in milliseconds per week. Start with this tool unless the question is more specific.',
        path: '/fix-first',
      },
      {
        name: 'cost',
        title: 'Cost of pipelines',
        description:
          'Job time in milliseconds, and cost in `unit` if there is a price table, by project, job, branch class, runner type and the operator’s own attribute; and how much was wasted: retried, superseded, failed.',
        path: '/cost',
        answer: costsShape.omit({ days: true, retained: true }),
      },
      {
        name: 'trends',
        title: 'Trends',
        description:
          'Runs, failures, and durations and queue times in milliseconds (median, 95th percentile) over a period, compared with the previous period: in total, by project and by job.',
        path: '/trends',
        // The response shape is loose, because features add fields to it.
        answer: trendsShape.omit({ points: true, pipelineNames: true, sorted: true }).loose(),
        select: ({ points: _, pipelineNames: __, sorted: ___, ...found }: Trends) => found,
      },
    ],
  }
}
