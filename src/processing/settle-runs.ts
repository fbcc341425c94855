// Settles runs that are due: their snapshots and outbox entries are written in one transaction, and in one more for runs whose family
// must be read first.
import { maxGenerations, parentOf, type Ancestor } from '../model/family.ts'
import type { Snapshotter, SnapshotStep, ParentKey } from './take-snapshots.ts'
import type { Millis } from '../model/instant.ts'
import type { RunChange, Runs, RunWork, StoredRun } from '../store/ports/runs.ts'
import type { RunKey } from '../model/observation.ts'

/** All of them or none; may be called again. */
export async function settleRuns(keys: readonly RunKey[], runs: Runs, snapshotter: Snapshotter): Promise<void> {
  const due = keys.map(key => new DueRun(key, undefined, snapshotter))
  await decideAll(due, runs, snapshotter)
  // Most pipelines were not triggered by another one. Of those that were the family must be known first.
  const children: DueRun[] = []
  for (const { key, parent } of due) {
    if (parent !== undefined) children.push(new DueRun(key, await chainOf(key, parent, runs), snapshotter))
  }
  if (children.length > 0) await decideAll(children, runs, snapshotter)
}

async function decideAll(due: readonly DueRun[], runs: Runs, snapshotter: Snapshotter): Promise<void> {
  await runs.transact(due.map(run => run.work()))
  snapshotter.committed(due.flatMap(run => run.did))
}

/** One run that is due. `chain`: its ancestors as far as they are known; undefined while they were not read. */
class DueRun {
  readonly key: RunKey
  readonly #chain: readonly Ancestor[] | undefined
  readonly #snapshotter: Snapshotter
  /** What was done; empty when no snapshot was due yet. */
  did: readonly SnapshotStep[] = []
  /** Set when nothing was decided, because this run's family must be read first. */
  parent: ParentKey | undefined

  constructor(key: RunKey, chain: readonly Ancestor[] | undefined, snapshotter: Snapshotter) {
    this.key = key
    this.#chain = chain
    this.#snapshotter = snapshotter
  }

  work(): RunWork {
    return { key: this.key, jobs: 'all', decide: (known, now) => this.#decide(known, now) }
  }

  /** May be called again: a transaction that fails is tried anew. */
  #decide(known: StoredRun | undefined, now: Millis): RunChange | undefined {
    this.did = []
    this.parent = undefined
    if (known === undefined) return undefined
    const decision = this.#snapshotter.decide(known, this.#chain, now)
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
