// A job's recent runs: the jobs with the same name in the newest pipelines of the project.
import { z } from 'zod'
import type { Shaped } from '../layout/shape.ts'
import { badge, wordOf } from '../layout/status.ts'
import { counted, duration, figure, shortSha, time } from '../layout/format.ts'
import { empty, type RequestContext } from '../layout/frame.ts'
import { drawn, listOf } from '../layout/list.ts'
import { html, type Content } from '../layout/html.ts'
import { jobAddress } from '../pipelines/run-rows.ts'
import { pipelinesBack } from '../pipelines/compared-with.ts'
import type { RunCard } from '../pipelines/run-card.ts'
import { jobList, runnerOf, statusOf, type JobCard } from '../pipelines/job-card.ts'
import type { PagesParts } from '../ports.ts'

interface HistoryContext extends RequestContext {
  /** The run that the job page shows. */
  readonly here: JobCard
  readonly projectId: number
}

const pastRuns = listOf<never, HistoryContext>()({
  status: {
    ...drawn,
    title: 'Status',
    by: ({ job }) => job.status,
    cell: ({ job }) => badge(statusOf(job), wordOf(job.status)),
  },
  job: {
    json: jobList.shape,
    title: 'Job',
    by: ({ job }) => job.id,
    cell: ({ job, pipelineId }, { here, projectId, ...context }) =>
      job.id === here.id
        ? html`<strong>#${job.id}</strong> <span class="tag">this run</span>`
        : html`<a href="${jobAddress(context.base, { projectId, pipelineId }, job.id, context)}">#${job.id}</a>`,
  },
  ran: { ...drawn, title: 'Ran', by: ({ job }) => took(job), cell: ({ job }) => figure(duration(took(job))) },
  queued: {
    ...drawn,
    title: 'Queued',
    by: ({ job }) => job.queuedMs,
    cell: ({ job }) => figure(duration(job.queuedMs)),
  },
  started: {
    ...drawn,
    title: 'Started',
    by: ({ job }) => job.startedAt ?? job.createdAt,
    cell: ({ job }, { now }) => time(job.startedAt ?? job.createdAt, now),
  },
  ref: {
    json: z.string().optional(),
    title: 'Branch and commit',
    cell: ({ ref, sha }) =>
      html`<span class="word"
        >${ref !== undefined && html`<code>${ref}</code>`} <span class="dim mono">${shortSha(sha)}</span></span
      >`,
  },
  sha: { json: z.string().optional() },
  runner: {
    ...drawn,
    title: 'Reason or runner',
    by: ({ job }) => job.failureReason ?? job.runner,
    cell: ({ job }) => runnerOf(job),
  },
  pipelineId: { json: z.number() },
})
type PastRun = Shaped<typeof pastRuns.shape>

export const historyShape = z.object({
  runs: z.array(pastRuns.shape),
  pipelines: z.number().describe('Number of newest pipelines of the project that were searched.'),
})
/** A job's recent runs, newest first. */
type JobHistory = Shaped<typeof historyShape>

const maxRuns = 12

export async function historyOf(
  parts: Pick<PagesParts, 'views' | 'clock'>,
  of: Pick<RunCard, 'instance' | 'projectId' | 'project'>,
  { name, kind }: JobCard,
): Promise<JobHistory> {
  const runs: PastRun[] = []
  let pipelines = 0
  for await (const { jobs, pipelineId, ref, sha } of pipelinesBack(parts, of)) {
    pipelines += 1
    const same = jobs.filter(job => job.name === name && job.kind === kind).reverse()
    runs.push(...same.map(job => ({ pipelineId, ref, sha, job })))
    if (runs.length >= maxRuns) break
  }
  return { runs: runs.slice(0, maxRuns), pipelines }
}

/** Renders the table of recent runs. `here` is the run that the page shows. */
export function historyTable(
  { runs, pipelines }: JobHistory,
  here: JobCard,
  { projectId }: Pick<RunCard, 'projectId'>,
  context: RequestContext,
): Content {
  if (runs.length === 0) return empty(`No run in the last ${counted(pipelines, 'pipeline')} of its project.`)
  return html`${pastRuns.draw('Recent runs', runs, { ...context, here, projectId })}
    <p class="dim">Searched in the last ${counted(pipelines, 'pipeline')} of its project.</p>`
}

function took({ startedAt, finishedAt }: JobCard): number | undefined {
  return startedAt === undefined || finishedAt === undefined ? undefined : finishedAt - startedAt
}
