// Takes a snapshot: it builds the chunks that will be sent for an attempt or for supplements, and the updated run. Pure.
//
// 1. The jobs are viewed as they are now. The attempt's finish F and its start follow from these views (`attempt.ts`).
// 2. Each view gets its times and its cost. From a job's second span on, it also gets a salt for the span ID. Jobs that ran get their slack.
// 3. The pipeline's own part is built: totals over all jobs, and the verdict as a sentence.
// 4. The jobs are divided into chunks that each fit into one request (`cut-chunks.ts`). Only the first chunk carries the pipeline.
// 5. The run records the attempt and, for each job, the properties of its span. They are used to distinguish new work from old, and to rebuild the
//    chunks for pages (`run-chunks.ts`).
//
// An earlier design stored snapshots in a format of their own. Now only the encoded message and the run are stored.
import { computeSeconds, durationsByStage, priceOf, type RateOf } from './runner-time.ts'
import { criticalPath } from './critical-path.ts'
import { finishOf, jobsOf, newestByName } from './attempt.ts'
import { splitIntoChunks, type ChunkLimits } from './cut-chunks.ts'
import type { JobSnapshot, Chunk, PipelineSnapshot } from './chunk.ts'
import { knownOf, newestSecondOf } from './versioned.ts'
import { isTerminal, hasFailed } from './status.ts'
import { earliest, type Millis } from './instant.ts'
import { lastAttempt, type Attempt, type Run } from './run.ts'
import type { TraceContext } from './trace-context.ts'
import { pipelineVerdict } from './verdict.ts'
import { verdictSentence } from './verdict-sentence.ts'
import { spansOf, viewJob, type Job, type JobView } from './job.ts'

export interface Snapshot {
  readonly run: Run
  readonly chunks: readonly Chunk[]
}

export interface SnapshotOptions extends ChunkLimits {
  /** Returns the rate of a job. Undefined if there is no price table, so that jobs have no cost. */
  readonly rateOf?: RateOf | undefined
  /** True if the pipeline was canceled when a newer pipeline of its ref already existed. */
  readonly superseded?: boolean | undefined
  /** True if the platform did not return all details by the deadline, or denies them. */
  readonly lacksDetails?: boolean | undefined
}

/** Takes the snapshot of the run's next attempt, which consists of the given jobs. */
export function snapshotAttempt(
  run: Run,
  jobs: readonly Job[],
  trace: TraceContext,
  incomplete: boolean,
  now: Millis,
  options: SnapshotOptions,
): Snapshot {
  const { pipeline } = run
  if (pipeline === undefined) return { run, chunks: [] }
  const attempt = (lastAttempt(run)?.attempt ?? 0) + 1
  const finish = finishOf(run, now)
  const views = jobs.map(viewJob)
  const start = startOf(run, views, attempt, finish)
  const taken = withSlack(jobSnapshots(run, jobs, views, attempt, finish, options))
  const pipelineSnapshot: PipelineSnapshot = {
    ...pipelineBase(run, start, finish, incomplete, options),
    jobCount: views.length,
    computeMs: Math.round(views.reduce((sum, view) => sum + (computeSeconds(view) ?? 0), 0) * 1_000),
    ...(options.rateOf === undefined ? {} : { cost: taken.reduce((sum, { cost = 0 }) => sum + cost, 0) }),
  }
  const groups = splitIntoChunks(taken, options)
  const first: PipelineSnapshot = {
    ...pipelineSnapshot,
    ...(groups.length > 1 ? { durations: durationsByStage(views) } : {}),
    ...verdictOf(pipelineSnapshot, taken),
  }
  const chunks = groups.map((group, index) =>
    chunkOf(run, {
      ...{ attempt, number: index + 1, kind: 'attempt', trace, jobs: group },
      pipeline: index === 0 ? first : pipelineSnapshot,
    }),
  )
  const taking: Attempt = {
    attempt,
    status: pipeline.record.facts.status,
    finish,
    newestSecond: newestSecondOf(pipeline.record.version),
    incomplete,
    chunks: chunks.length,
    trace,
    exported: { pipeline: first, chunks: chunks.length, at: now },
  }
  return { run: withJobs({ ...run, attempts: [...run.attempts, taking] }, marks(jobs, chunks)), chunks }
}

/** Takes the snapshot of supplements. Each job is added to the attempt that was in progress when the job ran. */
export function snapshotSupplements(run: Run, jobs: readonly Job[], options: SnapshotOptions): Snapshot {
  const chunks: Chunk[] = []
  const marked: Job[] = []
  const attempts = run.attempts.map(attempt => {
    const own = jobs.filter(job => attemptOf(run, job) === attempt.attempt)
    if (own.length === 0) return attempt
    const pipeline: PipelineSnapshot = {
      ...pipelineBase(run, attempt.finish, attempt.finish, attempt.incomplete, options),
      jobCount: own.length,
    }
    const taken = jobSnapshots(run, own, own.map(viewJob), attempt.attempt, attempt.finish, options)
    const groups = splitIntoChunks(taken, options)
    const added = groups.map((group, index) =>
      chunkOf(run, {
        ...{ attempt: attempt.attempt, number: attempt.chunks + index + 1, kind: 'supplement' },
        ...{ trace: attempt.trace, pipeline, jobs: group },
      }),
    )
    chunks.push(...added)
    marked.push(...marks(own, added))
    return { ...attempt, chunks: attempt.chunks + groups.length }
  })
  return { run: withJobs({ ...run, attempts }, marked), chunks }
}

function attemptOf(run: Run, job: Job): number {
  const worked = job.times.finishedAt ?? job.times.startedAt ?? job.times.createdAt ?? 0
  return run.attempts.find(attempt => attempt.finish >= worked)?.attempt ?? lastAttempt(run)?.attempt ?? 1
}

function startOf(run: Run, jobs: readonly JobView[], attempt: number, finish: Millis): Millis {
  if (attempt > 1) return earliest(jobs.map(job => job.startedAt)) ?? finish
  const created = run.pipeline?.times.createdAt
  return created ?? earliest(jobs.flatMap(job => [job.createdAt, job.startedAt, job.finishedAt])) ?? finish
}

function pipelineBase(
  run: Run,
  start: Millis,
  finish: Millis,
  incomplete: boolean,
  { superseded, lacksDetails }: SnapshotOptions,
): Omit<PipelineSnapshot, 'jobCount'> {
  const { record, times } = run.pipeline ?? { record: { facts: { status: 'unknown' } }, times: {} }
  return {
    facts: record.facts,
    ...(times.createdAt === undefined ? {} : { createdAt: times.createdAt }),
    start,
    end: Math.max(start, finish),
    ...(isTerminal(record.facts.status) && times.finishedAt === finish ? { finishedAt: finish } : {}),
    incomplete,
    failures: decisiveFailures(run),
    ...(run.mergeRequestEvent === undefined ? {} : { mergeRequestEvent: run.mergeRequestEvent }),
    ...(superseded === true ? { superseded } : {}),
    ...(lacksDetails === true ? { lacksDetails } : {}),
  }
}

/** The verdict based on the snapshot alone, without usual durations or test reports. */
function verdictOf({ facts, start, end }: PipelineSnapshot, jobs: readonly JobSnapshot[]): { verdict?: string } {
  const verdict = pipelineVerdict({ status: facts.status, start, end, jobs })
  return verdict === undefined ? {} : { verdict: verdictSentence(verdict) }
}

function decisiveFailures(run: Run): string[] {
  const failed = [...jobsOf(run)].filter(({ record }) => hasFailed(record.facts.status))
  if (failed.length === 0) return []
  const newest = newestByName(run)
  return failed
    .map(viewJob)
    .filter(({ id, name, allowFailure }) => {
      if (allowFailure === true) return false
      return name === undefined || newest.get(name) === id
    })
    .sort((a, b) => a.id - b.id)
    .map(({ failureReason }) => failureReason ?? '')
}

/**
 * A snapshot whose fields are set one by one. If many fields are set with `Object.assign`, V8 switches the object to dictionary mode, in which
 * reading takes three times as long.
 */
type Mutable = { -readonly [Field in keyof JobSnapshot]: JobSnapshot[Field] }

/** Converts the views of jobs to snapshots in place, because copies would double the memory that a large run takes. */
function jobSnapshots(
  run: Run,
  jobs: readonly Job[],
  views: readonly JobView[],
  attempt: number,
  finish: Millis,
  { rateOf }: SnapshotOptions,
): JobSnapshot[] {
  const newest = newestByName(run)
  return views.map((view, at) => {
    const ran = view.startedAt !== undefined
    const end = view.finishedAt ?? finish
    const start = ran ? view.startedAt : end
    const retried = view.name !== undefined && newest.get(view.name) !== view.id
    const taken = view as Mutable
    taken.start = start
    taken.end = Math.max(start, end)
    taken.retried = retried
    const price = priceOf(view, run.project.facts, rateOf, run.key.instance)
    if (price !== undefined) {
      taken.rate = price.rate
      taken.cost = price.cost
    }
    const job = jobs[at]
    if (job?.snapshot !== undefined) taken.salt = saltOf(job, attempt)
    return taken
  })
}

/** Adds slack and critical path to the jobs that ran, in place. */
function withSlack(jobs: JobSnapshot[]): JobSnapshot[] {
  const ran = jobs.filter(job => job.startedAt !== undefined)
  const { ids, slack } = criticalPath(ran)
  const critical = new Set(ids)
  for (const job of ran) {
    const taken: Mutable = job
    taken.slack = slack.get(job.id)
    taken.critical = critical.has(job.id) || undefined
  }
  return jobs
}

/**
 * The salt for a job's next span ID: `2` for the first span of a job in attempt 2, and `2.3` for the job's third span if an earlier span is also in
 * attempt 2.
 */
function saltOf({ snapshot }: Job, attempt: number): string {
  const isFirst = snapshot === undefined || spansOf(snapshot).every(span => span.attempt < attempt)
  return isFirst ? String(attempt) : `${attempt}.${snapshot.spans + 1}`
}

/** Marks the jobs with the properties of their spans in the given chunks. */
function marks(jobs: readonly Job[], chunks: readonly Chunk[]): Job[] {
  const spans = new Map(chunks.flatMap(chunk => chunk.jobs.map(job => [job.id, { chunk, job }] as const)))
  return jobs.map(job => {
    const span = spans.get(job.id)
    return span === undefined ? job : marked(job, span.chunk, span.job)
  })
}

function marked(
  job: Job,
  { attempt, number }: Chunk,
  { retried, critical, slack, rate, cost, salt }: JobSnapshot,
): Job {
  const { startedAt, finishedAt } = job.times
  const { snapshot } = job
  return {
    ...job,
    snapshot: knownOf({
      ...{ attempt, chunk: number, spans: (snapshot?.spans ?? 0) + 1, status: job.record.facts.status },
      ...{ startedAt, finishedAt, critical, slack, rate, cost, salt },
      retried: retried || undefined,
      earlier: snapshot === undefined ? undefined : spansOf(snapshot),
    }),
  }
}

/** Marks the run's last attempt as not to be exported. */
export function unexported(run: Run): Run {
  const last = lastAttempt(run)
  if (last === undefined) return run
  const { exported: _, ...rest } = last
  return { ...run, attempts: [...run.attempts.slice(0, -1), rest] }
}

function chunkOf({ key, project }: Run, rest: Omit<Chunk, 'key' | 'project'>): Chunk {
  return { key, project: project.facts, ...rest }
}

function withJobs(run: Run, changed: readonly Job[]): Run {
  const jobs = new Map<number, Job>()
  // Setting entries one by one is faster than copying the map, which creates a pair for each entry.
  for (const [id, job] of run.jobs) jobs.set(id, job)
  for (const job of changed) jobs.set(job.id, job)
  return { ...run, jobs }
}
