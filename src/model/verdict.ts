// Determines the verdict on a finished pipeline or job: why it took as long as it did, or where it failed. `verdict-sentence.ts` writes the verdict
// as a sentence. Pure.
import { explained, shown, timelineOf, type JudgedJob, type Timeline, type VerdictPart } from './verdict-parts.ts'
import { hasFailed, isFinished, wasCanceled } from './status.ts'
import type { Millis } from './instant.ts'

/** The outcomes of a verdict. `took`: the run passed, and its usual duration is unknown. */
export const verdictOutcomes = ['failed', 'canceled', 'slower', 'faster', 'usual', 'took'] as const

export interface Verdict {
  readonly outcome: (typeof verdictOutcomes)[number]
  /** For `slower`, `faster` and `usual`, the difference from the usual duration; otherwise the duration, ms. It is the sum of the parts. */
  readonly ms: Millis
  /** The parts, longest first. */
  readonly parts: readonly VerdictPart[]
  /** The failures that caused the pipeline or job to fail. */
  readonly failures: readonly Failure[]
}

export interface Failure {
  /** The name of the failed job; undefined in the verdict on a single job. */
  readonly job?: string | undefined
  readonly reason?: string | undefined
  /** The section of the job's log in which the job failed. */
  readonly section?: string | undefined
  readonly tests?: FailedTests | undefined
}

export interface FailedTests {
  readonly total: number
  readonly failed: number
  /** How many of the failed tests have been flaky before; undefined if unknown. */
  readonly flaky?: number | undefined
}

/** A run that has ended. */
export interface RanOnce {
  /** The earliest known time of the run. */
  readonly start: Millis
  readonly end: Millis
  readonly jobs: readonly JudgedJob[]
}

export interface JudgedRun extends RanOnce {
  readonly status: string
  /**
   * The usual duration; undefined if it is unknown. `run`: a run of the usual duration, with which this run is compared to explain the difference.
   */
  readonly usual?: { readonly ms: Millis; readonly run?: RanOnce | undefined } | undefined
  /** The failed tests by job ID, for jobs whose test report was read. */
  readonly tests?: ReadonlyMap<number, FailedTests> | undefined
}

/** Two durations count as equal if they differ by less than this factor, because usual durations are known only to within 5 %. */
const slack = 1.1
/** Two durations also count as equal if they differ by fewer ms than this, because webhooks report whole seconds. */
const minDifference = 1_000

/** Returns the verdict on a pipeline; undefined until the pipeline has ended. */
export function pipelineVerdict(run: JudgedRun): Verdict | undefined {
  const { status, jobs, usual, tests } = run
  if (!isFinished(status)) return undefined
  const failures = hasFailed(status)
    ? jobs.filter(isDecisive).map(({ id, name = String(id), failureReason }) => ({
        ...{ job: name, reason: failureReason, tests: tests?.get(id) },
      }))
    : []
  const here = timelineOfRun(run)
  const there = usual?.run && timelineOfRun(usual.run)
  const usualMs = there?.ms ?? (usual && Math.round(usual.ms))
  return judged(status, { ms: here.ms, parts: here.path }, failures, usualMs, difference =>
    there === undefined ? [{ kind: 'other', times: 1, ms: difference }] : explained(here, there),
  )
}

function timelineOfRun({ start, end, jobs }: RanOnce): Timeline {
  const from = Math.round(start)
  return timelineOf(jobs, from, Math.max(from, Math.round(end)))
}

/** The usual duration of a job and its usual wait for a runner, ms. */
export interface UsualJob {
  readonly ms?: Millis | undefined
  readonly queueMs?: Millis | undefined
}

export interface JudgedRunOfJob extends Omit<JudgedJob, 'id' | 'retried' | 'name'> {
  readonly usual?: UsualJob | undefined
  /** The outermost sections of the job's log. All other sections are nested in these. */
  readonly sections?: readonly JudgedSection[] | undefined
  /** The section in which the job failed, which may be nested in another section. */
  readonly failedIn?: string | undefined
  readonly tests?: FailedTests | undefined
}

interface JudgedSection {
  readonly name: string
  readonly start: Millis
  readonly end: Millis
}

/**
 * Returns the verdict on a job; undefined until the job has ended, and for a job that never ran. The job's time includes its wait for a runner, if
 * known.
 */
export function jobVerdict(job: JudgedRunOfJob): Verdict | undefined {
  const {
    status,
    startedAt,
    finishedAt,
    queuedDuration = 0,
    failureReason,
    usual,
    sections = [],
    failedIn,
    tests,
  } = job
  if (!isFinished(status) || startedAt === undefined || finishedAt === undefined) return undefined
  const start = Math.round(startedAt)
  const end = Math.max(start, Math.round(finishedAt))
  const queued = Math.max(0, Math.round(queuedDuration * 1_000))
  const runner: VerdictPart = { kind: 'runner', times: 1, ms: queued }
  const failures = hasFailed(status) ? [{ reason: failureReason, section: failedIn, tests }] : []
  if (usual?.ms === undefined) {
    const parts = [runner, ...inSections(sections, start, end)]
    return judged(status, { ms: queued + end - start, parts }, failures)
  }
  // If the usual wait for a runner is unknown, the comparison leaves out the job's wait.
  const waits: VerdictPart[] = usual.queueMs === undefined ? [] : [runner]
  const ran: VerdictPart = { kind: 'ran', times: 1, ms: end - start }
  const spent = { ms: end - start + waits.reduce((sum, { ms }) => sum + ms, 0), parts: [...waits, ran] }
  const [usualMs, usualWait] = [Math.round(usual.ms), Math.round(usual.queueMs ?? 0)]
  return judged(status, spent, failures, usualMs + usualWait, () => [
    ...waits.map(part => ({ ...part, ms: part.ms - usualWait })),
    { ...ran, ms: ran.ms - usualMs },
  ])
}

/** The time that a run took, and the parts that add up to it. */
interface Spent {
  readonly ms: Millis
  readonly parts: readonly VerdictPart[]
}

/**
 * Builds the verdict. A run that did not pass ended early, so it is not compared with the usual duration. `explain` returns the parts that add up to
 * the difference from the usual duration.
 */
function judged(
  status: string,
  spent: Spent,
  failures: readonly Failure[],
  usualMs?: Millis,
  explain?: (difference: Millis) => readonly VerdictPart[],
): Verdict {
  const took = { ms: spent.ms, parts: shown(spent.parts), failures }
  if (hasFailed(status)) return { outcome: 'failed', ...took }
  if (wasCanceled(status)) return { outcome: 'canceled', ...took }
  if (usualMs === undefined || explain === undefined) return { outcome: 'took', ...took }
  const ms = spent.ms - usualMs
  return { outcome: outcomeOf(spent.ms, usualMs), ms, parts: shown(explain(ms)), failures }
}

function outcomeOf(spent: Millis, usual: Millis): 'slower' | 'faster' | 'usual' {
  if (Math.abs(spent - usual) < minDifference) return 'usual'
  if (spent > usual * slack) return 'slower'
  return spent * slack < usual ? 'faster' : 'usual'
}

/** True if this job caused the pipeline to fail. */
function isDecisive({ status, allowFailure, retried }: JudgedJob): boolean {
  return hasFailed(status) && allowFailure !== true && !retried
}

/** The consecutive sections of a job, and the time that the job spent outside of them. They add up to the job's duration. */
function inSections(sections: readonly JudgedSection[], start: Millis, end: Millis): VerdictPart[] {
  const parts: VerdictPart[] = []
  let at = start
  let outside = 0
  for (const section of sections.toSorted((a, b) => a.start - b.start)) {
    const began = Math.min(Math.max(at, Math.round(section.start)), end)
    const ended = Math.min(Math.max(began, Math.round(section.end)), end)
    parts.push({ kind: 'section', name: section.name, times: 1, ms: ended - began })
    outside += began - at
    at = ended
  }
  return [...parts, { kind: 'ran', times: 1, ms: outside + end - at }]
}
