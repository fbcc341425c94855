// Settles due runs: writes their snapshots and outbox entries. Small runs share one transaction. Runs that depend on other runs, and runs with very
// many jobs, follow in further transactions.
import { maxGenerations, parentOf, type Ancestor } from '../../model/family.ts'
import type { OtherRuns, Snapshotter, SnapshotStep, ParentKey, Unread } from './take-snapshots.ts'
import type { Millis } from '../../model/instant.ts'
import type { RunChange, Runs, RunWork, StoredRun } from '../store/ports/runs.ts'
import type { RunKey } from '../../model/observation.ts'

/** Settles the runs. If it throws, some of them may have been settled. It may be called again for all of them. */
export async function settleRuns(keys: readonly RunKey[], runs: Runs, snapshotter: Snapshotter): Promise<void> {
  const due = keys.map(key => new DueRun(key, undefined, snapshotter))
  await decideAll(due, runs, snapshotter)
  // Settling a pipeline that was triggered by another one, or that was canceled, requires reading other runs. Most pipelines need no other runs.
  const rest: DueRun[] = []
  for (const { key, unread } of due) {
    if (unread === undefined) continue
    const { parent, newer, projectId } = unread
    const chain = parent === undefined ? [] : await chainOf(key, parent, runs)
    rest.push(new DueRun(key, { chain, newer: newer ? await runs.newer(key, projectId) : [] }, snapshotter))
  }
  if (rest.length > 0) await decideAll(rest, runs, snapshotter)
}

/**
 * The maximum number of jobs settled in one transaction. It bounds memory, because all of them are in memory at once. A larger run is settled alone.
 */
const maxJobs = 5_000

async function decideAll(due: readonly DueRun[], runs: Runs, snapshotter: Snapshotter): Promise<void> {
  let left = due
  while (left.length > 0) {
    const share = left
    const jobsSoFar = (): number => share.reduce((sum, { jobs }) => sum + jobs, 0)
    await runs.transact(share.map(run => run.work(jobsSoFar)))
    snapshotter.committed(share.flatMap(run => run.did))
    left = share.filter(({ isLeft }) => isLeft)
  }
}

/** One due run. `others` are the runs that it depends on; undefined until they have been read. */
class DueRun {
  readonly key: RunKey
  readonly #others: OtherRuns | undefined
  readonly #snapshotter: Snapshotter
  /** The completed steps of the decision; empty if no snapshot was due. */
  did: readonly SnapshotStep[] = []
  /** The other runs that must be read first; undefined if the decision could be made without them. */
  unread: (Unread & { readonly projectId: number }) | undefined
  /** The number of jobs that the decision on this run loaded. */
  jobs = 0
  /** Whether the run was left out because the transaction already had enough jobs. */
  isLeft = false

  constructor(key: RunKey, others: OtherRuns | undefined, snapshotter: Snapshotter) {
    this.key = key
    this.#others = others
    this.#snapshotter = snapshotter
  }

  /** Returns the unit of work that settles this run. `jobsSoFar` returns the number of jobs of all runs settled in the transaction so far. */
  work(jobsSoFar: () => number): RunWork {
    return { key: this.key, jobs: 'all', decide: (known, now) => this.#decide(known, now, jobsSoFar) }
  }

  /** Decides what to write for the run. Called again if the transaction is retried. */
  #decide(known: StoredRun | undefined, now: Millis, jobsSoFar: () => number): RunChange | undefined {
    this.did = []
    this.unread = undefined
    this.jobs = 0
    this.isLeft = false
    if (known === undefined) return undefined
    const before = jobsSoFar()
    this.isLeft = before > 0 && before + known.run.jobs.size > maxJobs
    if (this.isLeft) return undefined
    this.jobs = known.run.jobs.size
    const decision = this.#snapshotter.decide(known, this.#others, now)
    if ('unread' in decision) {
      this.unread = { ...decision.unread, projectId: known.run.project.facts.id }
      return undefined
    }
    this.did = decision.did
    return decision.change
  }
}

/** Returns the ancestors of a run that are in the store. */
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
