// The parts of a verdict: where a run's time went, or what explains its difference from the usual. The parts always add up. Pure.
import { criticalPath, type Ran } from './critical-path.ts'
import { hasFailed } from './status.ts'
import type { Millis } from './instant.ts'

/**
 * - `ran`: a job ran. In the verdict of a job: it ran, outside of its sections
 * - `failed_attempt`: a job ran for nothing, because it failed and was retried
 * - `retry`: the path waited for the retry of a job
 * - `runner`: it waited for a runner
 * - `section`: a section of the job, in the verdict of a job
 * - `before`: it waited for a job to begin, but not for a runner: for a person, a schedule, a resource
 * - `end`: from the end of the last job to that of the pipeline
 * - `parallel`: more (negative) or less ran at the same time as the jobs of the path
 * - `other`: the difference, if there is no run to compare with
 */
export const verdictPartKinds = [
  'ran',
  'failed_attempt',
  'retry',
  'runner',
  'section',
  'before',
  'end',
  'parallel',
  'other',
] as const

export interface VerdictPart {
  readonly kind: (typeof verdictPartKinds)[number]
  /** The name of the job or the section, if it is about one. */
  readonly name?: string | undefined
  /** How many steps of the critical path it sums: two failed attempts of one job are one part. */
  readonly times: number
  /** The part of the duration, or of the difference from the usual: then it is negative if it was quicker than usual. */
  readonly ms: Millis
}

/** What a verdict reads of a job. */
export interface JudgedJob {
  readonly id: number
  readonly name?: string | undefined
  readonly status: string
  readonly allowFailure?: boolean | undefined
  /** A newer job of its name exists. */
  readonly retried: boolean
  readonly startedAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
  /** Seconds that it waited for a runner. */
  readonly queuedDuration?: number | undefined
  readonly failureReason?: string | undefined
}

/** Where the time of a run went. */
export interface Timeline {
  readonly ms: Millis
  /** The critical path as consecutive parts, which add up to `ms`. */
  readonly path: readonly VerdictPart[]
  /** The same for jobs that are not on it; what these waited for ran at the same time as the path. */
  readonly beside: readonly VerdictPart[]
}

/** `start` and `end` are whole milliseconds. */
export function timelineOf(jobs: readonly JudgedJob[], start: Millis, end: Millis): Timeline {
  const byId = new Map(jobs.map(job => [job.id, job]))
  const first = new Map<string, number>()
  for (const { id, name } of jobs) if (name !== undefined) first.set(name, Math.min(id, first.get(name) ?? id))
  const { ids, waitedFor } = criticalPath(jobs.flatMap(ranOf))
  const endOf = (id: number | undefined): Millis => {
    const { finishedAt = start } = (id === undefined ? undefined : byId.get(id)) ?? {}
    return between(Math.round(finishedAt), start, end)
  }
  /** The steps from `at` to the end of the job. */
  const stepsOf = (job: JudgedJob, at: Millis): { readonly steps: VerdictPart[]; readonly ended: Millis } => {
    const { id, name = String(id), startedAt = at, finishedAt = at, queuedDuration = 0 } = job
    const began = between(Math.round(startedAt), at, end)
    const ended = between(Math.round(finishedAt), began, end)
    const isRetry = job.name !== undefined && first.get(job.name) !== id
    const queued = isRetry ? 0 : Math.min(began - at, Math.max(0, Math.round(queuedDuration * 1_000)))
    const steps: VerdictPart[] = [
      { kind: isRetry ? 'retry' : 'before', name, times: 1, ms: began - at - queued },
      { kind: 'runner', name, times: 1, ms: queued },
      { kind: job.retried && hasFailed(job.status) ? 'failed_attempt' : 'ran', name, times: 1, ms: ended - began },
    ]
    return { steps, ended }
  }
  const path: VerdictPart[] = []
  let at = start
  for (const id of ids) {
    const job = byId.get(id)
    if (job === undefined) continue
    const { steps, ended } = stepsOf(job, at)
    path.push(...steps)
    at = ended
  }
  const onPath = new Set(ids)
  const others = jobs.filter(job => ranOf(job).length > 0 && !onPath.has(job.id))
  return {
    ms: end - start,
    path: summed([...path, { kind: 'end', times: 1, ms: end - at }]),
    beside: summed(others.flatMap(job => stepsOf(job, endOf(waitedFor.get(job.id))).steps)),
  }
}

/**
 * Why one run took longer or shorter than another: parts that add up to the difference.
 *
 * They follow the critical path of the run that took longer, as only its jobs could make it take longer. Each job and wait on it is compared with the
 * same one of the other run, whether or not that was on its path. A job of the other path counts if it did not run here, or was on this path, too. What
 * remains is what ran at the same time: if unit tests take two minutes longer, a pipeline is only one minute slower if other tests already took one minute
 * longer than they did. That is one part.
 */
export function explained(here: Timeline, there: Timeline): VerdictPart[] {
  const [longer, shorter] = here.ms >= there.ms ? [here, there] : [there, here]
  const ran = new Set([...longer.path, ...longer.beside].map(({ name }) => name))
  const critical = new Set(longer.path.map(({ name }) => name))
  const also = shorter.path.filter(({ name }) => critical.has(name) || !ran.has(name))
  const [own, other] = [byKey(here), byKey(there)]
  const parts = [...new Map([...longer.path, ...also].map(part => [keyOf(part), part])).values()].map(part => {
    const [mine, its] = [own.get(keyOf(part)), other.get(keyOf(part))]
    return { ...part, times: (mine ?? its ?? part).times, ms: (mine?.ms ?? 0) - (its?.ms ?? 0) }
  })
  const left = parts.reduce((rest, { ms }) => rest - ms, here.ms - there.ms)
  return shown([...parts, { kind: 'parallel', times: 1, ms: left }])
}

/** The parts that took any time, the longest first. */
export function shown(parts: readonly VerdictPart[]): VerdictPart[] {
  return parts.filter(({ ms }) => ms !== 0).sort((a, b) => Math.abs(b.ms) - Math.abs(a.ms))
}

function ranOf({ id, startedAt, finishedAt }: JudgedJob): Ran[] {
  if (startedAt === undefined || finishedAt === undefined) return []
  return [{ id, start: startedAt, end: Math.max(startedAt, finishedAt) }]
}

/** The parts by kind and name. If a job is on the path and beside it, as several attempts may be, the part on the path. */
function byKey({ path, beside }: Timeline): ReadonlyMap<string, VerdictPart> {
  return new Map([...beside, ...path].map(part => [keyOf(part), part]))
}

function keyOf({ kind, name }: VerdictPart): string {
  return `${kind} ${name ?? ''}`
}

/** One part for each kind and name. */
function summed(parts: readonly VerdictPart[]): VerdictPart[] {
  const sums = new Map<string, VerdictPart>()
  for (const part of parts) {
    const known = sums.get(keyOf(part))
    sums.set(keyOf(part), known === undefined ? part : { ...part, times: known.times + 1, ms: known.ms + part.ms })
  }
  return [...sums.values()]
}

function between(at: Millis, min: Millis, max: Millis): Millis {
  return Math.min(Math.max(at, min), max)
}
