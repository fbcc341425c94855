// Looks at runs when they are due, freezes what has settled, and writes what is then owed: one transaction per batch.
import { createLoop, type Loop } from '../lib/loop.ts'
import { maxGenerations, parentOf, traceContextOf, type Ancestor, type FamilyOptions } from '../model/family.ts'
import { plan, type SettleRules } from '../model/settle.ts'
import type { Clock } from '../lib/clock.ts'
import type { FrozenPart } from '../model/frozen.ts'
import type { Job } from '../model/job.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { ProjectIncrements } from '../model/totals.ts'
import type { Run, TraceContext } from '../model/run.ts'
import type { Owed, RunChange, Runs, RunTiming, RunWork, StoredRun } from '../store/runs.ts'
import type { RunKey } from '../model/observation.ts'
import type { Selection } from './selection.ts'

export interface SettlerOptions {
  readonly runs: Runs
  readonly rules: SettleRules
  readonly family: FamilyOptions
  readonly selection: Selection
  /** Who is owed what: destinations with the signals that are on for them. */
  readonly to: Owed['to']
  /** What a frozen part adds to its project's totals; none are kept without it. */
  readonly measure?: ((part: FrozenPart) => ProjectIncrements | undefined) | undefined
  /** Called after something was frozen: the exporter has something to send. */
  readonly onFrozen: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Counted since start. */
export interface SettlerCounters {
  attempts: number
  supplements: number
  /** Attempts frozen while their pipeline waited for a person or a clock. */
  blocked: number
  /** Attempts frozen because their pipeline went silent. */
  stale: number
  /** Attempts that the configuration's refs or sources leave out. */
  excluded: number
}

export interface Settler extends Loop {
  readonly counters: Readonly<SettlerCounters>
  /** Freezes all that is due now. */
  drain(): Promise<void>
}

/** One transaction: some milliseconds, so that the door, which shares the store, seldom waits for long. */
const batch = { runs: 16, holdMs: 15_000 }
/** No pause is longer, so that a clock that jumps or another process's news is noticed, ms. */
const longestPause = 1_000

export function createSettler(options: SettlerOptions): Settler {
  const counters: SettlerCounters = { attempts: 0, supplements: 0, blocked: 0, stale: 0, excluded: 0 }
  const decideAll = async (looks: readonly Look[]): Promise<void> => {
    await options.runs.transact(looks.map(look => look.work()))
    const told = looks.flatMap(look => look.told)
    for (const step of told) counters[step] += 1
    if (told.length > 0) options.onFrozen()
  }
  const settleDue = async (): Promise<boolean> => {
    const keys = await options.runs.takeDue(batch.runs, batch.holdMs)
    if (keys.length === 0) return false
    const looks = keys.map(key => new Look(key, undefined, options))
    await decideAll(looks)
    // Most pipelines were started by nobody else. Of the others the family must be known first.
    const children: Look[] = []
    for (const { key, parent } of looks) {
      if (parent !== undefined) children.push(new Look(key, await chainOf(key, parent, options), options))
    }
    if (children.length > 0) await decideAll(children)
    return true
  }
  const loop = createLoop({
    name: 'settler',
    clock: options.clock,
    log: options.log,
    turn: async () => {
      if (await settleDue()) return 0
      const next = await options.runs.nextDue()
      const pause = next === undefined ? longestPause : next - options.clock.now()
      return Math.min(longestPause, Math.max(1, pause))
    },
  })
  return {
    ...loop,
    counters,
    drain: async () => {
      while (await settleDue());
    },
  }
}

/** What a decision did, for the counters: told only when it was committed. */
type Told = keyof SettlerCounters

type ParentKey = NonNullable<ReturnType<typeof parentOf>>

/** One look at a run that is due. `chain`: its ancestors as far as they are known; undefined while nobody has looked them up. */
class Look {
  readonly key: RunKey
  readonly #chain: readonly Ancestor[] | undefined
  readonly #options: SettlerOptions
  /** What was done; empty when nothing was owed yet. */
  told: Told[] = []
  /** Set when nothing was decided, because this run's family must be looked up first. */
  parent: ParentKey | undefined

  constructor(key: RunKey, chain: readonly Ancestor[] | undefined, options: SettlerOptions) {
    this.key = key
    this.#chain = chain
    this.#options = options
  }

  work(): RunWork {
    return { key: this.key, jobs: 'all', decide: (known, now) => this.#decide(known, now) }
  }

  /** May be asked again: a transaction that fails is tried anew. */
  #decide(known: StoredRun | undefined, now: Millis): RunChange | undefined {
    this.told = []
    this.parent = undefined
    if (known === undefined) return undefined
    const { run } = known
    const frozen = run.attempts[0]?.trace
    const parent = frozen === undefined ? parentOf(run) : undefined
    if (parent !== undefined && this.#chain === undefined) {
      this.parent = parent
      return undefined
    }
    const trace = frozen ?? traceContextOf(run, this.#chain ?? [], this.#options.family)
    return settle(known, trace, now, this.told, this.#options)
  }
}

/** Follows the chain of parents as far as the store knows it. */
async function chainOf(key: RunKey, first: ParentKey, { runs }: SettlerOptions): Promise<Ancestor[]> {
  const chain: Ancestor[] = []
  let parent: ParentKey | undefined = first
  while (parent !== undefined && chain.length < maxGenerations) {
    const found = await runs.ancestor({ instance: key.instance, pipelineId: parent.pipelineId }, parent.jobId)
    if (found === undefined) break
    chain.push(found)
    parent = parentOf(found.head)
  }
  return chain
}

/** Freezes until nothing more is owed now; answers what to write, always with the time of the next look. */
function settle(known: StoredRun, trace: TraceContext, now: Millis, told: Told[], options: SettlerOptions): RunChange {
  const { rules, selection, to, measure } = options
  let { run, timing } = known
  const jobs = new Map<number, Job>()
  const owed: Owed[] = []
  const totals: ProjectIncrements[] = []
  const changed = (next: RunTiming): RunChange => ({ run, jobs: [...jobs.values()], owed, totals, timing: next })
  for (;;) {
    const next = plan(run, trace, rules, { now, ...timing })
    if (next.step === 'rest') return changed({ changedAt: timing.changedAt })
    if (next.step === 'wait') return changed({ ...timing, endedAt: next.endedAt ?? timing.endedAt, dueAt: next.due })
    run = next.frozen.run
    timing = { changedAt: timing.changedAt }
    for (const job of next.frozen.jobs) jobs.set(job.id, job)
    told.push(next.why === 'supplement' ? 'supplements' : 'attempts')
    if (next.why === 'blocked' || next.why === 'stale') told.push(next.why)
    if (!isWanted(run, selection)) {
      told.push('excluded')
      continue
    }
    const { parts } = next.frozen
    const heardAt = known.timing.changedAt
    if (to.length > 0) owed.push(...parts.map(part => ({ part: { ...part, heardAt }, to })))
    if (measure !== undefined) totals.push(...parts.flatMap(part => measure(part) ?? []))
  }
}

function isWanted(run: Run, selection: Selection): boolean {
  return run.pipeline !== undefined && selection.pipeline(run.pipeline.record.facts)
}
