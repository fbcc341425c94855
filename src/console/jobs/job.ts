// The job page. It shows why the job failed, its tests, the end of its log, facts, sections, a comparison with the usual duration, recent runs, and
// exported attributes.
import { addressWith, given } from '../layout/address.ts'
import { attributeCard } from '../layout/attributes.ts'
import { badge, wordOf } from '../layout/status.ts'
import { beside, days, minRuns, slack, whereUsual, type Usual } from '../pipelines/usual.ts'
import { card, crumbs, empty, facts, region, type Page, type RequestContext } from '../layout/frame.ts'
import { counted, duration, percent, time, number, roughly } from '../layout/format.ts'
import { historyTable } from './job-history.ts'
import { html, safeUrl, type Content, type Html } from '../layout/html.ts'
import { isFinished, hasFailed } from '../../model/status.ts'
import { runnerTypeName } from '../../model/job.ts'
import { pipelineLink, projectCrumbs } from '../pipelines/run-rows.ts'
import { statusOf } from '../pipelines/job-card.ts'
import { aboutSections, sectionRows } from './job-sections.ts'
import { waterfallDrawing } from '../waterfall/waterfall-drawing.ts'
import { verdictLine } from '../pipelines/verdict.ts'
import type { FailureDomain, PagesSources } from '../ports.ts'
import type { JobDetail } from './job-detail.ts'
import type { WaterfallRow } from '../waterfall/waterfall-row.ts'

/** The content that features provide for a job page. `noSections` explains why there are no sections. */
interface JobPageParts extends Pick<PagesSources, 'legacyName'> {
  readonly links: Content
  readonly tail: Content
  readonly noSections: Content
}

export function jobPage(detail: JobDetail, parts: JobPageParts, context: RequestContext): Page {
  const { pipeline, job, usual, history, sections, spans } = detail
  const { base } = context
  const isOver = isFinished(job.status)
  const tookMs = detail.job.ranMs
  const wait = usual?.queueP50 === undefined ? '' : ` Usual wait for a runner: ${roughly(usual.queueP50)}.`
  const its = region('facts', aboutJob(detail, tookMs, context))
  const why = html`${region('failure', whyItFailed(detail))} ${parts.tail}`
  return {
    title: `${job.name} #${job.id}`,
    live: !isOver,
    hasWaterfall: sections !== undefined,
    content: html`
      ${crumbs(...projectCrumbs(pipeline, context), pipelineLink(pipeline, context))}
      ${region('head', heading(detail, parts.links))} ${hasFailed(job.status) ? [why, its] : [its, why]}
      <section id="sections" data-region>
        ${card('Where the time went', sectionsContent(detail, parts.noSections), {
          aside: sections === undefined ? undefined : counted(sections.sections.length, 'section'),
        })}
      </section>
      <section id="usual" data-region>
        ${card('Compared with usual', html`<p>${againstUsual(usual, tookMs, isOver)}${wait}</p>`, {
          aside: usual !== undefined && `${percent(usual.failed / usual.runs)} of ${counted(usual.runs, 'run')} failed`,
        })}
      </section>
      <section id="history" data-region>
        ${card('Recent runs', historyTable(history, job, pipeline, context), {
          aside: html`<a
            href="${addressWith(`${base}/trends`, { instance: given(context.query, 'instance'), project: pipeline.projectId, job: job.name })}"
            >Over time</a
          >`,
        })}
      </section>
      ${attributeCard({
        title: 'Exported attributes',
        spans,
        none: 'No span of this job has been exported yet.',
        legacyName: parts.legacyName,
      })}
    `,
  }
}

const causes: Readonly<Record<FailureDomain, string>> = {
  user: 'the pipeline itself, not the platform',
  platform: 'the platform or its runners, not the pipeline',
  unknown: 'not known',
}

function heading({ job, verdict }: JobDetail, links: Content): Html {
  const url = safeUrl(job.url)
  return html`<div class="page-head">
      <h1>${job.name}</h1>
      <span class="head-badge">${badge(statusOf(job), wordOf(job.status))}</span>
      ${job.retried && html`<span class="tag">retried</span>`}
      ${job.kind === 'bridge' && html`<span class="tag">bridge</span>`}
      <span class="buttons head-links">
        ${links} ${url !== undefined && html`<a class="button" href="${url}" rel="noreferrer">Open on the platform</a>`}
      </span>
    </div>
    ${verdictLine(verdict)}`
}

function aboutJob(
  { job, about, pipeline, usual }: JobDetail,
  tookMs: number | undefined,
  { now }: RequestContext,
): Html {
  const { cost, tags = [], slackMs } = about
  const runner = [job.runner, about.runnerType && runnerTypeName(about.runnerType)].filter(Boolean).join(', ')
  return facts([
    ['Job', `#${job.id}`],
    ['Stage', job.stage],
    ['Took', tookMs === undefined ? 'did not run' : html`${duration(tookMs)} ${beside(tookMs, usual)}`],
    [
      'Waited for a runner',
      job.queuedMs !== undefined &&
        html`${duration(job.queuedMs)}${usual?.queueP50 !== undefined && html` <span class="usual">usually ${roughly(usual.queueP50)}, p95 ${roughly(usual.queueP95)}</span>`}`,
    ],
    ['Created', job.createdAt === undefined ? undefined : time(job.createdAt, now)],
    ['Started', job.startedAt === undefined ? undefined : time(job.startedAt, now)],
    ['Finished', job.finishedAt === undefined ? undefined : time(job.finishedAt, now)],
    ['Runner', runner],
    ['Machine', about.ranOn?.host],
    ['Pod', about.ranOn?.pod],
    ['Node', about.ranOn?.node],
    ['Tags', tags.join(', ')],
    ['Cost', cost && `${amount(cost.amount)} ${cost.unit}${cost.rate === undefined ? '' : ` (${cost.rate})`}`],
    ['Failure', job.failureReason && wordOf(job.failureReason)],
    ['Cause', about.failureDomain && causes[about.failureDomain]],
    ['Allowed to fail', job.allowFailure && 'yes'],
    ['Retried', job.retried && 'yes: its pipeline has a newer job of this name'],
    ['Critical path', about.critical === true ? 'on it' : slackMs !== undefined && `${duration(slackMs)} of slack`],
    ['Environment', about.environment],
    ['Coverage', about.coverage === undefined ? undefined : `${about.coverage} %`],
    ['Started by', about.startedBy ?? pipeline.user],
    ['Branch or tag', pipeline.ref && html`<code>${pipeline.ref}</code>`],
  ])
}

/** Formats an amount; amounts below 1 have three significant digits. */
function amount(value: number): string {
  return new Intl.NumberFormat('en', value < 1 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 2 }).format(
    value,
  )
}

function whyItFailed({ job, about, sections }: JobDetail): Content {
  if (!hasFailed(job.status)) return ''
  const where = sections?.sections.findLast(({ failed }) => failed === true)
  const isKnown = about.failureDomain !== undefined && about.failureDomain !== 'unknown'
  return html`<ul class="notices" aria-label="Why it failed">
    <li class="notice problem">
      <p>
        <strong>It failed</strong>${job.failureReason !== undefined && `: ${wordOf(job.failureReason)}`}${
          where !== undefined && html`, in the section <strong>${where.title ?? where.name}</strong>`
        }.
        ${isKnown && `Cause: ${causes[about.failureDomain]}.`} ${job.allowFailure && 'It is allowed to fail.'}
      </p>
    </li>
  </ul>`
}

/** Renders a job's sections as a waterfall, or the reason why there are none. */
function sectionsContent({ pipeline, job, sections }: JobDetail, none: Content): Content {
  if (sections === undefined || sections.sections.length === 0) return empty(none)
  const { projectId, pipelineId } = pipeline
  const place = { projectId, pipelineId, depth: 0 }
  const own: WaterfallRow = {
    ...{ ...place, kind: 'job', id: job.id, label: job.name, critical: false, retried: job.retried },
    ...{ status: job.status, start: sections.start, end: sections.end },
  }
  const rows = [own, ...sectionRows(sections, place)]
  const to = Math.max(sections.end, sections.start + 1)
  return html`${waterfallDrawing({ rows, from: sections.start, to }, { description: 'The job and its sections over time' })}
  ${aboutSections(sections).map(text => html`<p class="dim">${text}</p>`)}`
}

/**
 * Compares a job's duration with its usual one, in one or two sentences. `tookMs` is how long this run has taken so far; undefined if it never
 * started.
 */
export function againstUsual(usual: Usual | undefined, tookMs: number | undefined, isOver: boolean): string {
  const { runs = 0, p50, p95 } = usual ?? {}
  if (usual === undefined || p50 === undefined || p95 === undefined) {
    return `The usual duration is not known yet: no run in the last ${days} days has been counted.`
  }
  const its = `${number(runs)} ${runs === 1 ? 'run' : 'runs'} ${whereUsual(usual)} in the last ${days} days`
  const figures = `median ${roughly(p50)}, p95 ${roughly(p95)} (${its})`
  if (tookMs === undefined) return `This job did not run. Usual duration: ${figures}.`
  const took = isOver ? `took ${duration(tookMs)}` : `has run for ${duration(tookMs)} so far`
  if (runs < minRuns) return `It ${took}. Too few runs to tell what is usual: ${figures}.`
  return `${verdict(tookMs, p50, p95, isOver)} It ${took}; ${figures}.`
}

function verdict(tookMs: number, p50: number, p95: number, isOver: boolean): string {
  if (tookMs > p95 * slack) return `This is unusually long: ${(tookMs / p50).toFixed(1)} times the median.`
  if (!isOver) return 'Nothing unusual so far.'
  if (tookMs > p50 * slack) return 'This is longer than the median, but not unusual.'
  return tookMs * 2 < p50 ? 'This is unusually short.' : 'This is about as long as usual.'
}
