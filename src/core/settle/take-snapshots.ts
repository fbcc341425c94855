// Takes all due snapshots of a run, and returns what to write. Pure, except for its counters. Called by the settle loop, and by taking in for runs that
// are due as soon as they are merged.
//
// 1. If the trace depends on a parent, or the cost on newer pipelines, these are read first: the decision is `unread`, and the caller asks again with them.
// 2. Snapshots are taken until no more are due (`model/settle.ts`).
// 3. One that the configured refs or sources exclude, or that no destination takes, is noted in the run and not sent.
// 4. The chunks of the others become pending for their destinations, features take what they need, and totals are measured.
//
// All of it is in the transaction that merges: a snapshot that is noted but not pending would be lost, one that is pending but not noted would be doubled.
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import { parentOf, traceContextOf, type Ancestor, type FamilyOptions } from '../../model/family.ts'
import { isSuperseded, mayBeSuperseded, plan, type SettleRules } from '../../model/settle.ts'
import { routed, subjectOf, type Route } from '../../model/route.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'
import type { PendingChunk, RunChange, RunTiming, RunWork, StoredRun, Reports } from '../store/ports/runs.ts'
import type { Signal } from '../store/ports/outbox.ts'
import type { ProjectIncrements } from '../../model/totals.ts'
import type { LineStep } from '../store/ports/reporter.ts'
import type { Run, RunHead } from '../../model/run.ts'
import type { TraceContext } from '../../model/trace-context.ts'
import type { Selection } from '../take-in/selection.ts'
import { unexported } from '../../model/snapshot.ts'

export interface SnapshotterOptions {
  readonly rules: SettleRules
  readonly family: ByInstance<FamilyOptions>
  readonly selection: Selection
  /** Where snapshots go: destinations with the signals that are on for them. */
  readonly to: readonly Route<Signal>[]
  /** Whether a destination takes the totals of a project, which are sent without a queue. */
  readonly takesTotals?: Route['takes']
  /** Called with the path of a project that no destination takes. */
  readonly onUnrouted?: ((project: string) => void) | undefined
  /** What a chunk adds to its project's totals; without it no totals are kept. */
  readonly measure?: ((chunk: Chunk) => ProjectIncrements | undefined) | undefined
  /** What features take from a snapshot. */
  readonly steps?: readonly LineStep[] | undefined
  /** Called after a snapshot was committed: the exporter has something to send. */
  readonly onSnapshot: () => void
}

/** Counted since start. */
export interface SnapshotCounters {
  attempts: number
  supplements: number
  /** Snapshots of attempts whose pipeline was manual or scheduled. */
  blocked: number
  /** Snapshots of attempts whose pipeline went silent. */
  stale: number
  /** Attempts that the configured refs or sources exclude. */
  excluded: number
  /** Snapshots that no destination takes, by its choice of projects. */
  unrouted: number
}

/** What a decision did, for the counters: counted once it is committed. */
export type SnapshotStep = keyof SnapshotCounters

export type ParentKey = NonNullable<ReturnType<typeof parentOf>>

export type Decision =
  | { readonly change: RunChange; readonly did: readonly SnapshotStep[] }
  /** Nothing is decided: other runs must be read first. */
  | { readonly unread: Unread }

/** The parent to read, if there is one, and whether to read newer pipelines of the project. */
export interface Unread {
  readonly parent: ParentKey | undefined
  readonly newer: boolean
}

/** Other runs as far as they are known. */
export interface OtherRuns {
  /** The run's ancestors. */
  readonly chain: readonly Ancestor[]
  readonly newer: readonly RunHead[]
}

export interface Snapshotter {
  readonly counters: Readonly<SnapshotCounters>
  /** `others`: undefined until they are read. */
  decide(known: StoredRun, others: OtherRuns | undefined, now: Millis): Decision
  /**
   * Extends the work by the run's snapshot if it is due at once and all its jobs are loaded. So a settle delay of 0 needs only one transaction.
   * Each call of the work refills `did`.
   */
  atOnce(work: RunWork, did: SnapshotStep[]): RunWork
  /** The decision was committed. */
  committed(did: readonly SnapshotStep[]): void
}

export function createSnapshotter(options: SnapshotterOptions): Snapshotter {
  const counters: SnapshotCounters = { attempts: 0, supplements: 0, blocked: 0, stale: 0, excluded: 0, unrouted: 0 }
  const decide: Snapshotter['decide'] = (known, others, now) => {
    const { run } = known
    const exported = run.attempts[0]?.trace
    const parent = exported === undefined ? parentOf(run) : undefined
    const newer = mayBeSuperseded(run)
    if (others === undefined && (parent !== undefined || newer)) return { unread: { parent, newer } }
    const { chain, newer: newerRuns } = others ?? { chain: [], newer: [] }
    const rules = { ...options.rules, superseded: newer && isSuperseded(run, newerRuns) }
    const family = ofInstance(options.family, run.key.instance)
    return takeSnapshots(known, exported ?? traceContextOf(run, chain, family), now, { ...options, rules })
  }
  return {
    counters,
    decide,
    atOnce: (work, did) => ({
      ...work,
      decide: (known, now) => {
        did.length = 0
        const merged = work.decide(known, now)
        const isWhole = known === undefined || work.jobs === 'all'
        if (merged === undefined || !isWhole || (merged.timing.dueAt ?? Infinity) > now) return merged
        const decision = decide({ run: merged.run, timing: merged.timing, firstSeenBy: {} }, undefined, now)
        if ('unread' in decision) return merged
        did.push(...decision.did)
        const reports = [...(merged.reports ?? []), ...(decision.change.reports ?? [])]
        return { ...merged, ...decision.change, reports }
      },
    }),
    committed: did => {
      for (const step of did) counters[step] += 1
      if (did.length > 0) options.onSnapshot()
    },
  }
}

/** Takes snapshots until no more are due; returns what to write, always with the time at which the run is due next. */
function takeSnapshots(known: StoredRun, trace: TraceContext, now: Millis, options: SnapshotterOptions): Decision {
  const { rules, selection, to, measure, steps = [] } = options
  let { run } = known
  let timing = boundedTiming(known.timing, now, rules)
  const pending: PendingChunk[] = []
  const totals: ProjectIncrements[] = []
  const reports: Reports[] = []
  const did: SnapshotStep[] = []
  const changed = (next: RunTiming): Decision => ({
    change: { run, pending, totals, reports, timing: next },
    did,
  })
  for (;;) {
    const next = plan(run, trace, rules, { now, ...timing })
    if (next.step === 'rest') return changed({ changedAt: timing.changedAt })
    if (next.step === 'wait') return changed({ ...timing, endedAt: next.endedAt ?? timing.endedAt, dueAt: next.due })
    run = next.snapshot.run
    timing = { changedAt: timing.changedAt }
    did.push(next.why === 'supplement' ? 'supplements' : 'attempts')
    if (next.why === 'blocked' || next.why === 'stale') did.push(next.why)
    if (!isWanted(run, selection)) {
      did.push('excluded')
      if (next.why !== 'supplement') run = unexported(run)
      continue
    }
    const { chunks } = next.snapshot
    const observedAt = known.timing.changedAt
    const subject = subjectOf({ key: run.key, project: run.project.facts })
    const queues = routed(to, subject)
    if (queues.length > 0) {
      pending.push(...chunks.map(chunk => ({ chunk: { ...chunk, observedAt }, to: queues })))
    } else if (next.why !== 'supplement') run = unexported(run)
    if (queues.length === 0 && to.length > 0 && options.takesTotals?.(subject) !== true) {
      did.push('unrouted')
      options.onUnrouted?.(subject.path ?? '')
    }
    const of = { run, isSent: queues.length > 0 }
    for (const { onSnapshot } of steps)
      if (onSnapshot !== undefined) reports.push(...chunks.flatMap(chunk => onSnapshot(chunk, of)))
    if (measure !== undefined) totals.push(...chunks.flatMap(chunk => measure(chunk) ?? []))
  }
}

/** Corrects times that were written under a clock that was ahead. */
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
