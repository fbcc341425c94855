// A finished run of a pipeline, a job or a section of a job, with the facts needed to judge it and to find a cause. Pure.
import { hasFailed, hasSucceeded } from '../../model/status.ts'
import { branchClassOf, type BranchClass } from '../../model/pipeline.ts'
import { carriesPipeline, type Chunk, type JobSnapshot } from '../../model/chunk.ts'
import { sectionTimes } from '../../model/section-times.ts'
import { countedName } from '../trends/port.ts'
import type { JobInside } from '../../model/inside.ts'
import type { Outcome } from './series.ts'

export interface EndedRun {
  readonly branch: BranchClass
  /** The name of the job; empty if the run is of the pipeline itself. */
  readonly job: string
  /** The name of the section; empty if the run is of the job itself. */
  readonly section: string
  /** The number of sections that enclose this section. */
  readonly depth?: number | undefined
  readonly outcome: Outcome
  readonly queuedMs?: number | undefined
  /** The runner of the job. `runner`, `runnerType` and `reason` are only known for jobs. */
  readonly runner?: string | undefined
  readonly runnerType?: string | undefined
  readonly reason?: string | undefined
  readonly of: EndedPipeline
  /** The fields that identify the job and its span. */
  readonly snapshot?: Pick<JobSnapshot, 'id' | 'kind' | 'salt' | 'name'> | undefined
}

/** The fields that the runs of one pipeline share. */
interface EndedPipeline extends Pick<Chunk, 'key' | 'project' | 'attempt' | 'trace'> {
  readonly sha?: string | undefined
  readonly ref?: string | undefined
  readonly user?: string | undefined
  readonly change?: number | undefined
  readonly url?: string | undefined
  /** The durations of the pipeline's successful jobs by name, ms. */
  readonly jobs: ReadonlyMap<string, number>
}

/**
 * Returns the ended runs of a chunk: the same runs that the trends feature counts. Canceled and skipped runs are left out, because they indicate
 * neither speed nor reliability.
 */
export function endedRuns(chunk: Chunk): EndedRun[] {
  const { key, project, attempt, trace, pipeline } = chunk
  const { facts } = pipeline
  const branch = branchClassOf(facts, project)
  const jobs = chunk.jobs.filter(job => job.kind === 'job' && (job.name ?? '') !== '' && job.startedAt !== undefined)
  const of: EndedPipeline = {
    ...{ key, project, attempt, trace, sha: facts.sha, ref: facts.ref },
    ...{ user: facts.user?.username, change: facts.mergeRequest?.iid, url: facts.url },
    jobs: new Map(
      jobs.filter(({ status }) => hasSucceeded(status)).map(job => [countedName(job.name ?? ''), job.end - job.start]),
    ),
  }
  const change = branch === 'default' || branch === 'tag' ? undefined : changeOf(of)
  const outcomeOf = (id: number, start: number, end: number, status: string): Outcome => {
    return { at: end, id, tookMs: Math.max(0, end - start), failed: hasFailed(status), change }
  }
  const found: EndedRun[] = []
  if (carriesPipeline(chunk) && !pipeline.incomplete && isOutcome(facts.status)) {
    // Each attempt of a pipeline is a run with its own id: attempt 2 of pipeline 7 has the id 702.
    const id = key.pipelineId * 100 + Math.min(attempt, 99)
    const outcome = outcomeOf(id, pipeline.start, pipeline.end, facts.status)
    found.push({ branch, job: '', section: '', outcome, queuedMs: inMs(facts.queuedDuration), of })
  }
  for (const job of jobs) {
    if (!isOutcome(job.status)) continue
    const { id, kind, salt, name, runner, failureReason: reason } = job
    found.push({
      ...{ branch, job: countedName(name ?? ''), section: '', of, reason, snapshot: { id, kind, salt, name } },
      outcome: outcomeOf(id, job.start, job.end, job.status),
      ...{ queuedMs: inMs(job.queuedDuration), runner: runner?.description, runnerType: runner?.type },
    })
  }
  return found
}

/** Returns each section of a job's run as a separate run. */
export function sectionRuns(run: EndedRun, inside: JobInside): EndedRun[] {
  return sectionTimes(inside).map(({ name, tookMs, failed, depth }) => {
    return { ...run, section: countedName(name), depth, outcome: { ...run.outcome, tookMs, failed } }
  })
}

function changeOf({ change, ref }: EndedPipeline): string | undefined {
  return change === undefined ? ref : `!${change}`
}

function isOutcome(status: string): boolean {
  return hasSucceeded(status) || hasFailed(status)
}

function inMs(seconds: number | undefined): number | undefined {
  return seconds === undefined || seconds < 0 ? undefined : seconds * 1_000
}
