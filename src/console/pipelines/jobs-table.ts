// The paginated table of a pipeline's jobs. Failed jobs come first, unless the table is sorted by a column.
import { hasFailed } from '../../model/status.ts'
import { addressWith, given } from '../layout/address.ts'
import { number } from '../layout/format.ts'
import { alternatives, empty, table, type RequestContext } from '../layout/frame.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { jobAddress, pipelineAddress } from './run-rows.ts'
import { byStart, jobList, type JobCard } from './job-card.ts'
import { cellsOf, sorting } from '../layout/sorting.ts'
import type { PipelineDetail } from './pipeline-detail.ts'

/** The maximum number of jobs on one page of the table. */
const maxJobsPerPage = 500
/** The number of rows above which the table scrolls independently of the page. */
const maxTall = 40

/** Renders the table. `jobs` contains the jobs that the filter selects. */
export function jobsTable(detail: PipelineDetail, jobs: readonly JobCard[], context: RequestContext): Content {
  const { pipeline, jobUsuals } = detail
  if (jobs.length === 0) return empty(pipeline.jobs.length === 0 ? 'No jobs yet.' : 'No job matches.')
  const columns = jobList.table({ hrefOf: id => jobAddress(context.base, pipeline, id, context) })
  const listed = jobs.map(job => ({ ...job, usual: jobUsuals[job.name] }))
  const { heads, rows } = sorting(columns, listed, {
    sort: context.query.get('sort'),
    href: sort => address(detail, context, { sort }),
    otherwise: (a, b) => rank(a) - rank(b) || byStart(a, b),
    alike: byStart,
  })
  const pages = Math.ceil(jobs.length / maxJobsPerPage)
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(context.query.get('jobs'))) || 1))
  const shown = rows.slice((page - 1) * maxJobsPerPage, page * maxJobsPerPage)
  const drawn = table('Jobs', heads, shown.map(cellsOf(columns)))
  return html`${shown.length > maxTall ? html`<div class="short tall">${drawn}</div>` : drawn}
  ${pages > 1 && pagesOfJobs(detail, jobs.length, context, page)}`
}

function pagesOfJobs(detail: PipelineDetail, count: number, context: RequestContext, page: number): Html {
  const sort = given(context.query, 'sort')
  return alternatives(
    'Pages of jobs',
    Array.from({ length: Math.ceil(count / maxJobsPerPage) }, (_, index) => {
      const range = `${number(index * maxJobsPerPage + 1)}–${number(Math.min(count, (index + 1) * maxJobsPerPage))}`
      return [range, address(detail, context, { jobs: index + 1, sort }), index + 1 === page]
    }),
  )
}

function address(
  { pipeline }: PipelineDetail,
  { base, query }: RequestContext,
  changes: { readonly jobs?: number; readonly sort?: string | undefined },
): string {
  const [instance, find, show] = ['instance', 'find', 'show'].map(name => given(query, name))
  return `${addressWith(pipelineAddress(base, pipeline), { instance, find, show, ...changes })}#jobs`
}

function rank(job: JobCard): number {
  if (hasFailed(job.status)) return job.retried || job.allowFailure ? 1 : 0
  return job.status === 'running' ? 2 : 3
}
