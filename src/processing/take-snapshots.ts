// What is owed for a run now: freezes until nothing more is, and says what to write. Pure but for its counters; the settler
// asks it about runs that are due, the intake about those that are due the moment they are heard of.
import { parentOf, traceContextOf, type Ancestor, type FamilyOptions } from '../model/family.ts'
import { plan, type SettleRules } from '../model/settle.ts'
import type { Chunk } from '../model/chunk.ts'
import type { Job } from '../model/job.ts'
import type { Millis } from '../model/instant.ts'
import type { PendingChunk, RunChange, RunTiming, RunWork, StoredRun } from '../store/ports/runs.ts'
import type { ProjectIncrements } from '../model/totals.ts'
import type { Run, TraceContext } from '../model/run.ts'
import type { Selection } from './selection.ts'

export interface FreezerOptions {
  readonly rules: SettleRules
  readonly family: FamilyOptions
  readonly selection: Selection
  /** Who is owed what: destinations with the signals that are on for them. */
  readonly to: PendingChunk['to']
  /** What a frozen part adds to its project's totals; none are kept without it. */
  readonly measure?: ((part: Chunk) => ProjectIncrements | undefined) | undefined
  /** Called after something was frozen: the exporter has something to send. */
  readonly onFrozen: () => void
}

/** Counted since start. */
export interface FreezerCounters {
  attempts: number
  supplements: number
  /** Attempts frozen while their pipeline waited for a person or a clock. */
  blocked: number
  /** Attempts frozen because their pipeline went silent. */
  stale: number
  /** Attempts that the configuration's refs or sources leave out. */
  excluded: number
}

/** What a decision did, for the counters: told only when it was committed. */
export type Frozen = keyof FreezerCounters

export type ParentKey = NonNullable<ReturnType<typeof parentOf>>

export type Decision =
  | { readonly change: RunChange; readonly did: readonly Frozen[] }
  /** Nothing is decided: this run's family must be looked up first. */
  | { readonly parent: ParentKey }

export interface Freezer {
  readonly counters: Readonly<FreezerCounters>
  /** `chain`: the run's ancestors as far as they are known; undefined while nobody has looked them up. */
  decide(known: StoredRun, chain: readonly Ancestor[] | undefined, now: Millis): Decision
  /**
   * The same work, and what is owed for its run when that is due at once and all of it is at hand: a settle delay of 0 takes
   * one transaction. `did` is filled whenever the work is asked.
   */
  atOnce(work: RunWork, did: Frozen[]): RunWork
  /** What was decided is committed. */
  committed(did: readonly Frozen[]): void
}

export function createFreezer(options: FreezerOptions): Freezer {
  const counters: FreezerCounters = { attempts: 0, supplements: 0, blocked: 0, stale: 0, excluded: 0 }
  const decide: Freezer['decide'] = (known, chain, now) => {
    const frozen = known.run.attempts[0]?.trace
    const parent = frozen === undefined ? parentOf(known.run) : undefined
    if (parent !== undefined && chain === undefined) return { parent }
    return freeze(known, frozen ?? traceContextOf(known.run, chain ?? [], options.family), now, options)
  }
  return {
    counters,
    decide,
    atOnce: (work, did) => ({
      ...work,
      decide: (known, now) => {
        did.length = 0
        const heard = work.decide(known, now)
        const isWhole = known === undefined || work.jobs === 'all'
        if (heard === undefined || !isWhole || (heard.timing.dueAt ?? Infinity) > now) return heard
        const decision = decide({ run: heard.run, timing: heard.timing, firstSeenBy: {} }, undefined, now)
        if ('parent' in decision) return heard
        did.push(...decision.did)
        const jobs = new Map([...heard.jobs, ...decision.change.jobs].map(job => [job.id, job]))
        return { ...heard, ...decision.change, jobs: [...jobs.values()] }
      },
    }),
    committed: did => {
      for (const step of did) counters[step] += 1
      if (did.length > 0) options.onFrozen()
    },
  }
}

/** Freezes until nothing more is owed now; answers what to write, always with the time of the next look. */
function freeze(known: StoredRun, trace: TraceContext, now: Millis, options: FreezerOptions): Decision {
  const { rules, selection, to, measure } = options
  let { run } = known
  let timing = boundedTiming(known.timing, now, rules)
  const jobs = new Map<number, Job>()
  const owed: PendingChunk[] = []
  const totals: ProjectIncrements[] = []
  const did: Frozen[] = []
  const changed = (next: RunTiming): Decision => ({
    change: { run, jobs: [...jobs.values()], pending: owed, totals, timing: next },
    did,
  })
  for (;;) {
    const next = plan(run, trace, rules, { now, ...timing })
    if (next.step === 'rest') return changed({ changedAt: timing.changedAt })
    if (next.step === 'wait') return changed({ ...timing, endedAt: next.endedAt ?? timing.endedAt, dueAt: next.due })
    run = next.frozen.run
    timing = { changedAt: timing.changedAt }
    for (const job of next.frozen.jobs) jobs.set(job.id, job)
    did.push(next.why === 'supplement' ? 'supplements' : 'attempts')
    if (next.why === 'blocked' || next.why === 'stale') did.push(next.why)
    if (!isWanted(run, selection)) {
      did.push('excluded')
      continue
    }
    const { chunks } = next.frozen
    const observedAt = known.timing.changedAt
    if (to.length > 0) owed.push(...chunks.map(chunk => ({ chunk: { ...chunk, observedAt }, to })))
    if (measure !== undefined) totals.push(...chunks.flatMap(chunk => measure(chunk) ?? []))
  }
}

/** A clock that was ahead may have written it: nothing happened later than now, and nothing delays for longer than it may. */
function boundedTiming(timing: RunTiming, now: Millis, { deadline }: SettleRules): RunTiming {
  const { changedAt, endedAt, enrichingUntil } = timing
  return {
    ...timing,
    changedAt: Math.min(changedAt, now),
    ...(endedAt !== undefined && { endedAt: Math.min(endedAt, now) }),
    ...(enrichingUntil !== undefined && { enrichingUntil: Math.min(enrichingUntil, now + deadline) }),
  }
}

function isWanted(run: Run, selection: Selection): boolean {
  return run.pipeline !== undefined && selection.pipeline(run.pipeline.record.facts)
}
