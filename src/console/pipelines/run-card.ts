// A run as plain data, for lists on the pages and in the JSON API.
import { z } from 'zod'
import { millis, ms, type Shaped } from '../layout/shape.ts'
import { branchClasses, branchClassOf } from '../../model/pipeline.ts'
import { delayingJobs, hasActiveJobs, newestByName } from '../../model/attempt.ts'
import { earliest, latest, type Millis } from '../../model/instant.ts'
import { isFinished, isRunning, isTerminal, hasFailed } from '../../model/status.ts'
import { foldedName } from '../../core/store/ports/pipeline-name.ts'
import { viewJob, type JobView } from '../../model/job.ts'
import { sharedAnswer } from '../../lib/shared-answer.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import type { StoredRun } from '../../core/store/ports/runs.ts'
import type { Views } from '../../core/store/ports/views.ts'

// The current time on each platform's clock: our clock, and how far the platform's is ahead of it. Running pipelines and jobs are measured by
// it, because their start is the platform's time.

/** The current time on the clock of an instance. */
export type PlatformNow = (instance: string) => Millis

/** How long a reading of the leads is cached, ms. */
const believedFor = 10_000
/** ms. A time further ahead is a wrong time, not a wrong clock. */
const maxLead = 3_600_000

/**
 * `offsetOf`: how far an instance's clock is ahead of ours, as its API proves; it may be negative. If it is unknown, a pipeline that we received
 * before it was created proves that the platform's clock is ahead. No delivery proves that it is behind, because it may also be late. So without
 * the API such a clock counts as ours, and no late event ever shortens an elapsed time.
 */
export function createPlatformClocks(
  views: Pick<Views, 'newestFirstSeen'>,
  offsetOf: (instance: string) => number | undefined,
  now: () => Millis,
): () => Promise<PlatformNow> {
  const leads = sharedAnswer(believedFor, now, async () => leadsOf(await views.newestFirstSeen()))
  return async () => {
    const known = await leads()
    const at = now()
    return instance => at + (offsetOf(instance) ?? known.get(instance) ?? 0)
  }
}

function leadsOf(seen: Awaited<ReturnType<Views['newestFirstSeen']>>): ReadonlyMap<string, number> {
  const leads = new Map<string, number>()
  for (const { instance, createdAt, firstSeenAt } of seen) {
    const lead = createdAt - firstSeenAt
    if (lead > (leads.get(instance) ?? 0) && lead <= maxLead) leads.set(instance, lead)
  }
  return leads
}

export const jobCardShape = z.object({
  id: z.number(),
  kind: z.enum(['job', 'bridge']),
  name: z.string(),
  stage: z.string(),
  status: z.string(),
  allowFailure: z.boolean(),
  retried: z.boolean(),
  createdAt: millis.optional(),
  startedAt: millis.optional(),
  finishedAt: millis.optional(),
  ranMs: ms.optional().describe('From its start to its end, or to now while it runs.'),
  queuedMs: ms.optional(),
  failureReason: z.string().optional(),
  url: z.string().optional(),
  runner: z.string().optional(),
  downstreamId: z.number().optional(),
})
export type JobCard = Shaped<typeof jobCardShape>

export const runCardShape = z.object({
  instance: z.string(),
  projectId: z.number(),
  pipelineId: z.number(),
  project: z.string(),
  iid: z.number().optional(),
  status: z.string(),
  name: z.string().optional(),
  ref: z.string().optional(),
  branchClass: z.enum(branchClasses),
  countedAs: z.string().describe('Name without the parts that change from run to run.'),
  sha: z.string().optional(),
  source: z.string().optional(),
  user: z.string().optional(),
  commit: z.string().optional(),
  url: z.string().optional(),
  mergeRequest: z.object({ iid: z.number(), title: z.string().optional() }).optional(),
  createdAt: millis.optional(),
  finishedAt: millis.optional(),
  changedAt: millis,
  platformNow: millis.describe("The current time on the platform's clock."),
  spentMs: ms.optional().describe('From its creation to its end, or to now while it runs.'),
  attempts: z.number(),
  jobs: z.array(jobCardShape),
  failures: z.array(jobCardShape),
  waitsUntil: millis.optional(),
})
export type RunCard = Shaped<typeof runCardShape>

export function runCard({ run, timing }: StoredRun, clock: PlatformNow): RunCard {
  const platformNow = clock(run.key.instance)
  const facts = run.pipeline?.record.facts
  const times = run.pipeline?.times
  const newest = newestByName(run)
  const jobs = [...run.jobs.values()]
    .map(viewJob)
    .sort((a, b) => a.id - b.id)
    .map((job): JobCard => ({
      id: job.id,
      kind: job.kind,
      name: job.name ?? String(job.id),
      stage: job.stage ?? '',
      status: job.status,
      allowFailure: job.allowFailure ?? false,
      retried: job.name !== undefined && newest.get(job.name) !== job.id,
      createdAt: job.createdAt,
      startedAt: job.startedAt,
      finishedAt: job.finishedAt,
      ranMs: ranMs(job, platformNow),
      queuedMs: job.queuedDuration === undefined ? undefined : Math.max(0, job.queuedDuration * 1000),
      failureReason: job.failureReason,
      url: job.url,
      runner: job.runner?.description,
      downstreamId: job.downstream?.pipelineId,
    }))
  const status = facts?.status ?? 'unknown'
  const ended = isTerminal(status)
  const waits = ended && (timing.enrichingUntil !== undefined || (hasActiveJobs(run) && delayingJobs(run).length > 0))
  const card = {
    instance: run.key.instance,
    projectId: run.project.facts.id,
    pipelineId: run.key.pipelineId,
    project: projectName(run.project.facts),
    iid: facts?.iid,
    status,
    name: facts?.name,
    ref: facts?.ref,
    branchClass: branchClassOf(facts ?? {}, run.project.facts),
    countedAs: foldedName(facts ?? {}),
    sha: facts?.sha,
    source: facts?.source,
    user: facts?.user?.username,
    commit: facts?.commit?.message,
    url: facts?.url,
    mergeRequest: facts?.mergeRequest && { iid: facts.mergeRequest.iid, title: facts.mergeRequest.title },
    createdAt: times?.createdAt,
    finishedAt: ended ? times?.finishedAt : undefined,
    changedAt: timing.changedAt,
    platformNow,
    attempts: run.attempts.length,
    jobs,
    failures: jobs.filter(job => hasFailed(job.status) && !job.retried && !job.allowFailure),
    waitsUntil: waits ? (timing.enrichingUntil ?? timing.dueAt) : undefined,
  }
  return { ...card, spentMs: spentMs(card) }
}

/** From the first known time to the end, or to now while it runs; undefined if no time is known. */
function spentMs(card: Omit<RunCard, 'spentMs'>): number | undefined {
  const start = startOf(card)
  if (start === undefined) return undefined
  const ended = isFinished(card.status) ? latest(card.jobs.map(job => job.finishedAt)) : undefined
  const end = card.finishedAt ?? ended
  if (end === undefined && isTerminal(card.status)) return undefined
  return Math.max(0, (end ?? card.platformNow) - start)
}

/** The full path of a project, else what is known of it. */
export function projectName({ path, name, id }: ProjectFacts): string {
  return path ?? name ?? String(id)
}

/** The first known time of a run. */
export function startOf({ createdAt, jobs }: Pick<RunCard, 'createdAt' | 'jobs'>): Millis | undefined {
  return earliest([createdAt, ...jobs.map(job => job.startedAt)])
}

/** The order of jobs by their start; those that did not start come last. */
export function byStart(a: JobCard, b: JobCard): number {
  return (a.startedAt ?? Infinity) - (b.startedAt ?? Infinity) || a.id - b.id
}

/** Undefined if it never started, or if its end is unknown. */
function ranMs({ startedAt, finishedAt, status }: JobView, platformNow: Millis): number | undefined {
  const end = finishedAt ?? (isRunning(status) ? platformNow : undefined)
  return startedAt === undefined || end === undefined ? undefined : Math.max(0, end - startedAt)
}

/** Stages in the order of their jobs, each with its jobs that are not retried. */
export function stagesOf(card: Pick<RunCard, 'jobs'>): { readonly name: string; readonly jobs: readonly JobCard[] }[] {
  const stages = new Map<string, JobCard[]>()
  for (const job of card.jobs) {
    if (job.retried) continue
    const known = stages.get(job.stage)
    if (known === undefined) stages.set(job.stage, [job])
    else known.push(job)
  }
  return [...stages].map(([name, jobs]) => ({ name, jobs }))
}

/** The status to show of a job: one that was allowed to fail is a warning. */
export function statusOf({ status, allowFailure }: Pick<JobCard, 'status' | 'allowFailure'>): string {
  return hasFailed(status) && allowFailure ? 'warning' : status
}

const weight = ['failed', 'running', 'canceling', 'pending', 'preparing', 'waiting_for_resource', 'manual', 'canceled']

/** The most important status of several jobs. */
export function statusOfStage(jobs: readonly JobCard[]): string {
  const statuses = new Set(jobs.map(statusOf))
  const heaviest = weight.find(status => statuses.has(status))
  if (heaviest !== undefined) return heaviest
  if (statuses.has('warning')) return 'warning'
  if (statuses.has('success')) return 'success'
  return jobs[0]?.status ?? 'created'
}
