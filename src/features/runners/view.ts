// Reads the data for the runners page: the jobs of the last day from the stored pipelines, and the runners from the inventory.
import { activeStatuses } from '../../console/overview/activity.ts'
import { isPending } from '../../model/status.ts'
import { projectName } from '../../console/pipelines/run-card.ts'
import { tagSetFigures, waitingJobs, type KnownRunner, type RunnerJob, type RunnersView } from './figures.ts'
import { sharedAnswer } from '../../lib/shared-answer.ts'
import { viewJob } from '../../model/job.ts'
import type { GaugeReading } from '../../core/store/ports/gauge-documents.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesSources } from '../../console/ports.ts'
import type { RunCursor } from '../../core/store/ports/views.ts'
import type { StoredRun } from '../../core/store/ports/runs.ts'

const day = 24 * 3_600_000
/** The length of one step of the chart, ms. */
const step = 1_800_000
/** The maximum number of the day's pipelines that are read, in total and per query. */
const maxPipelines = 1_000
const pageSize = 50
/** The maximum number of active pipelines that are read. */
const maxActive = 200
/** The caching time of the result, ms. Reading a whole day takes a second. */
const cacheMs = 30_000

type Sources = Pick<PagesSources, 'views' | 'now'> & {
  readonly repositories: Pick<PagesSources['repositories'], 'gaugeReadings'>
}

export function createRunnersView(parts: Sources): () => Promise<RunnersView> {
  return sharedAnswer(cacheMs, parts.now, async now => readView(parts, now))
}

async function readView(parts: Sources, now: Millis): Promise<RunnersView> {
  const until = Math.ceil(now / step) * step
  const { runs, isWhole, since } = await runsOfTheDay(parts, until - day)
  const active = await parts.views.inStatus(activeStatuses, maxActive)
  const all = new Map([...runs, ...active].map(run => [`${run.run.key.instance} ${run.run.key.pipelineId}`, run]))
  const jobs = [...all.values()].flatMap(run => jobsOf(run, now))
  const readings = (await parts.repositories.gaugeReadings.all()).filter(({ kind }) => kind === 'runners')
  const known = knownRunners(readings)
  const period = { since: Math.max(until - day, Math.floor(since / step) * step), until, step, now }
  return {
    ...{ since: period.since, until, stepMs: step, isWhole, pipelines: runs.length },
    hasInventory: readings.length > 0,
    tagSets: tagSetFigures(jobs, known, period),
    ...waitingJobs(jobs, known),
  }
}

/** Returns the newest pipelines that were created in the period. */
async function runsOfTheDay(
  { views }: Sources,
  from: Millis,
): Promise<{ readonly runs: readonly StoredRun[]; readonly isWhole: boolean; readonly since: Millis }> {
  const runs: StoredRun[] = []
  let after: RunCursor | undefined
  do {
    const page = await views.search({ since: from, after, limit: pageSize })
    runs.push(...page.runs)
    after = page.next
  } while (after !== undefined && runs.length < maxPipelines)
  const isWhole = after === undefined
  const oldest = runs.at(-1)?.run.pipeline?.times.createdAt
  return { runs, isWhole, since: isWhole || oldest === undefined ? from : oldest }
}

function jobsOf({ run, timing }: StoredRun, now: Millis): RunnerJob[] {
  const { facts } = run.project
  const place = {
    instance: run.key.instance,
    projectId: facts.id,
    project: projectName(facts),
    pipelineId: run.key.pipelineId,
  }
  return [...run.jobs.values()].map(viewJob).flatMap((job): RunnerJob[] => {
    const waits = isPending(job.status)
    if (job.kind === 'bridge' || (job.startedAt === undefined && !waits)) return []
    const queued = job.queuedDuration === undefined ? undefined : Math.max(0, job.queuedDuration * 1000)
    // How long a pending job has waited was reported at the last change of its run, or earlier. So the time since that change is added.
    const waited = (queued ?? 0) + Math.max(0, now - timing.changedAt)
    return [
      {
        ...place,
        ...{ jobId: job.id, name: job.name ?? String(job.id), tags: job.tags, runnerTags: job.runner?.tags },
        startedAt: waits ? undefined : job.startedAt,
        finishedAt: waits ? undefined : job.finishedAt,
        waitMs: waits ? waited : queued,
        isPending: waits,
      },
    ]
  })
}

/** Returns each runner once, although it may be listed for several projects and groups. */
function knownRunners(readings: readonly GaugeReading[]): KnownRunner[] {
  const runners = new Map<string, KnownRunner>()
  for (const { instance, points } of readings) {
    for (const { metric, attributes } of points) {
      if (metric !== 'platform.cicd.worker.info') continue
      const state = (['available', 'busy'] as const).find(word => word === attributes['cicd.worker.state']) ?? 'offline'
      const tags = String(attributes['platform.cicd.worker.tag_set'] ?? '').split(',')
      const runner: KnownRunner = { instance, state, tags: tags.filter(tag => tag !== '') }
      runners.set(`${instance} ${attributes['cicd.worker.id']}`, runner)
    }
  }
  return [...runners.values()]
}
