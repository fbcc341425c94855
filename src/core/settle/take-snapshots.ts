// Takes all due snapshots of a run, and returns what to write. Pure, except for its counters. It is called by the settle loop, and by the intake for
// runs that are due as soon as they are merged.
//
// 1. If the trace depends on a parent, or a newer pipeline may have superseded this one, these must be read first: the decision is `unread`, and the
//    caller repeats the call with them.
// 2. Snapshots are taken until no more are due (`model/settle.ts`).
// 3. A snapshot that the configured projects, refs or sources exclude, or that no destination accepts, is recorded in the run and not sent.
// 4. The chunks of the others become pending for their destinations, features take what they need, and totals are measured.
//
// All of this happens in the transaction that merges: a snapshot that is recorded but not pending would be lost, and one that is pending but not
// recorded would be exported twice.
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
  /** The destinations to which snapshots are sent, each with its enabled signals. */
  readonly to: readonly Route<Signal>[]
  /** Whether a destination accepts the totals of a project. Totals are sent without a queue. */
  readonly takesTotals?: Route['takes']
  /** Called with the path of a project that no destination accepts. */
  readonly onUnrouted?: ((project: string) => void) | undefined
  /** Returns what a chunk adds to its project's totals. If this function is undefined, no totals are stored. */
  readonly measure?: ((chunk: Chunk) => ProjectIncrements | undefined) | undefined
  readonly steps?: readonly LineStep[] | undefined
  /** Called after a snapshot has been committed, so that the exporter sends it. */
  readonly onSnapshot: () => void
}

/** Counters of snapshots since the daemon started. */
export interface SnapshotCounters {
  attempts: number
  supplements: number
  /** The number of snapshots of attempts whose pipeline was manual or scheduled. */
  blocked: number
  /** The number of snapshots of attempts whose pipeline became silent. */
  stale: number
  /** The number of attempts that the configured projects, refs or sources exclude. */
  excluded: number
  /** The number of snapshots that no destination accepts, because none selects the project. */
  unrouted: number
}

/** The name of a counter for a step of a decision. The step is counted once the decision is committed. */
export type SnapshotStep = keyof SnapshotCounters

export type ParentKey = NonNullable<ReturnType<typeof parentOf>>

export type Decision =
  | { readonly change: RunChange; readonly did: readonly SnapshotStep[] }
  /** No decision was made, because other runs must be read first. */
  | { readonly unread: Unread }

/** Which other runs must be read: the key of the parent, if there is one, and whether newer pipelines of the project are needed. */
export interface Unread {
  readonly parent: ParentKey | undefined
  readonly newer: boolean
}

/** The other runs on which a decision depends, as far as they are known. */
export interface OtherRuns {
  readonly chain: readonly Ancestor[]
  readonly newer: readonly RunHead[]
}

export interface Snapshotter {
  readonly counters: Readonly<SnapshotCounters>
  /** `others` is undefined until the other runs have been read. */
  decide(known: StoredRun, others: OtherRuns | undefined, now: Millis): Decision
  /**
   * Adds the run's snapshot to the work if the snapshot is due at once and all jobs are loaded. So with a settle delay of 0, one transaction is
   * enough. Whenever the work runs, it replaces the content of `did` with the steps that it decided.
   */
  atOnce(work: RunWork, did: SnapshotStep[]): RunWork
  /** Called after the decision has been committed. Counts its steps. */
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

/** Takes snapshots until no more are due. Returns the data to write, always including the time at which the run is due next. */
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
    const isSent = queues.length > 0 || options.takesTotals?.(subject) === true
    if (queues.length > 0) pending.push(...chunks.map(chunk => ({ chunk: { ...chunk, observedAt }, to: queues })))
    if (!isSent && next.why !== 'supplement') run = unexported(run)
    if (!isSent && to.length > 0) {
      did.push('unrouted')
      options.onUnrouted?.(subject.path ?? '')
    }
    const of = { run, isSent }
    for (const { onSnapshot } of steps)
      if (onSnapshot !== undefined) reports.push(...chunks.flatMap(chunk => onSnapshot(chunk, of)))
    if (measure !== undefined) totals.push(...chunks.flatMap(chunk => measure(chunk) ?? []))
  }
}

/** Corrects timestamps that were written while the clock was ahead. */
function boundedTiming(timing: RunTiming, now: Millis, { deadline }: SettleRules): RunTiming {
  const { changedAt, endedAt, enrichingUntil } = timing
  return {
    ...timing,
    changedAt: Math.min(changedAt, now),
    ...(endedAt !== undefined && { endedAt: Math.min(endedAt, now) }),
    ...(enrichingUntil !== undefined && { enrichingUntil: Math.min(enrichingUntil, now + deadline) }),
  }
}

/** The project is checked again, because its path may have been unknown when the run was taken in. */
function isWanted({ key, pipeline, project }: Run, selection: Selection): boolean {
  return (
    pipeline !== undefined &&
    selection.pipeline(pipeline.record.facts) &&
    selection.project(project.facts.path, key.instance)
  )
}
