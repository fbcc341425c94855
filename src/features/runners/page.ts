// The runners page: which jobs are waiting for a runner, how busy the runners of each tag set were over the day, and how long jobs waited.
import { badge } from '../../console/layout/status.ts'
import { fullWidth, stackedBars } from '../../console/charts/stacked-bars.ts'
import { card, empty, howCounted, type Page, type RequestContext } from '../../console/layout/frame.ts'
import { counted, duration, number, time } from '../../console/layout/format.ts'
import { figures, sortedTable, texts, type ShownColumn } from '../../console/layout/sorting.ts'
import { html, pathText, type Content, type Html } from '../../console/layout/html.ts'
import { jobAddress } from '../../console/pipelines/run-rows.ts'
import type { RunnersView, TagSetFigures, WaitingJob } from './figures.ts'

export function runnersPage(view: RunnersView, context: RequestContext): Page {
  const { tagSets, waiting, waitingCount, untakeable } = view
  const running = tagSets.reduce((sum, one) => sum + one.running, 0)
  return {
    title: 'Runners',
    live: true,
    content: html`<div class="page-head"><h1>Runners</h1></div>
      <p class="summary">
        <strong>${counted(running, 'job')}</strong> running, <strong>${number(waitingCount)}</strong> waiting for a
        runner${waiting[0] !== undefined && html`, the longest for <strong>${duration(waiting[0].waitMs)}</strong>`}
        ${untakeable > 0 && html` · <strong>${counted(untakeable, 'job')}</strong> that no known runner can take`}
      </p>
      ${card(
        'Waiting now',
        waiting.length === 0
          ? empty('No job is waiting for a runner.')
          : html`${waitingTable(waiting, context)}
            ${waitingCount > waiting.length && html`<p class="dim">The ${number(waiting.length)} that have waited longest.</p>`}`,
      )}
      ${card(
        'Running jobs over the last day',
        tagSets.length === 0
          ? empty('No job ran in the last day.')
          : html`${busyChart(view)}${tagSetTable(view, context)}`,
      )}
      ${notes(view)}`,
  }
}

function waitingTable(waiting: readonly WaitingJob[], context: RequestContext): Html {
  const columns: Record<string, ShownColumn<WaitingJob>> = {
    job: {
      head: 'Job',
      of: ({ name }) => name,
      cell: job => html`<a href="${jobAddress(context.base, job, job.jobId, context)}">${job.name}</a>`,
    },
    project: texts('Project', ({ project }) => project, pathText),
    tags: { head: 'Tags', of: ({ tagSet }) => tagSet, cell: ({ tagSet }) => tagsOf(tagSet) },
    wait: figures('Waiting for', ({ waitMs }) => waitMs, duration),
    runner: {
      head: 'Runner',
      of: ({ runner }) => runner,
      cell: ({ runner }) => {
        if (runner === 'none') return badge('failed', 'none has these tags')
        return runner === 'known' ? 'known' : '–'
      },
    },
  }
  return sortedTable('Waiting jobs', columns, waiting, context)
}

function tagSetTable({ tagSets, hasInventory }: RunnersView, context: RequestContext): Html {
  const average = ({ busy }: TagSetFigures): number =>
    busy.reduce((sum, one) => sum + one, 0) / Math.max(1, busy.length)
  const columns: Record<string, ShownColumn<TagSetFigures>> = {
    tags: { head: 'Tags', of: ({ tagSet }) => tagSet, cell: ({ tagSet }) => tagsOf(tagSet) },
    jobs: figures('Jobs', ({ jobs }) => jobs, number),
    time: figures('Running time', ({ totalMs }) => totalMs, duration),
    average: figures('At a time', average, value => value.toFixed(value < 10 ? 1 : 0)),
    most: figures('At most', ({ maxBusy }) => maxBusy, number),
    p50: figures('Wait, median', ({ waitP50Ms }) => waitP50Ms, duration),
    p95: figures('Wait, p95', ({ waitP95Ms }) => waitP95Ms, duration),
    longest: {
      head: 'Longest wait',
      of: ({ longest }) => longest?.waitMs,
      cell: ({ longest }) =>
        longest === undefined
          ? '–'
          : html`<a class="figure" href="${jobAddress(context.base, longest, longest.jobId, context)}"
              >${duration(longest.waitMs)}</a
            >`,
    },
    ...(hasInventory && {
      runners: {
        head: 'Runners',
        of: ({ runners }) => runners && runners.available + runners.busy,
        cell: ({ runners }) => runnersOf(runners),
      },
    }),
  }
  return sortedTable('Runners by tags', columns, tagSets, context)
}

function runnersOf(runners: TagSetFigures['runners']): Content {
  if (runners === undefined) return '–'
  const { available, busy, offline } = runners
  return html`<span class="whole"
    >${number(busy)} of ${number(available + busy)} busy${offline > 0 && html`, ${number(offline)} offline`}</span
  >`
}

function tagsOf(tagSet: string | undefined): Content {
  if (tagSet === undefined) return html`<span class="dim">unknown</span>`
  return tagSet === '' ? html`<span class="dim">none</span>` : html`<code>${tagSet.replaceAll(',', ', ')}</code>`
}

function notes({ since, until, isWhole, pipelines, hasInventory }: RunnersView): Html {
  return html`${!isWhole && html`<p class="dim">Only the newest ${number(pipelines)} pipelines are read: the figures begin at ${time(since, until)}.</p>`}
  ${howCounted(
    html`Tags are those of the runner or, for a waiting job, those that it requires. A wait is the time from when a job
    could start until a runner took it. “At a time” is the average number of jobs that ran at the same time, “At most”
    the maximum.
    ${
      hasInventory
        ? 'Runners are counted from the platform’s list.'
        : html`Set <code>PIPESPAN_INVENTORY_RUNNERS</code> to see how many runners are busy or offline. Without it, only
            runners that ran a job in this period are known.`
    }`,
  )}`
}

/** The maximum number of tag sets that have their own area in the chart. */
const maxShown = 5

interface Step {
  readonly at: number
  readonly index: number
}

interface Busy {
  readonly name: string
  readonly css: string
  readonly busy: readonly number[]
}

/** The chart of concurrent jobs, stacked by the tags of their runners. The table shows the same figures as sums. */
function busyChart(view: RunnersView): Html {
  const { since, until, stepMs: step } = view
  const areas = areasOf(view)
  return stackedBars({
    label: 'Jobs that ran at the same time, by tags of the runner',
    width: fullWidth,
    frame: { since, until, step },
    steps: Array.from({ length: Math.round((until - since) / step) }, (_, index) => ({
      at: since + index * step,
      index,
    })),
    areas: areas.map(({ name, css, busy }) => ({ name, css, value: (step: Step) => busy[step.index] ?? 0 })),
    shown: value => (Number.isInteger(value) ? String(value) : value.toFixed(1)),
  })
}

/** Returns the areas of the chart: one for each of the busiest tag sets, and one for all others. */
function areasOf({ tagSets }: RunnersView): Busy[] {
  const ran = tagSets.filter(({ busy }) => busy.some(value => value > 0))
  const shown = ran.length > maxShown ? ran.slice(0, maxShown - 1) : ran
  const others = ran.slice(shown.length)
  const areas = shown.map(({ tagSet, busy }, index) => ({ name: nameOf(tagSet), css: `series-${index + 1}`, busy }))
  if (others.length === 0) return areas
  const busy = others[0]?.busy.map((_, at) => others.reduce((sum, one) => sum + (one.busy[at] ?? 0), 0)) ?? []
  return [...areas, { name: `${others.length} others`, css: `series-${maxShown}`, busy }]
}

function nameOf(tagSet: string | undefined): string {
  if (tagSet === undefined) return 'unknown tags'
  return tagSet === '' ? 'no tags' : tagSet.replaceAll(',', ', ')
}
