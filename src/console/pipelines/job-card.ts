// The columns of job lists: a job as plain data, for the pages and the JSON API.
import { z } from 'zod'
import { badge, wordOf } from '../layout/status.ts'
import { clock, duration, figure } from '../layout/format.ts'
import { hasFailed, isRunning } from '../../model/status.ts'
import { html, type Html } from '../layout/html.ts'
import { listOf } from '../layout/list.ts'
import { millis, ms, type Shaped } from '../layout/shape.ts'
import { usualCell, usualShape } from './usual.ts'
import type { JobView } from '../../model/job.ts'
import type { Millis } from '../../model/instant.ts'

/** A job of a run, in the form that the list columns use. */
interface ViewedJob {
  readonly job: JobView
  readonly isRetried: boolean
  readonly platformNow: Millis
}

/** The additional data that the table of a pipeline's jobs needs. */
interface JobsContext {
  readonly hrefOf: (jobId: number) => string
}

export const jobList = listOf<ViewedJob, JobsContext>()({
  id: { json: z.number(), of: ({ job }) => job.id },
  kind: { json: z.enum(['job', 'bridge']), of: ({ job }) => job.kind },
  status: {
    json: z.string(),
    of: ({ job }) => job.status,
    title: 'Status',
    by: job => statusOf(job),
    cell: job => badge(statusOf(job), wordOf(job.status)),
  },
  name: {
    json: z.string(),
    of: ({ job }) => job.name ?? String(job.id),
    title: 'Job',
    cell: ({ id, name, retried, kind }, { hrefOf }) =>
      html`<span class="name"
        ><a href="${hrefOf(id)}">${name}</a>
        ${retried && html`<span class="tag">retried</span>`}${kind === 'bridge' && html`<span class="tag">bridge</span>`}</span
      >`,
  },
  stage: {
    json: z.string(),
    of: ({ job }) => job.stage ?? '',
    title: 'Stage',
    cell: ({ stage }) => html`<span class="word">${stage}</span>`,
  },
  allowFailure: { json: z.boolean(), of: ({ job }) => job.allowFailure ?? false },
  retried: { json: z.boolean(), of: ({ isRetried }) => isRetried },
  createdAt: { json: millis.optional(), of: ({ job }) => job.createdAt },
  startedAt: {
    json: millis.optional(),
    of: ({ job }) => job.startedAt,
    title: 'Started',
    as: 'started',
    cell: ({ startedAt }) => clock(startedAt),
  },
  finishedAt: { json: millis.optional(), of: ({ job }) => job.finishedAt },
  queuedMs: {
    json: ms.optional(),
    of: ({ job }) => (job.queuedDuration === undefined ? undefined : Math.max(0, job.queuedDuration * 1000)),
    title: 'Queued',
    as: 'queued',
    cell: ({ queuedMs }) => figure(duration(queuedMs)),
  },
  ranMs: {
    json: ms.optional().describe('Time from the start of the job to its end, or to now while it runs.'),
    of: ({ job, platformNow }) => ranMs(job, platformNow),
    title: 'Ran',
    as: 'ran',
    cell: job => figure(duration(job.ranMs)),
  },
  usual: {
    json: usualShape.optional(),
    inJson: false,
    title: 'Usual / p95',
    by: ({ usual }) => usual?.p50,
    cell: ({ ranMs: took, usual }) => usualCell(took, usual),
  },
  failureReason: { json: z.string().optional(), of: ({ job }) => job.failureReason },
  url: { json: z.string().optional(), of: ({ job }) => job.url },
  runner: {
    json: z.string().optional(),
    of: ({ job }) => job.runner?.description,
    title: 'Reason or runner',
    by: ({ failureReason, runner }) => failureReason ?? runner,
    cell: job => runnerOf(job),
  },
  downstreamId: { json: z.number().optional(), of: ({ job }) => job.downstream?.pipelineId },
})
export type JobCard = Shaped<typeof jobList.shape>

/** Orders jobs by start time. Jobs that did not start come last. */
export function byStart(a: JobCard, b: JobCard): number {
  return (a.startedAt ?? Infinity) - (b.startedAt ?? Infinity) || a.id - b.id
}

/** Returns how long a job ran; undefined if it never started, or if its end is unknown. */
function ranMs({ startedAt, finishedAt, status }: JobView, platformNow: Millis): number | undefined {
  const end = finishedAt ?? (isRunning(status) ? platformNow : undefined)
  return startedAt === undefined || end === undefined ? undefined : Math.max(0, end - startedAt)
}

/** Returns the stages in the order of their jobs, each with its jobs. Jobs replaced by a retry are omitted. */
export function stagesOf(card: {
  readonly jobs: readonly JobCard[]
}): { readonly name: string; readonly jobs: readonly JobCard[] }[] {
  const stages = new Map<string, JobCard[]>()
  for (const job of card.jobs) {
    if (job.retried) continue
    const known = stages.get(job.stage)
    if (known === undefined) stages.set(job.stage, [job])
    else known.push(job)
  }
  return [...stages].map(([name, jobs]) => ({ name, jobs }))
}

/** Returns the runner that a job ran on, or the reason why the job failed. */
export function runnerOf({
  failureReason,
  runner,
}: {
  readonly failureReason?: string | undefined
  readonly runner?: string | undefined
}): Html {
  return html`<span class="word">${failureReason === undefined ? runner : wordOf(failureReason)}</span>`
}

/** Returns the status shown for a job. A failed job that is allowed to fail is shown as a warning. */
export function statusOf({
  status,
  allowFailure,
}: {
  readonly status: string
  readonly allowFailure: boolean
}): string {
  return hasFailed(status) && allowFailure ? 'warning' : status
}

const weight = ['failed', 'running', 'canceling', 'pending', 'preparing', 'waiting_for_resource', 'manual', 'canceled']

/** Returns the most important status of several jobs. */
export function statusOfStage(jobs: readonly JobCard[]): string {
  const statuses = new Set(jobs.map(statusOf))
  const heaviest = weight.find(status => statuses.has(status))
  if (heaviest !== undefined) return heaviest
  if (statuses.has('warning')) return 'warning'
  if (statuses.has('success')) return 'success'
  return jobs[0]?.status ?? 'created'
}
