// Computes trends for the trends page and the JSON API: percentiles from bins, compared with the previous period.
import { z } from 'zod'
import { branchClasses } from '../../../model/pipeline.ts'
import { millis, ms, own as ownShape, span as spanShape, type Shaped } from '../../../console/layout/shape.ts'
import { groupsOf, groupsShape } from '../../../console/layout/groups.ts'
import { trendParts } from './trend-part.ts'
import { trendsIn } from '../reading/sql.ts'
import { openingSpan, spans, type Span } from '../../../console/layout/trend-spans.ts'
import {
  figuresOf,
  figuresShape,
  groupLines,
  groupLineShape,
  lineShape,
  lineSorts,
  rankedJobs,
  rankedProjects,
  type LineSort,
} from './lines.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesParts, PagesSettings } from '../../../console/ports.ts'
import type { TrendFilter, TrendQuery, TrendReads, TrendRow, TrendSubject } from '../counting/figures.ts'

const pointShape = figuresShape.extend({ at: millis })
export type TrendPoint = Shaped<typeof pointShape>

export interface AskedTrends extends TrendFilter {
  /** The period to show. If undefined, it depends on how far back the data goes. */
  readonly span?: Span | undefined
  /** The platform's base URL. If undefined and several instances have a project with this ID, the one with the newest figures is shown. */
  readonly instance?: string | undefined
  readonly projectId?: number | undefined
  /** The group's path, with a trailing slash. */
  readonly group?: string | undefined
  /**
   * The value of the grouping attribute (PIPESPAN_PAGES_GROUP_BY) to filter by; `parts` already contain only the projects with this value. If
   * undefined, `parts` contain all projects.
   */
  readonly own?: string | undefined
  readonly job?: string | undefined
  /** An exact branch or tag, or a runner's description. Daily trends are not stored by these, so they are computed from the stored runs. */
  readonly ref?: string | undefined
  readonly runner?: string | undefined
  /** The sort orders of the tables on the trends page. */
  readonly jobs?: LineSort | undefined
  readonly projects?: LineSort | undefined
}

export const trendsShape = z.object({
  span: spanShape,
  step: ms,
  since: millis,
  until: millis,
  instance: z.string().optional().describe('Base URL of the platform, if one was asked for.'),
  project: z.object({ id: z.number(), name: z.string() }).optional(),
  group: z.string().optional().describe('The group whose projects are counted.'),
  own: ownShape,
  job: z.string().optional(),
  filter: z.object({
    branch: z.enum(branchClasses).optional(),
    source: z.string().optional(),
    pipelineName: z.string().optional(),
    ref: z.string().optional(),
    runner: z.string().optional(),
  }),
  pipelineNames: z.array(z.string()),
  points: z.array(pointShape),
  total: figuresShape.describe('Figures of the whole period.'),
  before: figuresShape
    .optional()
    .describe('The previous period of the same length; absent unless all of it is stored.'),
  projects: z.array(lineShape),
  ...groupsShape(groupLineShape),
  jobs: z.array(lineShape),
  sorted: z.object({ projects: z.enum(lineSorts), jobs: z.enum(lineSorts) }),
  retained: z
    .object({
      of: z.enum(['all', 'jobs']).describe('`jobs`: the filters apply only to the table of jobs.'),
      pipelines: z.number(),
      backTo: millis.optional(),
    })
    .optional()
    .describe(
      'Set if stored pipelines were counted: how many there were and, if there were too many to count, how far back they were counted.',
    ),
})
/** Returns the shape of trends, including the fields that features add. */
export function trendsShapeOf(parts: Pick<PagesParts, 'fillings'>) {
  return trendsShape.extend(Object.assign({}, ...trendParts.of(parts).map(({ fields }) => fields)) as z.ZodRawShape)
}

/** The content of a trends page. `pipelineNames` are the names available as filters; `sorted` contains the sort orders of the tables. */
export type Trends = Shaped<typeof trendsShape>

const maxNames = 200
/** The maximum number of sums by project and branch class that are read in order to add them up by group. */
const maxProjectBranches = 20_000

export async function trendsOf(
  parts: PagesParts,
  { groupBy }: Pick<PagesSettings, 'groupBy'>,
  asked: AskedTrends,
  now: Millis,
): Promise<Trends> {
  const stored = trendsIn(parts)
  const { projectId, group, own, job, ref, runner, branch, source, pipelineName } = asked
  const named: Partial<TrendSubject> = projectId === undefined ? {} : { projectId, ...(job !== undefined && { job }) }
  const asks = projectId !== undefined && asked.instance !== undefined
  const extent = await stored.extent(asks ? { ...named, instance: asked.instance } : named)
  const instance = projectId === undefined ? undefined : (asked.instance ?? extent?.instance)
  const subject: Partial<TrendSubject> = instance === undefined ? named : { ...named, instance }
  const span = asked.span ?? openingSpan(extent, now)
  const { step, length } = spans[span]
  const until = now - (now % step) + step
  const query: TrendQuery = { step, since: until - length, until, group, branch, source, pipelineName }
  const earlier: TrendQuery = { ...query, since: query.since - length, until: query.since }
  // Trends by branch or runner are computed from stored runs. So are trends of jobs if they are filtered by the pipelines' source or name, because
  // the stored trend rows of jobs contain neither.
  const isOfStored = ref !== undefined || runner !== undefined
  const jobsAreOfStored = isOfStored || source !== undefined || pipelineName !== undefined
  const counted = jobsAreOfStored
    ? await stored.retained({ ...query, since: earlier.since, instance, projectId, ref, runner })
    : undefined
  const jobFigures: TrendReads = counted?.figures ?? stored
  const figures = isOfStored || job !== undefined ? jobFigures : stored
  const isWholeBefore = (counted?.backTo ?? 0) <= earlier.since
  const isStoredBefore = figures === stored ? (extent?.first ?? Infinity) <= earlier.since : isWholeBefore
  const sorted = { projects: asked.projects ?? 'runs', jobs: asked.jobs ?? 'slowest' } as const
  // Sums by project and branch class are not stored by exact branch or by runner.
  const readsProjectBranches = projectId === undefined && !isOfStored
  const [series, before, names, projects, jobs, added, projectBranches] = await Promise.all([
    figures.series(subject, query),
    isStoredBefore ? figures.series(subject, earlier) : [],
    stored.names({ step, since: query.since, until, group, instance, projectId }, maxNames),
    rankedProjects(figures, sorted.projects, query),
    rankedJobs(jobFigures, sorted.jobs, { query, earlier: isWholeBefore ? earlier : undefined, instance, projectId }),
    Promise.all(trendParts.of(parts).map(async one => one.read(parts, { ...asked, instance }, query.since))),
    readsProjectBranches ? stored.projectBranches(query, maxProjectBranches) : undefined,
  ])
  const name = series.at(-1)?.project ?? extent?.project
  const trends: Trends = {
    span,
    ...{ step, since: query.since, until },
    instance: asks ? instance : undefined,
    project: projectId === undefined ? undefined : { id: projectId, name: name ?? String(projectId) },
    group,
    own,
    job,
    filter: { branch, source, pipelineName, ref, runner },
    pipelineNames: [...new Set(names.map(one => one.name))],
    points: pointsOf(series),
    total: figuresOf(series),
    before: before.length === 0 ? undefined : figuresOf(before),
    projects,
    ...groupsOf(
      projectBranches,
      { scope: group, groupBy, pathOf: one => one.project, branchOf: one => one.branch },
      groupLines,
    ),
    jobs,
    sorted,
    retained: counted && {
      of: figures === stored ? 'jobs' : 'all',
      pipelines: counted.pipelines,
      backTo: counted.backTo,
    },
  }
  return Object.assign(trends, ...added) as Trends
}

/** Returns the data points for the charts. */
function pointsOf(series: readonly TrendRow[]): TrendPoint[] {
  return [...Map.groupBy(series, row => row.bucket)].map(([at, some]) => ({ at, ...figuresOf(some) }))
}
