// What one chunk contributes to trends and costs: its pipeline and its jobs. The transaction that takes snapshots only appends one row per project,
// without reading or locking anything for it. A few seconds later, `fold.ts` adds that row to the stored trends.
import { branchClassOf, type BranchClass } from '../../../model/pipeline.ts'
import { carriesPipeline, type Chunk, type JobSnapshot } from '../../../model/chunk.ts'
import { computePurposeOf, computeSeconds, type ComputePurpose } from '../../../model/runner-time.ts'
import { each, forRows } from '../../../core/store/sql/steps.ts'
import { foldedName } from '../../../core/store/ports/pipeline-name.ts'
import { hasFailed, hasSucceeded } from '../../../model/status.ts'
import { plainText } from '../../../core/store/sql/columns.ts'
import { reportsBy, type LineStep } from '../../../core/store/ports/reporter.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Reporter } from '../../../core/store/ports/runs.ts'
import type { Run } from '../../../model/run.ts'

export function countingStep(): LineStep {
  let last: { readonly run: Run; readonly failures: Failures } | undefined
  return {
    // A chunk that is not exported is not counted in trends either.
    onSnapshot: (chunk, { run, isSent }) => {
      if (!isSent) return []
      // The run's failures are cached for the next chunk, because the chunks of a large pipeline arrive one after another.
      if (last?.run !== run) last = { run, failures: failuresIn(run) }
      const counted = countedOf(chunk, last.failures)
      return reportsBy(countedReporter, counted === undefined ? [] : [counted])
    },
  }
}

const countedReporter: Reporter<CountedChunk> = {
  order: 90,
  *write(reports) {
    const byProject = Map.groupBy(reports, ({ projectId }) => projectId)
    yield each(
      insertAdded,
      [...byProject].map(([projectId, some]) => [projectId, JSON.stringify(some)]),
    )
  },
}

const insertAdded = forRows(['bigint', 'json'], ({ rows }) => `INSERT INTO figures_added (project_id, content) ${rows}`)

export interface CountedChunk {
  readonly instance: string
  readonly projectId: number
  /** The project's full path. */
  readonly project: string
  readonly branch: BranchClass
  /** What triggered the pipeline, such as `push`; empty if unknown. */
  readonly source: string
  /** The pipeline's name; empty if it has none. */
  readonly pipelineName: string
  /** The outcome of the pipeline itself. Undefined if another chunk contains it, or if the pipeline neither passed nor failed. */
  readonly pipeline?: (Ran & { readonly endedAt: Millis }) | undefined
  readonly jobs: readonly CountedJob[]
}

/** A pipeline or job that passed or failed. Any other outcome is not counted in durations and failure rates. */
export interface Ran {
  readonly failed: boolean
  /** True if the job failed but passed when it was rerun in the same pipeline. */
  readonly flaky?: true | undefined
  /** The duration of the run, whole ms. */
  readonly tookMs: number
  readonly queuedMs?: number | undefined
}

export interface CountedJob {
  /** The job's name; empty if it has none. */
  readonly name: string
  readonly endedAt: Millis
  readonly ran?: Ran | undefined
  /** The runner time that the job used; undefined if it used no runner. */
  readonly used?: Used | undefined
}

/** The time for which a job used a runner. */
export interface Used {
  /** The runner type; empty if unknown. */
  readonly worker: string
  /** How long the job used the runner, whole ms. */
  readonly totalMs: number
  /** The cost in the price table's currency; undefined without a price. */
  readonly cost?: number | undefined
  /** The kind of waste; undefined if the time was not wasted. */
  readonly wasted?: WastedPurpose | undefined
}

/** The kinds of wasted job time: every purpose except `useful`. A run that passed counts as useful even if an earlier run failed. */
export type WastedPurpose = Exclude<ComputePurpose, 'useful'>

/** Maps each job name in a run to the ID of the first job of that name that failed. */
export type Failures = ReadonlyMap<string, number>

export function failuresIn({ jobs }: Pick<Run, 'jobs'>): Failures {
  const found = new Map<string, number>()
  for (const { id, record } of jobs.values()) {
    const { name, status } = record.facts
    if (name !== undefined && hasFailed(status)) found.set(name, Math.min(id, found.get(name) ?? Infinity))
  }
  return found
}

/** Returns the contribution of a chunk to trends and costs; undefined if there is none. `failures` are the failures of the chunk's run. */
export function countedOf(chunk: Chunk, failures: Failures): CountedChunk | undefined {
  const { key, project, pipeline } = chunk
  const { source = '' } = pipeline.facts
  const counted = {
    pipeline: ranPipeline(chunk),
    jobs: chunk.jobs.flatMap(job => countedJob(job, failures, pipeline.superseded === true) ?? []),
  }
  if (counted.pipeline === undefined && counted.jobs.length === 0) return undefined
  return {
    ...{ instance: key.instance, projectId: project.id, project: plainText(project.path ?? project.name ?? '') },
    branch: branchClassOf(pipeline.facts, project),
    source: plainText(source.slice(0, maxWordLength)),
    pipelineName: foldedName(pipeline.facts),
    ...counted,
  }
}

/** The maximum length of a stored pipeline source or runner type, in UTF-16 code units. The platform's own values are shorter. */
const maxWordLength = 50

/** Returns the name under which a job or a section is counted. */
export function countedName(name: string): string {
  return plainText(name.slice(0, 255))
}

function ranPipeline(chunk: Chunk): CountedChunk['pipeline'] {
  const { attempt } = chunk
  const { incomplete, start, end, facts } = chunk.pipeline
  if (!carriesPipeline(chunk) || incomplete || !isOutcome(facts.status)) return undefined
  const { status, queuedDuration } = facts
  // Only the first attempt's queue time is known, and the platform repeats it for each retry.
  return {
    endedAt: end,
    ...ranFrom(start, end, { status, queuedDuration: attempt === 1 ? queuedDuration : undefined }),
  }
}

function countedJob(job: JobSnapshot, failures: Failures, superseded: boolean): CountedJob | undefined {
  const { name = '', kind, status, start, end, startedAt } = job
  const hasRun = kind === 'job' && name !== '' && startedAt !== undefined && isOutcome(status)
  const isFlaky = hasRun && hasSucceeded(status) && (failures.get(name) ?? Infinity) < job.id
  const ran = hasRun ? { ...ranFrom(start, end, job), ...(isFlaky && { flaky: true as const }) } : undefined
  const used = usedBy(job, superseded)
  return ran === undefined && used === undefined ? undefined : { name: countedName(name), endedAt: end, ran, used }
}

function usedBy(job: JobSnapshot, superseded: boolean): Used | undefined {
  const seconds = computeSeconds(job)
  if (seconds === undefined || job.end <= 0) return undefined
  const purpose = computePurposeOf(job, superseded)
  return {
    worker: plainText((job.runner?.type ?? '').slice(0, maxWordLength)),
    totalMs: Math.round(seconds * 1_000),
    cost: job.cost,
    wasted: purpose === 'useful' ? undefined : purpose,
  }
}

function isOutcome(status: string): boolean {
  return hasSucceeded(status) || hasFailed(status)
}

function ranFrom(
  start: Millis,
  end: Millis,
  { status, queuedDuration }: { readonly status: string; readonly queuedDuration?: number | undefined },
): Ran {
  return {
    ...{ failed: hasFailed(status), tookMs: Math.max(0, Math.round(end - start)) },
    queuedMs: queuedDuration === undefined || queuedDuration < 0 ? undefined : queuedDuration * 1_000,
  }
}
