// A job's log as a page: fetched from the platform when somebody asks for it, redacted, stored nowhere.
import { card, empty, type Page, type Reader } from './frame.ts'
import { foundLines, wholeLog } from './log-lines.ts'
import { html, safeUrl, type Content, type Html } from './html.ts'
import { jobAddress, pipelineAddress, pipelineTitle } from './run-rows.ts'
import { runCard, type JobCard, type RunCard } from './run-card.ts'
import type { AskedJob } from './job-detail.ts'
import type { PagesSettings, PagesSources, ReadLog } from './ports.ts'

/** Of what is looked for, UTF-16 units. */
const longestFind = 200

/** Undefined: there is no such job, or logs are not shown. */
export async function jobLogPage(
  { views, jobLog, now }: Pick<PagesSources, 'views' | 'jobLog' | 'now'>,
  { adminToken }: Pick<PagesSettings, 'adminToken'>,
  asked: AskedJob,
  reader: Reader,
): Promise<Page | undefined> {
  // Whoever reads it reads it by the rights of the daemon.
  if (jobLog === undefined || adminToken() === undefined) return undefined
  const stored = await views.find(asked.projectId, asked.pipelineId, asked.instance)
  if (stored === undefined) return undefined
  const pipeline = runCard(stored)
  const job = pipeline.jobs.find(({ id }) => id === asked.jobId)
  if (job === undefined) return undefined
  const read = await readLog(jobLog, pipeline, job, now())
  const find = (reader.query.get('find') ?? '').trim().slice(0, longestFind)
  return {
    title: `Log of ${job.name} #${job.id}`,
    content: html`${heading(pipeline, job, reader)}
    ${card('Log', logContent(read, find, job, reader), { aside: 'Redacted; fetched from the platform, and not kept' })}`,
  }
}

/** Whether a job's page leads to its log. */
export function hasLog({ kind, startedAt }: Pick<JobCard, 'kind' | 'startedAt'>): boolean {
  return kind === 'job' && startedAt !== undefined
}

async function readLog(
  jobLog: NonNullable<PagesSources['jobLog']>,
  { instance, projectId }: RunCard,
  job: JobCard,
  now: number,
): Promise<ReadLog> {
  if (!hasLog(job)) return { as: 'refused', what: 'It did not run, so it has no log.', remedy: '' }
  const { id, startedAt: start = now, finishedAt = now, status, failureReason } = job
  const isScriptFailure = status === 'failed' && failureReason === 'script_failure'
  return jobLog({ instance, projectId, id, start, end: Math.max(start, finishedAt), isScriptFailure })
}

function heading(pipeline: RunCard, job: JobCard, reader: Reader): Html {
  const { base } = reader
  const url = safeUrl(job.url)
  return html`<nav class="crumbs" aria-label="Where this is">
      <a href="${base}/pipelines">Pipelines</a> /
      <a href="${pipelineAddress(base, pipeline, reader)}">${pipelineTitle(pipeline)} #${pipeline.pipelineId}</a> /
      <a href="${jobAddress(base, pipeline, job.id, reader)}">${job.name} #${job.id}</a>
    </nav>
    <div class="page-head">
      <h1>Log of ${job.name}</h1>
      <span class="buttons head-links">
        ${url !== undefined && html`<a class="button" href="${url}" rel="noreferrer">Open on the platform</a>`}
      </span>
    </div>`
}

function logContent(read: ReadLog, find: string, { status }: JobCard, reader: Reader): Content {
  if (read.as === 'refused') return empty(`${read.what} ${read.remedy}`)
  if (read.as === 'traced') {
    return empty('It shows the variables of its job (CI_DEBUG_TRACE), which may be secret: none of it is shown here.')
  }
  if (read.lines.length === 0) return empty('It is empty.')
  const instance = reader.query.get('instance')
  return html`<form class="filters of-one" method="get" role="search" aria-label="Search in this log">
      ${instance !== null && html`<input type="hidden" name="instance" value="${instance}" />`}
      <label>Search in this log<input type="search" name="find" value="${find}" maxlength="${longestFind}" /></label>
      <span class="buttons"><button>Search</button></span>
    </form>
    ${find === '' ? wholeLog(read, status === 'failed') : foundLines(read.lines, find)}
    ${!read.isWhole && html`<p class="dim">The log goes on: no more of it is read.</p>`}`
}
