// The recent runs of a job: jobs of the same name in the newest pipelines of the project.
import { runnerColumn } from '../pipelines/jobs-table.ts'
import { z } from 'zod'
import type { Shaped } from '../layout/shape.ts'
import { badge, wordOf } from '../layout/status.ts'
import { counted, duration, shortSha, time } from '../layout/format.ts'
import { empty, type RequestContext } from '../layout/frame.ts'
import { html, type Content } from '../layout/html.ts'
import { jobAddress } from '../pipelines/run-rows.ts'
import { figures, sortedTable, type ShownColumn } from '../layout/sorting.ts'
import { jobCardShape, runCard, statusOf, type JobCard, type RunCard } from '../pipelines/run-card.ts'
import type { PagesParts } from '../ports.ts'
import type { RunCursor } from '../../core/store/ports/views.ts'

const pastRunShape = z.object({
  pipelineId: z.number(),
  ref: z.string().optional(),
  sha: z.string().optional(),
  job: jobCardShape,
})
type PastRun = Shaped<typeof pastRunShape>

export const historyShape = z.object({
  runs: z.array(pastRunShape),
  pipelines: z.number().describe('Number of newest pipelines of the project that were searched.'),
})
/** Newest first. */
type JobHistory = Shaped<typeof historyShape>

const maxRuns = 12
/** How many pipelines and jobs are searched, so that a page takes only milliseconds however large they are. */
const maxPipelines = 50
const maxJobs = 5_000
const atOnce = 10

export async function historyOf(
  { views, clocks }: Pick<PagesParts, 'views' | 'clocks'>,
  { instance, projectId, project }: Pick<RunCard, 'instance' | 'projectId' | 'project'>,
  { name, kind }: JobCard,
): Promise<JobHistory> {
  const clock = await clocks()
  const runs: PastRun[] = []
  let after: RunCursor | undefined
  let pipelines = 0
  let jobs = 0
  do {
    const page = await views.search({ project, after, limit: atOnce })
    for (const card of page.runs.map(run => runCard(run, clock))) {
      // Another instance may have a project with the same path.
      if (card.instance !== instance || card.projectId !== projectId) continue
      pipelines += 1
      jobs += card.jobs.length
      const same = card.jobs.filter(job => job.name === name && job.kind === kind).reverse()
      runs.push(...same.map(job => ({ pipelineId: card.pipelineId, ref: card.ref, sha: card.sha, job })))
    }
    after = page.next
  } while (after !== undefined && runs.length < maxRuns && pipelines < maxPipelines && jobs < maxJobs)
  return { runs: runs.slice(0, maxRuns), pipelines }
}

/** `here`: the run that the page shows. */
export function historyTable(
  { runs, pipelines }: JobHistory,
  here: JobCard,
  { projectId }: Pick<RunCard, 'projectId'>,
  context: RequestContext,
): Content {
  if (runs.length === 0) return empty(`No run in the last ${counted(pipelines, 'pipeline')} of its project.`)
  const columns: Record<string, ShownColumn<PastRun>> = {
    status: {
      head: 'Status',
      of: ({ job }) => job.status,
      cell: ({ job }) => badge(statusOf(job), wordOf(job.status)),
    },
    job: {
      head: 'Job',
      of: ({ job }) => job.id,
      cell: ({ job, pipelineId }) =>
        job.id === here.id
          ? html`<strong>#${job.id}</strong> <span class="tag">this run</span>`
          : html`<a href="${jobAddress(context.base, { projectId, pipelineId }, job.id, context)}">#${job.id}</a>`,
    },
    ran: figures('Ran', ({ job }) => took(job), duration),
    queued: figures('Queued', ({ job }) => job.queuedMs, duration),
    started: {
      head: 'Started',
      of: ({ job }) => job.startedAt ?? job.createdAt,
      cell: ({ job }) => time(job.startedAt ?? job.createdAt, context.now),
    },
    ref: {
      head: 'Branch and commit',
      of: ({ ref }) => ref,
      cell: ({ ref, sha }) =>
        html`<span class="word"
          >${ref !== undefined && html`<code>${ref}</code>`} <span class="dim mono">${shortSha(sha)}</span></span
        >`,
    },
    runner: runnerColumn(({ job }) => job),
  }
  return html`${sortedTable('Recent runs', columns, runs, context)}
    <p class="dim">Searched in the last ${counted(pipelines, 'pipeline')} of its project.</p>`
}

function took({ startedAt, finishedAt }: JobCard): number | undefined {
  return startedAt === undefined || finishedAt === undefined ? undefined : finishedAt - startedAt
}
