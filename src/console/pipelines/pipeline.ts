// The pipeline page. It shows what failed, what took the time, the pipeline's jobs, and its exports.
import { ago, counted, duration, number, percent, shortSha, time, title, second } from '../layout/format.ts'
import { badge, wordOf } from '../layout/status.ts'
import { beside, type Usual } from './usual.ts'
import { compareChoice } from './compare.ts'
import { card, crumbs, empty, facts, region, table, type Page, type RequestContext } from '../layout/frame.ts'
import { html, safeUrl, type Content, type Html } from '../layout/html.ts'
import { compareAddress, jobAddress, pipelineAddress, pipelineTitle, projectCrumbs } from './run-rows.ts'
import { askedJobs, jobFilterForm, shownJobs, type JobFilter } from './job-filter.ts'
import { jobsTable } from './jobs-table.ts'
import { attributeCard, valueOf } from '../layout/attributes.ts'
import type { RunCard } from './run-card.ts'
import { statusOf, type JobCard } from './job-card.ts'
import { sectionRows } from '../jobs/job-sections.ts'
import { verdictLine } from './verdict.ts'
import { waterfallOf, type Waterfall } from '../waterfall/waterfall-rows.ts'
import { waterfallDrawing } from '../waterfall/waterfall-drawing.ts'
import type { WaterfallRow } from '../waterfall/waterfall-row.ts'
import type { PagesSources } from '../ports.ts'
import { membersOf, type PipelineDetail } from './pipeline-detail.ts'

export function pipelinePage(
  detail: PipelineDetail,
  { legacyName }: Pick<PagesSources, 'legacyName'>,
  context: RequestContext,
): Page {
  const { pipeline, family } = detail
  const { base, now } = context
  const filter = askedJobs(context.query)
  const waterfall = waterfallOf(family, pipeline.pipelineId, now, filter)
  const shown = filteredJobs(filter, pipeline, waterfall)
  const members = membersOf(family)
  return {
    title: `${pipelineTitle(pipeline)} #${pipeline.pipelineId}`,
    live: true,
    hasWaterfall: true,
    content: html`
      ${crumbs(...projectCrumbs(pipeline, context))} ${region('head', heading(detail, context))}
      ${region('failures', whatFailed(pipeline, context))}
      <section id="waterfall" data-region>
        ${card(
          members.length > 1 ? 'Pipeline and its children' : 'Where the time went',
          pipeline.jobs.length === 0 && members.length < 2
            ? empty('No jobs yet.')
            : html`${jobFilterForm(filter, pipeline, shown.length, context)}
              ${waterfallDrawing(waterfall, {
                asked: pipeline.pipelineId,
                inside: row => sectionsIn(detail, row),
                usual: row => usualOf(detail, row),
                description: 'Pipelines, stages and jobs over time; the table of jobs has the same data',
                href: row =>
                  row.kind === 'job' ? jobAddress(base, row, row.id, context) : pipelineAddress(base, row, context),
              })}${legend}`,
          { aside: pathSummary(waterfall, pipeline) },
        )}
        ${leftOut(waterfall, members.length > 1)}
      </section>
      <section id="jobs" data-region>
        ${card('Jobs', jobsTable(detail, shown, context), { aside: howMany(shown.length, pipeline.jobs.length) })}
      </section>
      <div class="columns even">
        <div>
          <section id="exports" data-region>
            ${card('Exports', exportsTable(detail, now), { aside: exportSummary(detail) })}
          </section>
        </div>
        <div>${region('origin', card('Origin', origin(detail, now)))}</div>
      </div>
      ${attributeCard({
        title: 'Exported attributes',
        spans: detail.spans.filter(({ kind }) => kind === 'pipeline'),
        none: 'No span of this pipeline has been exported yet.',
        legacyName,
        aside: counted(detail.spans.length, 'span'),
      })}
    `,
  }
}

function filteredJobs(filter: JobFilter, { jobs }: RunCard, { path }: Waterfall): readonly JobCard[] {
  const critical = new Set(path.ids)
  const known = jobs.map(job => ({ ...job, status: statusOf(job), isCritical: critical.has(job.id) }))
  const shown = shownJobs(filter, known)
  return shown === undefined ? jobs : jobs.filter(({ id }) => shown.has(id))
}

function howMany(shown: number, all: number): string {
  return shown === all ? counted(all, 'job') : `${number(shown)} of ${counted(all, 'job')}`
}

function heading({ pipeline, verdict, usual, traceId, traceUrl }: PipelineDetail, context: RequestContext): Html {
  const { now } = context
  const url = safeUrl(pipeline.url)
  const link = safeUrl(traceUrl)
  const request = pipeline.mergeRequest
  return html`<div class="page-head">
      <h1>${pipelineTitle(pipeline)}</h1>
      <span class="head-badge">${badge(pipeline.status)}</span>
      <span class="buttons head-links">
        ${url !== undefined && html`<a class="button" href="${url}" rel="noreferrer">Open on the platform</a>`}
        ${link !== undefined && html`<a class="button" href="${link}" rel="noreferrer">Open the trace</a>`}
      </span>
    </div>
    ${verdictLine(verdict, other => compareAddress(context.base, pipeline, other, context))}
    ${compareChoice(pipeline, undefined, context)}
    ${facts([
      [
        'Pipeline',
        html`#${pipeline.pipelineId}${pipeline.iid !== undefined && html` <span class="dim">(IID ${pipeline.iid})</span>`}`,
      ],
      ['Took', html`${duration(pipeline.spentMs)} ${beside(pipeline.spentMs, usual)}`],
      ['Created', time(pipeline.createdAt, now)],
      ['Finished', pipeline.finishedAt === undefined ? undefined : time(pipeline.finishedAt, now)],
      ['Branch or tag', pipeline.ref && html`<code>${pipeline.ref}</code>`],
      ['Commit', pipeline.sha && html`<code>${shortSha(pipeline.sha)}</code> ${title(pipeline.commit)}`],
      ['Merge request', request && html`!${request.iid} ${request.title}`],
      ['Started by', [pipeline.user, pipeline.source && wordOf(pipeline.source)].filter(Boolean).join(', ')],
      ['Trace', traceId && html`<code class="break">${traceId}</code>`],
    ])}`
}

function whatFailed({ failures, ...ids }: RunCard, context: RequestContext): Content {
  if (failures.length === 0) return ''
  return html`<ul class="notices" aria-label="What failed">
    ${failures.slice(0, 8).map(job => {
      const url = safeUrl(job.url)
      return html`<li class="notice problem">
        <p>
          <a href="${jobAddress(context.base, ids, job.id, context)}"><strong>${job.name}</strong></a> failed in
          ${job.stage || 'its stage'}${job.failureReason !== undefined && html`: ${wordOf(job.failureReason)}`}.
          ${url !== undefined && html`<a href="${url}" rel="noreferrer">Open on the platform</a>`}
        </p>
      </li>`
    })}
    ${failures.length > 8 && html`<li class="notice problem"><p>And ${counted(failures.length - 8, 'more job')}.</p></li>`}
  </ul>`
}

/** Returns the sections of one of this pipeline's jobs as rows of the waterfall. Jobs of other pipelines in the family have no sections here. */
function sectionsIn({ inside, pipeline }: PipelineDetail, row: WaterfallRow): readonly WaterfallRow[] | undefined {
  if (row.kind !== 'job' || row.pipelineId !== pipeline.pipelineId) return undefined
  const its = inside.find(({ jobId }) => jobId === row.id)
  return its && sectionRows(its, row)
}

function usualOf({ pipeline, usual, jobUsuals }: PipelineDetail, row: WaterfallRow): Usual | undefined {
  if (row.pipelineId !== pipeline.pipelineId) return undefined
  if (row.kind === 'pipeline') return usual
  return row.kind === 'job' && Object.hasOwn(jobUsuals, row.label) ? jobUsuals[row.label] : undefined
}

function pathSummary({ path }: Waterfall, pipeline: RunCard): Content {
  const spent = pipeline.spentMs
  if (path.ids.length === 0 || spent === undefined || spent === 0) return ''
  const waited = Math.max(0, spent - path.busyMs)
  return `Critical path: ${counted(path.ids.length, 'job')}, ${duration(path.busyMs)} at work, ${duration(waited)} waiting (${percent(waited / spent)})`
}

const legend = html`<p class="legend">
  <span><i class="swatch good"></i>passed</span><span><i class="swatch bad"></i>failed</span>
  <span><i class="swatch active"></i>running</span><span><i class="swatch queue"></i>waited for a runner</span>
  <span><i class="swatch critical"></i>critical path</span><span><i class="swatch retried"></i>retried</span>
  <span><i class="swatch usual-swatch"></i>usual end of an unusually long job</span>
</p>`

/** Explains how many jobs and pipelines the waterfall omits, and where to find them. */
function leftOut({ left }: Waterfall, isFamily: boolean): Content {
  const where = isFamily ? 'each pipeline’s own page has a table of all' : 'the table has all of them'
  return [
    left.jobs > 0 &&
      html`<p class="dim">
        ${number(left.jobs)} of ${counted(left.ofJobs, 'job')} ${left.jobs === 1 ? 'is' : 'are'} not drawn: the shortest
        of those that passed or did not run. Below, ${where}.
      </p>`,
    left.pipelines > 0 &&
      html`<p class="dim">
        Not shown: ${counted(left.pipelines, 'more pipeline')} of this family. The list of pipelines has all.
      </p>`,
  ]
}

function exportSummary({ exports }: PipelineDetail): Content {
  const states = Map.groupBy(exports, one => one.state)
  return [...states].map(([state, some]) => `${some.length} ${state}`).join(', ')
}

function exportsTable({ exports, attempts, pipeline }: PipelineDetail, now: number): Content {
  if (exports.length > 0) return exportRows(exports, now)
  const until = pipeline.waitsUntil
  if (attempts.length > 0) return empty('No export of this pipeline is pending.')
  return empty(
    until === undefined
      ? 'Nothing to export yet: a pipeline is exported when it has ended and settled.'
      : html`The pipeline has ended; Pipespan waits for missing details until ${second(until)} at the latest.`,
  )
}

function exportRows(exports: PipelineDetail['exports'], now: number): Content {
  const rows = exports.map(one => [
    badge(one.state, one.state === 'dead' ? 'refused' : one.state),
    html`${one.signal} <span class="dim">${one.destination}</span>`,
    html`${one.attempt}${one.chunk > 1 && html`<span class="dim">, chunk ${one.chunk}</span>`}`,
    time(one.settledAt ?? one.pendingSince, now),
    one.error ?? '',
  ])
  return table('Exports', ['State', 'Signal', 'Attempt', 'Since', 'Last error'], rows)
}

const sourceWords: Readonly<Record<string, string>> = {
  webhook: 'Webhook',
  redelivery: 'Redelivery of a failed webhook',
  poller: 'Poller, through the platform’s API',
  backfill: 'Backfill, through the platform’s API',
}

function origin({ firstSeenBy, attempts, pipeline }: PipelineDetail, now: number): Html {
  return html`<ol class="steps">
    ${firstSeenBy.map(({ source, at }, index) => html`<li><strong>${sourceWords[source] ?? source}</strong> ${index === 0 ? 'saw it first' : 'also saw it'}, ${time(at, now)}</li>`)}
    ${attempts.map(({ attempt, status, finish, incomplete }) => html`<li>Attempt ${valueOf(attempt)} <strong>${wordOf(status)}</strong>, finished ${time(finish, now)}${incomplete && ', exported before its end'}</li>`)}
    <li class="dim">Last change ${ago(pipeline.changedAt, now)}, instance ${pipeline.instance}</li>
  </ol>`
}
