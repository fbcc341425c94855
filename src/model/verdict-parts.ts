// Divides a verdict into parts: how a run's time was spent, or what explains its deviation from the usual duration. The parts always add up exactly.
// Pure.
import { criticalPath, type Ran } from './critical-path.ts'
import { hasFailed } from './status.ts'
import type { Millis } from './instant.ts'

/**
 * The kinds of parts that a verdict has:
 *
 * - `ran`: a job ran. In the verdict on a job: it ran outside of its sections
 * - `failed_attempt`: a job ran in vain, because it failed and was retried
 * - `retry`: the critical path waited for the retry of a job
 * - `runner`: a job waited for a runner
 * - `section`: a section of the job, only in the verdict on a job
 * - `before`: the critical path waited for a job to begin, but not for a runner: for a person, a schedule, a resource
 * - `end`: the time from the end of the last job to the end of the pipeline
 * - `parallel`: more (negative) or less work ran in parallel with the jobs on the critical path
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
  /** The name of the job or section, if the part is about one. */
  readonly name?: string | undefined
  /** The number of steps of the critical path that this part sums up. For example, two failed attempts of one job are a single part. */
  readonly times: number
  /**
   * The part's share of the duration, or of the difference from the usual duration, ms. A negative difference means that this part was faster than
   * usual.
   */
  readonly ms: Millis
}

/** The fields of a job that a verdict uses. */
export interface JudgedJob {
  readonly id: number
  readonly name?: string | undefined
  readonly status: string
  readonly allowFailure?: boolean | undefined
  /** True if there is a newer job of the same name. */
  readonly retried: boolean
  readonly startedAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
  /** The time in seconds that the job waited for a runner. */
  readonly queuedDuration?: number | undefined
  readonly failureReason?: string | undefined
}

/** How a run spent its time. */
export interface Timeline {
  readonly ms: Millis
  /** The critical path as consecutive parts that add up to `ms`. */
  readonly path: readonly VerdictPart[]
  /** The parts of jobs that are not on the critical path. These jobs ran and waited in parallel with the jobs on the path. */
  readonly beside: readonly VerdictPart[]
}

/** Divides a run's time into the steps of its jobs. `start` and `end` are whole milliseconds. */
export function timelineOf(jobs: readonly JudgedJob[], start: Millis, end: Millis): Timeline {
  const byId = new Map(jobs.map(job => [job.id, job]))
  const first = new Map<string, number>()
  for (const { id, name } of jobs) if (name !== undefined) first.set(name, Math.min(id, first.get(name) ?? id))
  const { ids, waitedFor } = criticalPath(jobs.flatMap(ranOf))
  const endOf = (id: number | undefined): Millis => {
    const { finishedAt = start } = (id === undefined ? undefined : byId.get(id)) ?? {}
    return between(Math.round(finishedAt), start, end)
  }
  /** The steps of a job, from `at` to the end of the job. */
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
 * Explains why one run took longer or shorter than another, in parts that add up to the difference.
 *
 * The parts follow the critical path of the longer run, because only jobs on this path could make it take longer. Each job on the path, and each
 * wait, is compared with its counterpart in the other run, even if that counterpart was not on the other run's critical path. A job on the critical
 * path of the shorter run also gets a part if it was on the longer run's critical path too, or did not run in the longer run at all.
 *
 * The rest of the difference becomes a single part, for work that ran in parallel. For example, the unit tests take two minutes longer than usual. If
 * other tests run in parallel and usually take one minute longer than the unit tests, the pipeline becomes only one minute slower.
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

/** The parts that took any time, longest first. */
export function shown(parts: readonly VerdictPart[]): VerdictPart[] {
  return parts.filter(({ ms }) => ms !== 0).sort((a, b) => Math.abs(b.ms) - Math.abs(a.ms))
}

function ranOf({ id, startedAt, finishedAt }: JudgedJob): Ran[] {
  if (startedAt === undefined || finishedAt === undefined) return []
  return [{ id, start: startedAt, end: Math.max(startedAt, finishedAt) }]
}

/** The parts by kind and name. If a job has attempts both on the critical path and off it, the part on the path is used. */
function byKey({ path, beside }: Timeline): ReadonlyMap<string, VerdictPart> {
  return new Map([...beside, ...path].map(part => [keyOf(part), part]))
}

function keyOf({ kind, name }: VerdictPart): string {
  return `${kind} ${name ?? ''}`
}

/** Sums the parts with the same kind and name. */
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
