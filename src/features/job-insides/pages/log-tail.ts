// Shows the last lines of a failed job's log on the job's page: the end of the failed section, or the end of the log if no section failed.
import { card, type RequestContext } from '../../../console/layout/frame.ts'
import { counted } from '../../../console/layout/format.ts'
import { hasFailed } from '../../../model/status.ts'
import { hasLog, jobLogOf, type LogSources } from './job-log-detail.ts'
import { html, type Content } from '../../../console/layout/html.ts'
import { logAddress } from '../../../console/pipelines/run-rows.ts'
import { NotShown } from '../../../console/layout/not-shown.ts'
import { printed } from './log-lines.ts'
import { systemClock } from '../../../lib/clock.ts'
import type { AskedJob, JobDetail } from '../../../console/jobs/job-detail.ts'
import type { PagesSettings } from '../../../console/ports.ts'
import type { ShownLine, ShownLog } from '../../../platform/port/inside.ts'

type Log = Extract<ShownLog, { as: 'log' }>

const maxLines = 20
/** The maximum time for which the page waits for the platform, ms. */
const timeoutMs = 3_000

/** Returns nothing unless the job failed and its log may be shown. */
export async function logTail(
  sources: LogSources,
  settings: Pick<PagesSettings, 'adminToken'>,
  asked: AskedJob,
  { pipeline, job }: JobDetail,
  context: RequestContext,
): Promise<Content> {
  if (!hasFailed(job.status) || !hasLog(job) || sources.jobLog === undefined) return ''
  const answered = new AbortController()
  const log = await Promise.race([jobLogOf(sources, settings, asked), afterTimeout(answered.signal)])
  answered.abort()
  if (log === undefined || log instanceof NotShown) return ''
  const whole = html`<a href="${logAddress(context.base, pipeline, job.id, context)}">Whole log</a>`
  if (log === 'timeout')
    return card('End of the log', html`<p class="empty">The platform has not answered yet.</p>`, { aside: whole })
  if (log.read.as !== 'log' || log.read.lines.length === 0) return ''
  const { lines, name } = endOf(log.read)
  return card('End of the log', printed(lines, `Last ${counted(lines.length, 'line')} of ${name}`), {
    aside: html`${counted(lines.length, 'line')} of ${name}. ${whole}`,
  })
}

function endOf({ lines, sections }: Log): { readonly lines: readonly ShownLine[]; readonly name: string } {
  const failed = sections.findLast(section => section.failed === true)
  const own = failed === undefined ? [] : lines.filter(({ section }) => section === failed.ordinal)
  return own.length === 0
    ? { lines: lines.slice(-maxLines), name: 'the log' }
    : { lines: own.slice(-maxLines), name: failed?.title ?? failed?.name ?? 'the failed section' }
}

async function afterTimeout(signal: AbortSignal): Promise<'timeout'> {
  await systemClock.sleep(timeoutMs, signal)
  return 'timeout'
}
