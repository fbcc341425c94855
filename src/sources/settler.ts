// Looks at runs when they are due and has frozen what has settled, with what is then owed: one transaction per batch.
import { createLoop, type Loop } from '../lib/loop.ts'
import { maxGenerations, parentOf, type Ancestor } from '../model/family.ts'
import type { Clock } from '../lib/clock.ts'
import type { Freezer, Frozen, ParentKey } from './freezer.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { RunChange, Runs, RunWork, StoredRun } from '../store/runs.ts'
import type { RunKey } from '../model/observation.ts'

export interface SettlerOptions {
  readonly runs: Runs
  /** Runs of one transaction. */
  readonly perTransaction: number
  readonly freezer: Freezer
  readonly clock: Clock
  readonly log: Log
}

export interface Settler extends Loop {
  /** Freezes all that is due now. */
  drain(): Promise<void>
}

/** Held many times longer than looking at them lasts, ms. */
const holdMs = 15_000
/** No pause is longer, so that a clock that jumps or another process's news is noticed, ms. */
const longestPause = 1_000

export function createSettler({ runs, perTransaction, freezer, clock, log }: SettlerOptions): Settler {
  const decideAll = async (looks: readonly Look[]): Promise<void> => {
    await runs.transact(looks.map(look => look.work()))
    freezer.committed(looks.flatMap(look => look.did))
  }
  const settleDue = async (): Promise<boolean> => {
    const keys = await runs.takeDue(perTransaction, holdMs)
    if (keys.length === 0) return false
    const looks = keys.map(key => new Look(key, undefined, freezer))
    await decideAll(looks)
    // Most pipelines were started by nobody else. Of the others the family must be known first.
    const children: Look[] = []
    for (const { key, parent } of looks) {
      if (parent !== undefined) children.push(new Look(key, await chainOf(key, parent, runs), freezer))
    }
    if (children.length > 0) await decideAll(children)
    return true
  }
  const loop = createLoop({
    name: 'settler',
    clock,
    log,
    turn: async () => {
      if (await settleDue()) return 0
      return Math.min(longestPause, Math.max(1, (await runs.dueIn()) ?? longestPause))
    },
  })
  return {
    ...loop,
    drain: async () => {
      while (await settleDue());
    },
  }
}

/** One look at a run that is due. `chain`: its ancestors as far as they are known; undefined while nobody has looked them up. */
class Look {
  readonly key: RunKey
  readonly #chain: readonly Ancestor[] | undefined
  readonly #freezer: Freezer
  /** What was done; empty when nothing was owed yet. */
  did: readonly Frozen[] = []
  /** Set when nothing was decided, because this run's family must be looked up first. */
  parent: ParentKey | undefined

  constructor(key: RunKey, chain: readonly Ancestor[] | undefined, freezer: Freezer) {
    this.key = key
    this.#chain = chain
    this.#freezer = freezer
  }

  work(): RunWork {
    return { key: this.key, jobs: 'all', decide: (known, now) => this.#decide(known, now) }
  }

  /** May be asked again: a transaction that fails is tried anew. */
  #decide(known: StoredRun | undefined, now: Millis): RunChange | undefined {
    this.did = []
    this.parent = undefined
    if (known === undefined) return undefined
    const decision = this.#freezer.decide(known, this.#chain, now)
    if ('parent' in decision) {
      this.parent = decision.parent
      return undefined
    }
    this.did = decision.did
    return decision.change
  }
}

/** Follows the chain of parents as far as the store knows it. */
async function chainOf(key: RunKey, first: ParentKey, runs: Runs): Promise<Ancestor[]> {
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
