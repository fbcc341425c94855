// The rows of run lists, each with the statuses of its stages, and the addresses of pages about runs.
import { addressWith } from '../layout/address.ts'
import { duration, since, title } from '../layout/format.ts'
import { badge, mark, wordOf } from '../layout/status.ts'
import { beside } from './usual.ts'
import { empty } from '../layout/frame.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { runList, type ListedRun, type RunCard } from './run-card.ts'
import { stagesOf, statusOfStage } from './job-card.ts'
import type { RequestContext } from '../layout/frame.ts'

type PipelineIds = Pick<RunCard, 'projectId' | 'pipelineId'> & { readonly instance?: string | undefined }
type From = Pick<RequestContext, 'query' | 'hasSeveralPlatforms'>

/**
 * Returns the address of a pipeline's page. `from` is the current page's context: if there are several platforms, the address names that of the
 * pipeline; otherwise, the `instance` parameter of the current page's address is kept.
 */
export function pipelineAddress(base: string, card: PipelineIds, from?: From): string {
  return addressWith(`${base}/pipelines/${card.projectId}/${card.pipelineId}`, { instance: instanceOf(card, from) })
}

export function jobAddress(base: string, card: PipelineIds, jobId: number, from?: From): string {
  return addressWith(`${pipelineAddress(base, card)}/jobs/${jobId}`, { instance: instanceOf(card, from) })
}

export function logAddress(base: string, card: PipelineIds, jobId: number, from?: From): string {
  return addressWith(`${jobAddress(base, card, jobId)}/log`, { instance: instanceOf(card, from) })
}

type JobIds = Readonly<Partial<Record<'projectId' | 'pipelineId' | 'jobId', number | undefined>>> & {
  readonly instance?: string | undefined
}

/** Returns undefined if one of the IDs is unknown. */
export function knownJobAddress(
  { instance, projectId, pipelineId, jobId }: JobIds,
  context: From & Pick<RequestContext, 'base'>,
): string | undefined {
  if (projectId === undefined || pipelineId === undefined || jobId === undefined) return undefined
  return jobAddress(context.base, { instance, projectId, pipelineId }, jobId, context)
}

/** Renders a link to a job's page, with the job's number as its text; undefined if one of the IDs is unknown. */
export function jobLink(job: JobIds, context: From & Pick<RequestContext, 'base'>): Html | undefined {
  const address = knownJobAddress(job, context)
  return address === undefined ? undefined : html`<a href="${address}">#${job.jobId}</a>`
}

/** Returns the address of a comparison. `other` is what to compare the pipeline with, such as `before` or the number of another pipeline. */
export function compareAddress(base: string, card: PipelineIds, other: string | number, from?: From): string {
  return addressWith(`${pipelineAddress(base, card)}/compare`, { with: other, instance: instanceOf(card, from) })
}

function instanceOf({ instance }: PipelineIds, from: From | undefined): string | undefined {
  return (from?.hasSeveralPlatforms === true ? instance : undefined) ?? from?.query.get('instance') ?? undefined
}

/** Renders links to the list of all pipelines and to the project's pipelines. */
export function projectCrumbs({ project }: Pick<RunCard, 'project'>, { base }: RequestContext): Html[] {
  return [
    html`<a href="${base}/pipelines">Pipelines</a>`,
    html`<a href="${addressWith(`${base}/pipelines`, { project })}">${project}</a>`,
  ]
}

/** Renders a link to a pipeline, with its title and number. */
export function pipelineLink(card: PipelineIds & Parameters<typeof pipelineTitle>[0], context: RequestContext): Html {
  const href = pipelineAddress(context.base, card, context)
  return html`<a href="${href}">${pipelineTitle(card)} #${card.pipelineId}</a>`
}

/** Returns a pipeline's name, otherwise its commit title, otherwise its ref. */
export function pipelineTitle(card: Pick<RunCard, 'name' | 'commit' | 'ref' | 'pipelineId'>): string {
  const message = title(card.commit)
  return card.name ?? (message === '' ? undefined : message) ?? card.ref ?? `Pipeline ${card.pipelineId}`
}

export function runRows(cards: readonly ListedRun[], context: RequestContext, whenEmpty: Content): Html {
  if (cards.length === 0) return empty(whenEmpty)
  return html`<ul class="runs">
    ${cards.map(card => runRow(card, context))}
  </ul>`
}

function runRow(card: ListedRun, context: RequestContext): Html {
  const { base, now } = context
  const failed = card.failures.map(job => job.name)
  return html`<li class="run">
    <span class="run-status">${badge(card.status)}</span>
    <div class="run-main">
      <a class="run-title" href="${pipelineAddress(base, card, context)}">${pipelineTitle(card)}</a>
      <span class="run-where">
        ${runList.columns.map(({ cell }) => cell !== undefined && html`${cell(card, context)} `)}
      </span>
      ${
        failed.length > 0 &&
        html`<span class="run-failed"
          >Failed: ${failed.slice(0, 3).join(', ')}${failed.length > 3 && ` and ${failed.length - 3} more`}</span
        >`
      }
    </div>
    <span class="run-stages">${stages(card)}</span>
    <span class="run-time">
      <span>${duration(card.spentMs)}</span>
      ${beside(card.spentMs, card.usual)}
      <span class="dim">${since(card.finishedAt ?? card.changedAt, now)}</span>
    </span>
  </li>`
}

function stages(card: RunCard): Content {
  const all = stagesOf(card)
  if (all.length === 0) return ''
  const shown = all.slice(0, 8)
  const label = all.map(({ name, jobs }) => `${name || 'jobs'}: ${wordOf(statusOfStage(jobs))}`).join(', ')
  return html`<span class="strip" role="img" aria-label="Stages: ${label}" title="${label}"
    >${shown.map(({ jobs }) => mark(statusOfStage(jobs)))}${all.length > shown.length && html`<span class="dim">+${all.length - shown.length}</span>`}</span
  >`
}
