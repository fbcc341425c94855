// The columns of pipeline lists: a run and its jobs as plain data, for the pages and the JSON API.
import { z } from 'zod'
import { branchClasses, branchClassOf } from '../../model/pipeline.ts'
import { shortSha } from '../layout/format.ts'
import { delayingJobs, hasActiveJobs, newestByName } from '../../model/attempt.ts'
import { eachRunColumn, type runColumns } from '../../core/store/ports/run-columns.ts'
import { earliest, latest, type Millis } from '../../model/instant.ts'
import { foldedName } from '../../core/store/ports/pipeline-name.ts'
import { html, type Content } from '../layout/html.ts'
import { isFinished, isTerminal, hasFailed } from '../../model/status.ts'
import { listOf } from '../layout/list.ts'
import { millis, ms, type Shaped } from '../layout/shape.ts'
import { usualShape, type Usuals } from './usual.ts'
import { jobList, type JobCard } from './job-card.ts'
import { viewJob } from '../../model/job.ts'
import type { PipelineFacts, PipelineTimes, ProjectFacts } from '../../model/observation.ts'
import type { StoredRun } from '../../core/store/ports/runs.ts'

/**
 * Returns the current time according to an instance's clock. The duration of a running pipeline is measured with it, because its start time comes
 * from the same clock.
 */
export type PlatformNow = (instance: string) => Millis

/** A run with values that several columns need, computed once. */
interface ViewedRun extends Pick<StoredRun, 'run' | 'timing'> {
  readonly facts: Partial<PipelineFacts>
  readonly times: PipelineTimes
  readonly status: string
  readonly jobs: readonly JobCard[]
  readonly platformNow: Millis
}

/** The columns for the string fields of a run that the store declares. */
const texts = Object.fromEntries(
  eachRunColumn.map(([name, { of, title }]) => {
    const draw = (row: object): Content => {
      const shown = (row as Readonly<Record<string, string | undefined>>)[name]
      return shown !== undefined && html`<span class="dim">${title} ${shown}</span>`
    }
    const column = { json: z.string().optional(), of: ({ facts }: ViewedRun) => of(facts as PipelineFacts) }
    return [name, { ...column, ...(title !== undefined && { cell: draw }) }]
  }),
) as Readonly<Record<keyof typeof runColumns, TextColumn>>
interface TextColumn {
  readonly json: z.ZodOptional<z.ZodString>
  readonly of: (run: ViewedRun) => string | undefined
}

/**
 * The columns of the pipeline list. Columns with a `cell` are shown, all on one line. The list can be sorted by the columns with a `title`: the
 * newest pipelines are then sorted by that column, largest value first.
 */
export const runList = listOf<ViewedRun>()({
  instance: { json: z.string(), of: ({ run }) => run.key.instance },
  projectId: { json: z.number(), of: ({ run }) => run.project.facts.id },
  project: {
    json: z.string(),
    of: ({ run }) => projectName(run.project.facts),
    cell: ({ project }) => html`<span>${project}</span>`,
  },
  pipelineId: {
    json: z.number(),
    of: ({ run }) => run.key.pipelineId,
    cell: ({ pipelineId }) => html`<span class="dim">#${pipelineId}</span>`,
  },
  iid: { json: z.number().optional(), of: ({ facts }) => facts.iid },
  ...texts,
  status: { json: z.string(), of: ({ status }) => status },
  ref: { ...texts.ref, cell: ({ ref }) => ref !== undefined && html`<code>${ref}</code>` },
  sha: { ...texts.sha, cell: ({ sha }) => sha !== undefined && html`<span class="dim mono">${shortSha(sha)}</span>` },
  attempts: {
    json: z.number(),
    of: ({ run }) => run.attempts.length,
    cell: ({ attempts }) => attempts > 1 && html`<span class="tag">attempt ${attempts}</span>`,
  },
  branchClass: { json: z.enum(branchClasses), of: ({ facts, run }) => branchClassOf(facts, run.project.facts) },
  countedAs: {
    json: z.string().describe('Pipeline name without the parts that change from run to run.'),
    of: ({ facts }) => foldedName(facts),
  },
  mergeRequest: {
    json: z.object({ iid: z.number(), title: z.string().optional() }).optional(),
    of: ({ facts }) => facts.mergeRequest && { iid: facts.mergeRequest.iid, title: facts.mergeRequest.title },
  },
  createdAt: { json: millis.optional(), of: ({ times }) => times.createdAt },
  finishedAt: { json: millis.optional(), of: finishOf },
  changedAt: { json: millis, of: ({ timing }) => timing.changedAt },
  platformNow: {
    json: millis.describe("The current time on the platform's clock."),
    of: ({ platformNow }) => platformNow,
  },
  spentMs: {
    json: ms.optional().describe('Time from the creation of the pipeline to its end, or to now while it runs.'),
    of: spentMs,
    as: 'duration',
    title: 'Longest first',
    by: run => run.spentMs,
  },
  jobs: { json: z.array(jobList.shape), of: ({ jobs }) => jobs },
  failures: {
    json: z.array(jobList.shape),
    of: ({ jobs }) => jobs.filter(job => hasFailed(job.status) && !job.retried && !job.allowFailure),
  },
  waitsUntil: { json: millis.optional(), of: waitsUntil },
  usual: {
    json: usualShape.optional(),
    title: 'Slowest compared with usual first',
    by: ({ spentMs: took, usual }) =>
      took === undefined || usual?.p50 === undefined || usual.p50 === 0 ? undefined : took / usual.p50,
  },
})
export const runCardShape = runList.shape.omit({ usual: true })
export type RunCard = Shaped<typeof runCardShape>
export type ListedRun = Shaped<typeof runList.shape>

export function runCard({ run, timing }: StoredRun, clock: PlatformNow): RunCard {
  const platformNow = clock(run.key.instance)
  const newest = newestByName(run)
  const jobs = [...run.jobs.values()]
    .map(viewJob)
    .sort((a, b) => a.id - b.id)
    .map(job => {
      const isRetried = job.name !== undefined && newest.get(job.name) !== job.id
      return jobList.row({ job, isRetried, platformNow })
    })
  const facts: Partial<PipelineFacts> = run.pipeline?.record.facts ?? {}
  const { status = 'unknown' } = facts
  return runList.row({ run, timing, facts, times: run.pipeline?.times ?? {}, status, jobs, platformNow })
}

export async function withUsual(
  { usuals }: { readonly usuals: Usuals },
  cards: readonly RunCard[],
): Promise<ListedRun[]> {
  return Promise.all(cards.map(async card => ({ ...card, usual: (await usuals.of(card, [''])).get('') })))
}

/**
 * Returns a run's end; undefined while it is running. The status decides, because a retried pipeline keeps its old `finishedAt` while it runs again.
 */
function finishOf({ status, times }: Pick<ViewedRun, 'status' | 'times'>): Millis | undefined {
  return isTerminal(status) ? times.finishedAt : undefined
}

function waitsUntil({ run, timing, status }: ViewedRun): Millis | undefined {
  const isDelayed = timing.enrichingUntil !== undefined || (hasActiveJobs(run) && delayingJobs(run).length > 0)
  return isTerminal(status) && isDelayed ? (timing.enrichingUntil ?? timing.dueAt) : undefined
}

/** Returns the duration from a run's first known time to its end, or to now while it is running; undefined if no time is known. */
function spentMs({ status, times, jobs, platformNow }: ViewedRun): number | undefined {
  const start = startOf({ createdAt: times.createdAt, jobs })
  if (start === undefined) return undefined
  const ended = isFinished(status) ? latest(jobs.map(job => job.finishedAt)) : undefined
  const end = finishOf({ status, times }) ?? ended
  if (end === undefined && isTerminal(status)) return undefined
  return Math.max(0, (end ?? platformNow) - start)
}

/** Returns a project's full path, otherwise its name, otherwise its ID. */
export function projectName({ path, name, id }: ProjectFacts): string {
  return path ?? name ?? String(id)
}

/** Returns the earliest known time of a run. */
export function startOf({ createdAt, jobs }: Pick<RunCard, 'createdAt' | 'jobs'>): Millis | undefined {
  return earliest([createdAt, ...jobs.map(job => job.startedAt)])
}
