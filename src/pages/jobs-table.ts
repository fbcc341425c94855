// The jobs of a pipeline as a table: failed ones first, or sorted by a column; some hundred at a time.
import { badge, wordOf } from './status.ts'
import { clock, duration, number } from './format.ts'
import { empty, table, type Reader, type SortHead } from './frame.ts'
import { html, type Content, type Html } from './html.ts'
import { jobAddress, pipelineAddress } from './run-rows.ts'
import { platformNow, type JobCard } from './run-card.ts'
import { usualCell } from './usual.ts'
import type { Millis } from '../model/instant.ts'
import type { PipelineDetail } from './pipeline-detail.ts'

/** Jobs in one page of their table. */
const pageOfJobs = 500

type Value = string | number | undefined

interface Place {
  readonly detail: PipelineDetail
  /** Now, on the platform's clock. */
  readonly there: Millis
}

/** What the columns are sorted by; what is undefined comes last. */
const columns = {
  status: { head: 'Status', of: job => statusOf(job) },
  name: { head: 'Job', of: job => job.name },
  stage: { head: 'Stage', of: job => job.stage },
  started: { head: 'Started', of: job => job.startedAt },
  queued: { head: 'Queued', of: job => job.queuedMs },
  ran: { head: 'Ran', of: (job, place) => ranOf(job, place) },
  usual: { head: 'Usual / p95', of: (job, { detail }) => detail.jobUsuals[job.name]?.p50 },
  runner: { head: 'Reason or runner', of: job => job.failureReason ?? job.runner },
} as const satisfies Record<string, { head: string; of: (job: JobCard, place: Place) => Value }>

type ColumnName = keyof typeof columns

export function jobsTable(detail: PipelineDetail, reader: Reader): Content {
  const { pipeline, jobUsuals } = detail
  const { base, now, query } = reader
  const { jobs } = pipeline
  if (jobs.length === 0) return empty('No job is known yet.')
  const place: Place = { detail, there: platformNow(pipeline, now) }
  const sort = sortOf(query.get('sort'))
  const pages = Math.ceil(jobs.length / pageOfJobs)
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(query.get('jobs'))) || 1))
  const rows = sorted(jobs, sort, place)
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
  const heads = (Object.keys(columns) as ColumnName[]).map((name): SortHead => {
    const isThis = sort?.name === name
    const next = isThis && !sort.isDescending ? `-${name}` : name
    return {
      text: columns[name].head,
      href: address(detail, reader, { sort: next }),
      sorted: isThis ? (sort.isDescending ? 'descending' : 'ascending') : undefined,
    }
  })
  return html`${table('Jobs', heads, rows)} ${pages > 1 && pagesOfJobs(detail, reader, page)}`
}

interface Sort {
  readonly name: ColumnName
  readonly isDescending: boolean
}

/** `ran`, or `-ran` for the longest first. */
function sortOf(text: string | null): Sort | undefined {
  const name = text?.replace(/^-/, '') ?? ''
  if (!Object.hasOwn(columns, name)) return undefined
  return { name: name as ColumnName, isDescending: text?.startsWith('-') === true }
}

function sorted(jobs: readonly JobCard[], sort: Sort | undefined, place: Place): JobCard[] {
  const byStart = (a: JobCard, b: JobCard): number =>
    (a.startedAt ?? Infinity) - (b.startedAt ?? Infinity) || a.id - b.id
  if (sort === undefined) return jobs.toSorted((a, b) => rank(a) - rank(b) || byStart(a, b))
  const { of } = columns[sort.name] as { of: (job: JobCard, place: Place) => Value }
  const sign = sort.isDescending ? -1 : 1
  return jobs.toSorted((a, b) => {
    const [x, y] = [of(a, place), of(b, place)]
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined) || byStart(a, b)
    const order = typeof x === 'number' ? x - Number(y) : x.localeCompare(String(y), 'en', { numeric: true })
    return sign * order || byStart(a, b)
  })
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
