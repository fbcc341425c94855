// Looks at runs that are due, and has frozen what has settled, with what is then owed: one transaction, and one more for runs whose
// family must be looked up first.
import { maxGenerations, parentOf, type Ancestor } from '../model/family.ts'
import type { Freezer, Frozen, ParentKey } from './take-snapshots.ts'
import type { Millis } from '../model/instant.ts'
import type { RunChange, Runs, RunWork, StoredRun } from '../store/ports/runs.ts'
import type { RunKey } from '../model/observation.ts'

/** All of them or none; may be asked again. */
export async function settleRuns(keys: readonly RunKey[], runs: Runs, freezer: Freezer): Promise<void> {
  const looks = keys.map(key => new Look(key, undefined, freezer))
  await decideAll(looks, runs, freezer)
  // Most pipelines were started by nobody else. Of the others the family must be known first.
  const children: Look[] = []
  for (const { key, parent } of looks) {
    if (parent !== undefined) children.push(new Look(key, await chainOf(key, parent, runs), freezer))
  }
  if (children.length > 0) await decideAll(children, runs, freezer)
}

async function decideAll(looks: readonly Look[], runs: Runs, freezer: Freezer): Promise<void> {
  await runs.transact(looks.map(look => look.work()))
  freezer.committed(looks.flatMap(look => look.did))
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
