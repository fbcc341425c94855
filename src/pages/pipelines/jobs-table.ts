// The table of a pipeline's jobs: failed ones first, or sorted by a column; paginated.
import { badge, wordOf } from '../layout/status.ts'
import { clock, duration, number } from '../layout/format.ts'
import { empty, table, type Reader } from '../layout/frame.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { jobAddress, pipelineAddress } from './run-rows.ts'
import { platformNow, type JobCard } from './run-card.ts'
import { sorting, type Column } from '../layout/sorting.ts'
import { usualCell } from './usual.ts'
import type { Millis } from '../../model/instant.ts'
import type { PipelineDetail } from './pipeline-detail.ts'

/** Rows of a page. */
const pageOfJobs = 500

interface Place {
  readonly detail: PipelineDetail
  /** The current time on the platform's clock. */
  readonly there: Millis
}

function columnsAt(place: Place): Readonly<Record<string, Column<JobCard>>> {
  return {
    status: { head: 'Status', of: statusOf },
    name: { head: 'Job', of: job => job.name },
    stage: { head: 'Stage', of: job => job.stage },
    started: { head: 'Started', of: job => job.startedAt },
    queued: { head: 'Queued', of: job => job.queuedMs },
    ran: { head: 'Ran', of: job => ranOf(job, place) },
    usual: { head: 'Usual / p95', of: job => place.detail.jobUsuals[job.name]?.p50 },
    runner: { head: 'Reason or runner', of: job => job.failureReason ?? job.runner },
  }
}

export function jobsTable(detail: PipelineDetail, reader: Reader): Content {
  const { pipeline, jobUsuals } = detail
  const { base, now, query } = reader
  const { jobs } = pipeline
  if (jobs.length === 0) return empty('No jobs yet.')
  const place: Place = { detail, there: platformNow(pipeline, now) }
  const { heads, rows: sorted } = sorting(columnsAt(place), jobs, {
    sort: query.get('sort'),
    href: sort => address(detail, reader, { sort }),
    otherwise: (a, b) => rank(a) - rank(b) || byStart(a, b),
    alike: byStart,
  })
  const pages = Math.ceil(jobs.length / pageOfJobs)
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(query.get('jobs'))) || 1))
  const rows = sorted
    .slice((page - 1) * pageOfJobs, page * pageOfJobs)
    .map(job => [
      badge(statusOf(job), wordOf(job.status)),
      html`<span class="name"
        ><a href="${jobAddress(base, pipeline, job.id, reader)}">${job.name}</a>
        ${job.retried && html`<span class="tag">retried</span>`}${job.kind === 'bridge' && html`<span class="tag">bridge</span>`}</span
      >`,
      html`<span class="word">${job.stage}</span>`,
      clock(job.startedAt),
      html`<span class="figure">${duration(job.queuedMs)}</span>`,
      html`<span class="figure">${duration(ranOf(job, place))}</span>`,
      usualCell(ranOf(job, place), jobUsuals[job.name]),
      html`<span class="word">${job.failureReason === undefined ? job.runner : wordOf(job.failureReason)}</span>`,
    ])
  return html`${table('Jobs', heads, rows)} ${pages > 1 && pagesOfJobs(detail, reader, page)}`
}

function byStart(a: JobCard, b: JobCard): number {
  return (a.startedAt ?? Infinity) - (b.startedAt ?? Infinity) || a.id - b.id
}

function pagesOfJobs(detail: PipelineDetail, reader: Reader, page: number): Html {
  const count = detail.pipeline.jobs.length
  const pages = Array.from({ length: Math.ceil(count / pageOfJobs) }, (_, index) => index + 1)
  return html`<nav class="choice" aria-label="Pages of jobs">
    ${pages.map(one => {
      const range = `${number((one - 1) * pageOfJobs + 1)}–${number(Math.min(count, one * pageOfJobs))}`
      const sort = reader.query.get('sort') ?? undefined
      return html`<a
        href="${address(detail, reader, { jobs: one, sort })}"
        ${one === page && html` aria-current="true"`}
        >${range}</a
      >`
    })}
  </nav>`
}

function address(
  { pipeline }: PipelineDetail,
  { base, query }: Reader,
  { jobs, sort }: { readonly jobs?: number; readonly sort?: string | undefined },
): string {
  const given = { instance: query.get('instance') ?? undefined, jobs, sort }
  const kept = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  return `${pipelineAddress(base, pipeline)}?${new URLSearchParams(kept).toString()}#jobs`
}

function statusOf(job: JobCard): string {
  return job.status === 'failed' && job.allowFailure ? 'warning' : job.status
}

function ranOf({ startedAt, finishedAt }: JobCard, { there }: Place): number | undefined {
  return startedAt === undefined ? undefined : (finishedAt ?? there) - startedAt
}

function rank(job: JobCard): number {
  if (job.status === 'failed') return job.retried || job.allowFailure ? 1 : 0
  return job.status === 'running' ? 2 : 3
}
