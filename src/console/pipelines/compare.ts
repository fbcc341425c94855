// The page that compares two runs. It shows what changed, what explains the difference in duration, both runs on one time axis, and a table of jobs.
import { waterfallOf, type Waterfall } from '../waterfall/waterfall-rows.ts'
import type { Millis } from '../../model/instant.ts'
import type { WaterfallRow } from '../waterfall/waterfall-row.ts'
import { badge, wordOf } from '../layout/status.ts'
import { alternatives, card, crumbs, empty, table, type Page, type RequestContext } from '../layout/frame.ts'
import { compareAddress, jobAddress, pipelineAddress, pipelineLink, pipelineTitle, projectCrumbs } from './run-rows.ts'
import { counted, duration, figure, number, shortSha, time, title, roughly } from '../layout/format.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { longer } from '../layout/delta.ts'
import { slack, whereUsual } from './usual.ts'
import type { ShownColumn } from '../layout/sorting.ts'
import { cellsOf, figures, sorting, texts } from '../layout/sorting.ts'
import { waterfallDrawing } from '../waterfall/waterfall-drawing.ts'
import type { ComparedJob, ComparedSide, Comparison, TimePart } from './comparison.ts'
import type { ComparedRuns, ComparedWith } from './compared-with.ts'
import type { RunCard } from './run-card.ts'

/** The maximum number of parts into which the difference in duration is broken down. All other parts share one row. */
const maxParts = 8
/** The maximum number of rows in the table of compared jobs. */
const maxJobs = 1_000

export function comparePage(compared: ComparedRuns, misread: string | undefined, context: RequestContext): Page {
  const { pipeline, other, usual, comparison } = compared
  const against =
    other === undefined ? (usual === undefined ? undefined : 'its usual durations') : `#${other.pipelineId}`
  return {
    title: `#${pipeline.pipelineId} against ${against ?? 'another run'}`,
    hasWaterfall: other !== undefined,
    content: html`
      ${crumbs(...projectCrumbs(pipeline, context), pipelineLink(pipeline, context))}
      <div class="page-head">
        <h1>#${pipeline.pipelineId} against ${against ?? 'another run'}</h1>
        ${compareChoice(pipeline, compared.with, context)}
      </div>
      ${misread !== undefined && html`<p class="notice hint" role="status">${misread}</p>`}
      ${comparison === undefined ? card('Nothing to compare with', empty(whyNone(compared))) : found(compared, comparison, context)}
    `,
  }
}

const choices = [
  ['before', 'Previous'],
  ['green', 'Last that passed'],
  ['usual', 'Usual durations'],
] as const

/** Renders links to a pipeline's comparisons. `chosen` is the comparison shown on this page. */
export function compareChoice(pipeline: RunCard, chosen: ComparedWith | undefined, context: RequestContext): Html {
  return alternatives(
    'Compare with',
    choices.map(([name, text]) => [text, compareAddress(context.base, pipeline, name, context), name === chosen]),
    html`<span class="says">Compare with</span>`,
  )
}

function whyNone({ with: wanted, pipeline }: ComparedRuns): string {
  const of = pipeline.ref === undefined ? '' : ` of ${pipeline.ref}`
  if (wanted === 'usual') return 'Too few runs of this pipeline have been counted to know what is usual.'
  if (wanted === 'before') return `No pipeline${of} older than this one is stored.`
  if (wanted === 'green') return `No older pipeline${of} that passed is stored.`
  return `No pipeline #${wanted} of this project is stored.`
}

function found(compared: ComparedRuns, comparison: Comparison, context: RequestContext): Html {
  const { pipeline, other } = compared
  return html`${card(other === undefined ? 'This run and the usual duration' : 'The two runs', runsTable(compared, comparison, context), { aside: inAll(comparison) })}
  ${card('What explains the difference', explanation(comparison, compared))}
  ${other !== undefined && card('Both on one time axis', bothWaterfalls(pipeline, other, context))}
  ${card('Job by job', jobsTable(compared, comparison, context), { aside: changes(comparison), id: 'jobs' })}`
}

function bothWaterfalls(pipeline: RunCard, other: RunCard, context: RequestContext): Content {
  const waterfall = sharedWaterfall(pipeline, other, context.now)
  const { jobs, ofJobs } = waterfall.left
  return html`${waterfallDrawing(waterfall, {
    asked: pipeline.pipelineId,
    description: 'The jobs of both runs over time, each run from its start; the table of jobs has the same data',
    href: row =>
      row.kind === 'job' ? jobAddress(context.base, row, row.id, context) : pipelineAddress(context.base, row, context),
  })}${
    jobs > 0 &&
    html`<p class="dim">
      ${number(jobs)} of ${counted(ofJobs, 'job')} ${jobs === 1 ? 'is' : 'are'} not drawn: the shortest of those that
      passed or did not run.
    </p>`
  }`
}

function inAll({ deltaMs }: Comparison): Content {
  if (deltaMs === undefined) return ''
  if (deltaMs === 0) return 'Both took equally long.'
  return `${duration(Math.abs(deltaMs))} ${deltaMs > 0 ? 'longer' : 'shorter'}`
}

const changeWords: Readonly<Record<ComparedJob['change'], string>> = {
  new: 'new',
  gone: 'gone',
  failed: 'failed now',
  passed: 'passed now',
  other: 'another status',
  none: 'as before',
}

function changes({ jobs }: Comparison): string {
  const by = Map.groupBy(jobs, ({ change }) => change)
  const counts = [...by]
    .filter(([change]) => change !== 'none')
    .map(([change, some]) => `${some.length} ${changeWords[change]}`)
  return [counted(jobs.length, 'job'), ...counts].join(', ')
}

function runsTable({ pipeline, other, usual }: ComparedRuns, comparison: Comparison, context: RequestContext): Html {
  const { base, now } = context
  const { hereMs, thereMs, deltaMs } = comparison
  const took = (ms: number | undefined): Content => figure(duration(ms))
  const differs = (here: Content, there: Content): Content =>
    here === there ? html`<span class="dim">the same</span>` : 'differs'
  if (other === undefined) {
    return html`${table(
      'This run and the usual duration',
      ['', `#${pipeline.pipelineId}`, 'Usual (median)', 'Difference'],
      [['Took', took(hereMs), took(thereMs), longer(deltaMs, thereMs, slack, usual?.runs)]],
    )}
    ${usual !== undefined && html`<p class="dim">From ${counted(usual.runs, 'run')} in ${usual.days} days ${whereUsual(usual)}; p95 ${roughly(usual.p95)}.</p>`}`
  }
  const link = (run: RunCard): Content =>
    html`<a href="${pipelineAddress(base, run, context)}">${pipelineTitle(run)}</a>`
  const commit = ({ sha, commit: message }: RunCard): Content =>
    sha === undefined ? '–' : html`<span class="word"><code>${shortSha(sha)}</code> ${title(message)}</span>`
  const started = ({ user, source }: RunCard): string =>
    [user, source && wordOf(source)].filter(Boolean).join(', ') || '–'
  const failed = ({ failures }: RunCard): string => failures.map(({ name }) => name).join(', ') || 'none'
  const retried = ({ jobs }: RunCard): number => jobs.filter(job => job.retried).length
  return table(
    'The two runs',
    ['', `#${pipeline.pipelineId}`, `#${other.pipelineId}`, 'Difference'],
    [
      ['Pipeline', link(pipeline), link(other), ''],
      ['Status', badge(pipeline.status), badge(other.status), differs(pipeline.status, other.status)],
      ['Took', took(hereMs), took(thereMs), longer(deltaMs, thereMs, slack)],
      ['Created', time(pipeline.createdAt, now), time(other.createdAt, now), ''],
      ['Branch or tag', pipeline.ref ?? '–', other.ref ?? '–', differs(pipeline.ref, other.ref)],
      ['Commit', commit(pipeline), commit(other), differs(pipeline.sha, other.sha)],
      ['Started by', started(pipeline), started(other), differs(started(pipeline), started(other))],
      ['Failed jobs', failed(pipeline), failed(other), differs(failed(pipeline), failed(other))],
      ['Jobs', pipeline.jobs.length, other.jobs.length, differs(pipeline.jobs.length, other.jobs.length)],
      ['Retried jobs', retried(pipeline), retried(other), differs(retried(pipeline), retried(other))],
    ],
  )
}

function explanation({ parts, deltaMs = 0 }: Comparison, { pipeline, other }: ComparedRuns): Content {
  if (parts.length === 0)
    return empty(
      'Their critical paths took equally long, or one run has no critical path because none of its jobs ran.',
    )
  const shown = parts.slice(0, maxParts)
  const rest = deltaMs - shown.reduce((sum, part) => sum + part.deltaMs, 0)
  const isUsual = other === undefined
  const missing = (of: string): Content => html`<span class="dim">${of}</span>`
  const rows = shown.map(part => [
    partName(part),
    figure(part.hereMs === undefined ? missing(isUsual ? '–' : 'not on its critical path') : duration(part.hereMs)),
    figure(part.thereMs === undefined ? missing(isUsual ? '–' : 'not on its critical path') : duration(part.thereMs)),
    longer(part.deltaMs, part.thereMs ?? 0, isUsual ? slack : 1),
  ])
  if (rest !== 0) rows.push([html`<span class="dim">everything else</span>`, '', '', longer(rest, 0)])
  const heads = [
    'On the critical path',
    `#${pipeline.pipelineId}`,
    isUsual ? 'Usual' : `#${other.pipelineId}`,
    'Difference',
  ]
  return html`${table('What explains the difference', heads, rows)}
    <p class="dim">
      The critical path is the chain of jobs that decided how long the pipeline took.
      ${
        isUsual
          ? '“Usual” is the median of each of these jobs. The rest of the usual pipeline is one row, so that the rows add up to the difference.'
          : 'A step listed for one run only was not critical in the other.'
      }
    </p>`
}

const partWords: Readonly<Record<Exclude<TimePart['part'], 'end' | 'rest'>, (job: Html) => Html>> = {
  ran: job => html`${job} ran`,
  waited: job => html`waiting until ${job} began`,
  attempts: job => html`failed attempts of ${job}`,
  retry: job => html`waiting for a retry of ${job}`,
}

function partName({ part, name, stage }: TimePart): Content {
  if (part === 'end') return 'after the last job'
  if (part === 'rest') return 'other jobs and waits of the usual pipeline'
  const job = html`<strong>${name}</strong> <span class="dim">${stage}</span>`
  return html`<span class="name">${partWords[part](job)}</span>`
}

function jobColumns(
  { pipeline, other }: ComparedRuns,
  context: RequestContext,
): Record<string, ShownColumn<ComparedJob>> {
  const name = (job: ComparedJob): Content => {
    const [of, id] = job.here?.id === undefined ? [other, job.there?.id] : [pipeline, job.here.id]
    if (of === undefined || id === undefined) return job.name
    return html`<a href="${jobAddress(context.base, of, id, context)}">${job.name}</a>`
  }
  return {
    name: {
      head: 'Job',
      of: job => job.name,
      cell: job => html`<span class="name">${name(job)} ${tags(job)}</span>`,
    },
    stage: texts(
      'Stage',
      job => job.stage,
      stage => html`<span class="word">${stage}</span>`,
    ),
    change: { head: 'Outcome', of: rank, cell: job => html`<span class="whole">${outcome(job)}</span>` },
    ran: figures('Ran', job => job.here?.ranMs, duration),
    other: figures(other === undefined ? 'Usual' : 'Other', job => job.there?.ranMs, duration),
    delta: {
      head: 'Difference',
      of: job => job.ranDeltaMs,
      cell: ({ ranDeltaMs, there }) => longer(ranDeltaMs, there?.ranMs, slack, there?.runs),
    },
    queued: figures('Queued', job => job.here?.queuedMs, duration),
    queue: {
      head: 'Difference',
      of: job => job.queuedDeltaMs,
      cell: ({ queuedDeltaMs, there }) => longer(queuedDeltaMs, there?.queuedMs, slack, there?.runs),
    },
  }
}

function jobsTable(compared: ComparedRuns, { jobs }: Comparison, context: RequestContext): Content {
  if (jobs.length === 0) return empty('No jobs yet.')
  const columns = jobColumns(compared, context)
  const { heads, rows } = sorting(columns, jobs, {
    sort: context.query.get('sort'),
    href: sort => `${compareAddress(context.base, compared.pipeline, compared.with, context)}&sort=${sort}#jobs`,
    otherwise: (a, b) => rank(a) - rank(b) || Math.abs(b.ranDeltaMs ?? 0) - Math.abs(a.ranDeltaMs ?? 0),
  })
  return html`${table('Job by job', heads, rows.slice(0, maxJobs).map(cellsOf(columns)))}
  ${jobs.length > maxJobs && html`<p class="dim">The first ${maxJobs} of ${counted(jobs.length, 'job')}.</p>`}`
}

function tags({ change, here, there }: ComparedJob): Content {
  const retries = (side: ComparedSide | undefined): number => (side?.tries ?? 1) - 1
  const [own, others] = [retries(here), retries(there)]
  return [
    (change === 'new' || change === 'gone') && html`<span class="tag">${change}</span> `,
    own + others > 0 && html`<span class="tag">retried ${own}× (other: ${others}×)</span> `,
    here?.critical === true && html`<span class="tag">critical path</span>`,
  ]
}

function outcome({ here, there }: ComparedJob): Content {
  const [own, other] = [here?.status, there?.status]
  if (own === undefined) return html`<span class="dim">was</span> ${other !== undefined && badge(other)}`
  return html`${badge(own)}${other !== undefined && other !== own && html` <span class="dim">was ${wordOf(other)}</span>`}`
}

/** Returns a change's rank for sorting. Changes for the worse come first. */
function rank({ change }: ComparedJob): number {
  return ['failed', 'passed', 'new', 'gone', 'other', 'none'].indexOf(change)
}

function sharedWaterfall(here: RunCard, there: RunCard, now: Millis): Omit<Waterfall, 'path'> {
  const own = waterfallOf({ card: here, children: [], left: 0 }, here.pipelineId, now)
  const other = waterfallOf({ card: there, children: [], left: 0 }, there.pipelineId, now)
  const shift = own.from - other.from
  const moved = other.rows.map(row => ({
    ...row,
    ...{ queued: later(row.queued, shift), start: later(row.start, shift), end: later(row.end, shift) },
  }))
  return {
    rows: [...named(own.rows), ...named(moved)],
    ...{ from: own.from, to: Math.max(own.to, other.to + shift) },
    left: { jobs: own.left.jobs + other.left.jobs, ofJobs: own.left.ofJobs + other.left.ofJobs, pipelines: 0 },
  }
}

/** Labels the two pipelines by number, because they have the same name. */
function named(rows: readonly WaterfallRow[]): WaterfallRow[] {
  return rows.map(row => (row.kind === 'pipeline' ? { ...row, label: `#${row.pipelineId}`, note: row.label } : row))
}

function later(at: Millis | undefined, shift: number): Millis | undefined {
  return at === undefined ? undefined : at + shift
}
