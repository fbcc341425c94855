// How news enters a run: merge it, write what changed, say when to look at the run again. Pure; the store runs it under a lock.
import { observedRun, mergeRun, type Run } from '../model/run.ts'
import { isAtEnd } from '../model/attempt.ts'
import { isBlocked, isUnderWay } from '../model/status.ts'
import { leastSilence } from './silence.ts'
import type { EnrichmentChange, DetailLevel } from '../store/ports/enrichment-queue.ts'
import type { Millis } from '../model/instant.ts'
import type { Observation, RunKey } from '../model/observation.ts'
import type { RunChange, RunTiming, RunWork, SourceName, StoredRun } from '../store/ports/runs.ts'

/** All in milliseconds. */
export interface AbsorbRules {
  readonly settle: number
  readonly blockedAfter: number
  readonly staleAfter: number
  /** How long a run under way may be silent, at the least, before the platform is asked about it; 2 minutes unless told. */
  readonly silentAfter?: number | undefined
  /** How long enrichment may delay a finished run; undefined: enrichment is off. */
  readonly enrichDeadline?: number | undefined
}

/** A pipeline's own event is usually no further away from its first job's than this, ms. */
const onlyJobsAfter = 60_000

/** One piece of work per run: all observations of it are merged before anything is written. */
export function absorbing(
  observations: readonly Observation[],
  source: SourceName | undefined,
  rules: AbsorbRules,
): RunWork[] {
  const byRun = new Map<string, { key: RunKey; heard: Run }>()
  for (const observation of observations) {
    const { key } = observation
    const name = `${key.instance}\n${key.pipelineId}`
    const heard = observedRun(observation)
    const before = byRun.get(name)
    byRun.set(name, { key, heard: before === undefined ? heard : mergeRun(before.heard, heard) })
  }
  return [...byRun.values()].map(({ key, heard }) => ({
    key,
    // Without a settle delay what has ended is frozen at once, and that needs all of them.
    jobs: rules.settle === 0 && isAtEnd(heard) ? 'all' : [...heard.jobs.keys()],
    source,
    decide: (known, now) => absorb(known, heard, now, rules),
  }))
}

/** Nothing new, nothing to write. */
export function absorb(
  known: StoredRun | undefined,
  heard: Run,
  now: Millis,
  rules: AbsorbRules,
): RunChange | undefined {
  const run = known === undefined ? heard : mergeRun(known.run, heard)
  if (run === known?.run) return undefined
  const jobs = [...heard.jobs.keys()].flatMap(id => {
    const job = run.jobs.get(id)
    return job === undefined || job === known?.run.jobs.get(id) ? [] : [job]
  })
  return {
    run,
    jobs,
    timing: timingAfter(run, known?.timing, now, rules),
    enrichment: askingAfter(run, known, now, rules),
  }
}

/**
 * When to look next. A run that has come to its end, or that owes or may owe something beyond its last attempt, after the
 * settle delay: `settle.ts` then decides with all jobs at hand. A running one only when it has been silent for too long,
 * and the platform has been asked in vain.
 */
export function timingAfter(run: Run, before: RunTiming | undefined, now: Millis, rules: AbsorbRules): RunTiming {
  if (run.pipeline === undefined) return { changedAt: now }
  if (isAtEnd(run)) {
    const settled = now + rules.settle
    if (before?.endedAt !== undefined) return { ...before, changedAt: now, dueAt: settled }
    const enrichingUntil = rules.enrichDeadline === undefined ? undefined : now + rules.enrichDeadline
    return { changedAt: now, endedAt: now, enrichingUntil, dueAt: settled }
  }
  if (run.attempts.length > 0) return { changedAt: now, dueAt: now + rules.settle }
  if (isBlocked(run.pipeline.record.facts.status)) return { changedAt: now, dueAt: now + rules.blockedAfter }
  return { changedAt: now, dueAt: now + rules.staleAfter + (rules.enrichDeadline ?? 0) }
}

/**
 * What the platform is to be asked: at each end for its details; for a run that only jobs tell of; and from each beginning on
 * whether it has ended, should it go silent.
 */
function askingAfter(
  run: Run,
  known: StoredRun | undefined,
  now: Millis,
  { enrichDeadline, silentAfter = leastSilence }: AbsorbRules,
): EnrichmentChange | undefined {
  if (enrichDeadline === undefined) return undefined
  if (isAtEnd(run)) return known?.timing.endedAt === undefined ? askFor('details', now) : undefined
  if (known === undefined && run.pipeline === undefined) return askFor('pipeline', now + onlyJobsAfter)
  const before = known?.run.pipeline
  const begins = known === undefined || (before !== undefined && !isUnderWay(before.record.facts.status))
  const isGoingOn = known === undefined || isUnderWay(run.pipeline?.record.facts.status ?? '')
  return begins && isGoingOn ? { detail: 'state', priority: 'silent', at: now + silentAfter } : undefined
}

function askFor(ask: DetailLevel, at: Millis): EnrichmentChange {
  return { detail: ask, priority: 'fresh', at }
}
