// The list of running pipelines, each with a progress bar for its jobs.
import { counted, duration, since } from '../layout/format.ts'
import { badge, toneOf, wordOf } from '../layout/status.ts'
import { beside } from '../pipelines/usual.ts'
import { empty, type RequestContext } from '../layout/frame.ts'
import { html, type Html } from '../layout/html.ts'
import { isFinished } from '../../model/status.ts'
import { pipelineAddress, pipelineTitle } from '../pipelines/run-rows.ts'
import type { ListedRun, RunCard } from '../pipelines/run-card.ts'

/** The statuses of pipelines in which a job is running or waiting for a runner. */
export const activeStatuses = [
  'running',
  'pending',
  'preparing',
  'waiting_for_resource',
  'waiting_for_callback',
  'canceling',
  'created',
] as const

export function activityOf(cards: readonly ListedRun[], context: RequestContext): Html {
  if (cards.length === 0) return empty('No pipeline is running.')
  return html`<ul class="runs">
    ${cards.map(card => activity(card, context))}
  </ul>`
}

function activity(card: ListedRun, context: RequestContext): Html {
  const { base, now } = context
  const jobs = card.jobs.filter(job => !job.retried)
  const running = jobs.filter(job => job.status === 'running').map(job => job.name)
  const done = jobs.filter(job => isFinished(job.status)).length
  return html`<li class="run active-run">
    <span class="run-status">${badge(card.status)}</span>
    <div class="run-main">
      <a class="run-title" href="${pipelineAddress(base, card, context)}">${pipelineTitle(card)}</a>
      <span class="run-where"
        ><span>${card.project}</span>
        <span class="dim">#${card.pipelineId}</span> ${card.ref !== undefined && html`<code>${card.ref}</code>`}
        ${
          running.length > 0
            ? html`<span class="run-now">Now: ${nowRunning(running)}</span>`
            : html`<span class="run-now whole">${done} of ${counted(jobs.length, 'job')} done</span>`
        }</span
      >
      ${progress(card)}
    </div>
    <span class="run-time"
      ><span>${duration(card.spentMs)}</span>${beside(card.spentMs, card.usual)}<span class="dim"
        >${since(card.changedAt, now)}</span
      ></span
    >
  </li>`
}

function nowRunning(names: readonly string[]): string {
  const others = names.length - 2
  return others > 0 ? `${names.slice(0, 2).join(', ')} and ${others} more` : names.join(', ')
}

const order = ['good', 'bad', 'warn', 'active', 'waiting', 'off'] as const

function progress({ jobs }: RunCard): Html {
  const current = jobs.filter(job => !job.retried)
  const total = Math.max(1, current.length)
  const counts = order.map(tone => ({ tone, count: current.filter(job => toneOf(job.status) === tone).length }))
  const byStatus = Map.groupBy(current, job => job.status)
  const summary = [...byStatus].map(([status, some]) => `${some.length} ${wordOf(status)}`).join(', ')
  let x = 0
  return html`<svg
    class="progress"
    viewBox="0 0 100 6"
    preserveAspectRatio="none"
    role="img"
    aria-label="Jobs: ${summary || 'none yet'}"
  >
    <rect class="track" width="100" height="6" />
    ${counts.map(({ tone, count }) => {
      const width = (count / total) * 100
      const bar = html`<rect class="bar ${tone}" x="${x.toFixed(2)}" width="${width.toFixed(2)}" height="6" />`
      x += width
      return count > 0 && bar
    })}
  </svg>`
}
