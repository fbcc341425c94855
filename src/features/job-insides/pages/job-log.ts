// The page that shows a job's log.
import { hasFailed } from '../../../model/status.ts'
import { card, crumbs, empty, type Page, type RequestContext } from '../../../console/layout/frame.ts'
import { foundLines, wholeLog } from './log-lines.ts'
import { html, safeUrl, type Content, type Html } from '../../../console/layout/html.ts'
import { jobLogOf, maxFindLength, type LogSources } from './job-log-detail.ts'
import { jobAddress, pipelineLink } from '../../../console/pipelines/run-rows.ts'
import { notShownPage } from '../../../console/access/entrance.ts'
import { NotShown } from '../../../console/layout/not-shown.ts'
import type { AskedJob } from '../../../console/jobs/job-detail.ts'
import type { RunCard } from '../../../console/pipelines/run-card.ts'
import type { JobCard } from '../../../console/pipelines/job-card.ts'
import type { PagesSettings } from '../../../console/ports.ts'
import type { ShownLog } from '../../../platform/port/inside.ts'

/** Returns undefined if there is no such job. */
export async function jobLogPage(
  sources: LogSources,
  settings: Pick<PagesSettings, 'adminToken'>,
  asked: AskedJob,
  context: RequestContext,
): Promise<Page | undefined> {
  const log = await jobLogOf(sources, settings, asked)
  if (log === undefined) return undefined
  if (log instanceof NotShown) return notShownPage(log)
  const { pipeline, job, read } = log
  const find = (context.query.get('find') ?? '').trim().slice(0, maxFindLength)
  return {
    title: `Log of ${job.name} #${job.id}`,
    content: html`${heading(pipeline, job, context)}
    ${card('Log', logContent(read, find, job, context), { aside: 'Redacted; fetched from the platform, not stored' })}`,
  }
}

function heading(pipeline: RunCard, job: JobCard, context: RequestContext): Html {
  const { base } = context
  const url = safeUrl(job.url)
  const its = html`<a href="${jobAddress(base, pipeline, job.id, context)}">${job.name} #${job.id}</a>`
  return html`${crumbs(html`<a href="${base}/pipelines">Pipelines</a>`, pipelineLink(pipeline, context), its)}
    <div class="page-head">
      <h1>Log of ${job.name}</h1>
      <span class="buttons head-links">
        ${url !== undefined && html`<a class="button" href="${url}" rel="noreferrer">Open on the platform</a>`}
      </span>
    </div>`
}

function logContent(read: ShownLog, find: string, { status }: JobCard, context: RequestContext): Content {
  if (read.as === 'refused') return empty(`${read.what} ${read.remedy}`)
  if (read.as === 'traced') {
    return empty(
      'The log is not shown: the job ran with CI_DEBUG_TRACE, which prints its variables, and these may be secret.',
    )
  }
  if (read.lines.length === 0) return empty('The log is empty.')
  const instance = context.query.get('instance')
  return html`<form class="filters of-one" method="get" role="search" aria-label="Search in this log">
      ${instance !== null && html`<input type="hidden" name="instance" value="${instance}" />`}
      <label>Search in this log<input type="search" name="find" value="${find}" maxlength="${maxFindLength}" /></label>
      <span class="buttons"><button>Search</button></span>
    </form>
    ${find === '' ? wholeLog(read, hasFailed(status)) : foundLines(read.lines, find)}
    ${!read.isWhole && html`<p class="dim">The log is too long to be read completely; the rest is not shown.</p>`}`
}
