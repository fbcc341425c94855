// Figures over time as the page and the JSON API show them: percentiles from bins, beside those of the period before.
import { figuresOf, type Figures } from './trend-sum.ts'
import { regressionsOf, type ShownRegression } from './regression-figures.ts'
import { openingSpan, spans, type Span } from './trend-spans.ts'
import { rankedJobs, rankedProjects, type LineSort, type TrendLine } from './trend-lines.ts'
import type { Millis } from '../model/instant.ts'
import type { PagesSources } from './ports.ts'
import type { TrendFilter, TrendQuery, TrendReads, TrendRow, TrendStep, TrendSubject } from '../store/ports/trends.ts'

export interface TrendPoint extends Figures {
  readonly at: Millis
}

export interface AskedTrends extends TrendFilter {
  /** Undefined: where the data is. */
  readonly span?: Span | undefined
  readonly projectId?: number | undefined
  readonly job?: string | undefined
  /** An exact branch or tag, a runner by its description: of these the runs that are stored are counted. */
  readonly ref?: string | undefined
  readonly runner?: string | undefined
  /** What the tables are sorted by. */
  readonly jobs?: LineSort | undefined
  readonly projects?: LineSort | undefined
}

export interface Trends {
  readonly span: Span
  readonly step: TrendStep
  readonly since: Millis
  readonly until: Millis
  /** Undefined: all projects. */
  readonly project?: { readonly id: number; readonly name: string } | undefined
  readonly job?: string | undefined
  readonly filter: TrendFilter & Pick<AskedTrends, 'ref' | 'runner'>
  /** Names of pipelines to choose from. */
  readonly pipelineNames: readonly string[]
  readonly points: readonly TrendPoint[]
  /** Of the whole time. */
  readonly total: Figures
  /** The same of the time of the same length before; undefined where nothing of it, or not all of it, is stored. */
  readonly before?: Figures | undefined
  readonly projects: readonly TrendLine[]
  readonly jobs: readonly TrendLine[]
  /** Of the project or job, in this period or still; of all projects those. */
  readonly regressions: readonly ShownRegression[]
  /** What the tables are sorted by. */
  readonly sorted: { readonly projects: LineSort; readonly jobs: LineSort }
  /** Where the runs that are stored were counted: how many, and how far back where there were too many. */
  readonly retained?:
    | {
        /** `jobs`: the table of jobs alone was made so. */
        readonly of: 'all' | 'jobs'
        readonly pipelines: number
        readonly backTo?: Millis | undefined
      }
    | undefined
}

const mostNames = 200

export async function trendsOf(
  { views, repositories }: Pick<PagesSources, 'views' | 'repositories'>,
  asked: AskedTrends,
  now: Millis,
): Promise<Trends> {
  const { projectId, job, ref, runner, branch, source, pipelineName } = asked
  const subject: Partial<TrendSubject> =
    projectId === undefined ? {} : { projectId, ...(job === undefined ? {} : { job }) }
  const span = asked.span ?? openingSpan(await views.trends.extent(subject), now)
  const { step, length } = spans[span]
  const until = now - (now % step) + step
  const query: TrendQuery = { step, since: until - length, until, branch, source, pipelineName }
  const earlier: TrendQuery = { ...query, since: query.since - length, until: query.since }
  // Jobs are not kept apart by the source and the name of their pipelines.
  const isOfStored = ref !== undefined || runner !== undefined
  const jobsAreOfStored = isOfStored || source !== undefined || pipelineName !== undefined
  const counted = jobsAreOfStored
    ? await views.trends.retained({ ...query, since: earlier.since, projectId, ref, runner })
    : undefined
  const jobFigures: TrendReads = counted?.figures ?? views.trends
  const figures = isOfStored || job !== undefined ? jobFigures : views.trends
  const isWholeBefore = (counted?.backTo ?? 0) <= earlier.since
  const sorted = { projects: asked.projects ?? 'runs', jobs: asked.jobs ?? 'slowest' } as const
  const [series, before, names, projects, jobs, worse] = await Promise.all([
    figures.series(subject, query),
    isWholeBefore || figures === views.trends ? figures.series(subject, earlier) : [],
    views.trends.names({ step, since: query.since, until, projectId }, mostNames),
    rankedProjects(figures, sorted.projects, query),
    rankedJobs(jobFigures, sorted.jobs, { query, earlier: isWholeBefore ? earlier : undefined, projectId }),
    regressionsOf({ repositories }, { projectId, job, since: query.since }),
  ])
  const name = projects.find(one => one.projectId === projectId)?.project ?? series[0]?.project
  return {
    span,
    ...{ step, since: query.since, until },
    project: projectId === undefined ? undefined : { id: projectId, name: name ?? String(projectId) },
    job,
    filter: { branch, source, pipelineName, ref, runner },
    pipelineNames: [...new Set(names.map(one => one.name))],
    points: pointsOf(series),
    total: figuresOf(series),
    before: before.length === 0 ? undefined : figuresOf(before),
    projects,
    jobs,
    regressions: worse.filter(one => branch === undefined || one.branch === branch),
    sorted,
    retained: counted && {
      of: figures === views.trends ? 'jobs' : 'all',
      pipelines: counted.pipelines,
      backTo: counted.backTo,
    },
  }
}

/** Projects of one id on several instances are shown as one here. */
function pointsOf(series: readonly TrendRow[]): TrendPoint[] {
  return [...Map.groupBy(series, row => row.bucket)].map(([at, some]) => ({ at, ...figuresOf(some) }))
}
