// The parts of a verdict: where a run's time went, or what explains its difference from the usual. The parts always add up. Pure.
import { criticalPath, type Ran } from './critical-path.ts'
import { hasFailed } from './status.ts'
import type { Millis } from './instant.ts'

/**
 * - `ran`: a job ran. In the verdict of a job: it ran, outside of its sections
 * - `failed_attempt`: a job ran in vain, because it failed and was retried
 * - `retry`: the path waited for the retry of a job
 * - `runner`: it waited for a runner
 * - `section`: a section of the job, in the verdict of a job
 * - `before`: it waited for a job to begin, but not for a runner: for a person, a schedule, a resource
 * - `end`: from the end of the last job to that of the pipeline
 * - `other`: what the other parts do not explain of the difference
 */
export const verdictPartKinds = [
  'ran',
  'failed_attempt',
  'retry',
  'runner',
  'section',
  'before',
  'end',
  'other',
] as const

export interface VerdictPart {
  readonly kind: (typeof verdictPartKinds)[number]
  /** Of the job or the section, if it is about one. */
  readonly name?: string | undefined
  /** How many steps of the critical path it sums: two failed attempts of one job are one part. */
  readonly times: number
  /** Of the duration, or of the difference from the usual: then negative if it was quicker than usual. */
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

/** The usual duration of a job, and its usual wait for a runner. */
export interface UsualJob {
  readonly ms?: Millis | undefined
  readonly queueMs?: Millis | undefined
}

/** The critical path as consecutive parts, which add up to `end - start`. Both are whole milliseconds. */
export function stepsOf(jobs: readonly JudgedJob[], start: Millis, end: Millis): VerdictPart[] {
  const byId = new Map(jobs.map(job => [job.id, job]))
  const first = new Map<string, number>()
  for (const { id, name } of jobs) if (name !== undefined) first.set(name, Math.min(id, first.get(name) ?? id))
  const steps: VerdictPart[] = []
  let at = start
  for (const id of criticalPath(jobs.flatMap(ranOf)).ids) {
    const job = byId.get(id)
    if (job?.startedAt === undefined || job.finishedAt === undefined) continue
    const { name = String(id) } = job
    const began = between(Math.round(job.startedAt), at, end)
    const ended = between(Math.round(job.finishedAt), began, end)
    const isRetry = job.name !== undefined && first.get(job.name) !== id
    const queued = isRetry ? 0 : Math.min(began - at, Math.max(0, Math.round((job.queuedDuration ?? 0) * 1_000)))
    steps.push(
      { kind: isRetry ? 'retry' : 'before', name, times: 1, ms: began - at - queued },
      { kind: 'runner', name, times: 1, ms: queued },
      { kind: job.retried && hasFailed(job.status) ? 'failed_attempt' : 'ran', name, times: 1, ms: ended - began },
    )
    at = ended
  }
  return summed([...steps, { kind: 'end', times: 1, ms: end - at }])
}

/**
 * What explains that a run with these parts took `difference` longer than usual; the result adds up to it. A failed attempt and the wait for
 * a retry are unusual. A job's duration and its wait for a runner are compared with the job's usual ones. Of parts whose usual is not known
 * only as much is unusual as the others leave of the difference.
 */
export function explained(
  parts: readonly VerdictPart[],
  difference: Millis,
  usualOf: (name: string) => UsualJob | undefined,
): VerdictPart[] {
  const found: VerdictPart[] = []
  const unknown: VerdictPart[] = []
  for (const part of parts) {
    const usualMs = usualPart(part, usualOf)
    if (usualMs === undefined) unknown.push(part)
    else found.push({ ...part, ms: part.ms - Math.round(usualMs) })
  }
  let left = found.reduce((rest, { ms }) => rest - ms, difference)
  for (const part of unknown.toSorted((a, b) => b.ms - a.ms)) {
    const ms = Math.min(part.ms, Math.max(0, left))
    found.push({ ...part, ms })
    left -= ms
  }
  return shown([...found, { kind: 'other', times: 1, ms: left }])
}

/** Those that took any time, the longest first. */
export function shown(parts: readonly VerdictPart[]): VerdictPart[] {
  return parts.filter(({ ms }) => ms !== 0).sort((a, b) => Math.abs(b.ms) - Math.abs(a.ms))
}

function usualPart({ kind, name = '' }: VerdictPart, usualOf: (name: string) => UsualJob | undefined) {
  if (kind === 'failed_attempt' || kind === 'retry') return 0
  if (kind === 'ran') return usualOf(name)?.ms
  return kind === 'runner' ? usualOf(name)?.queueMs : undefined
}

function ranOf({ id, startedAt, finishedAt }: JudgedJob): Ran[] {
  if (startedAt === undefined || finishedAt === undefined) return []
  return [{ id, start: startedAt, end: Math.max(startedAt, finishedAt) }]
}

/** One part for each kind and name. */
function summed(parts: readonly VerdictPart[]): VerdictPart[] {
  const sums = new Map<string, VerdictPart>()
  for (const part of parts) {
    const key = `${part.kind} ${part.name ?? ''}`
    const known = sums.get(key)
    sums.set(key, known === undefined ? part : { ...part, times: known.times + 1, ms: known.ms + part.ms })
  }
  return [...sums.values()]
}

function between(at: Millis, least: Millis, most: Millis): Millis {
  return Math.min(Math.max(at, least), most)
}
