// Settles runs that are due: writes their snapshots and outbox entries in one transaction, and in a second one for runs that depend on others.
import { maxGenerations, parentOf, type Ancestor } from '../../model/family.ts'
import type { OtherRuns, Snapshotter, SnapshotStep, ParentKey, Unread } from './take-snapshots.ts'
import type { Millis } from '../../model/instant.ts'
import type { RunChange, Runs, RunWork, StoredRun } from '../store/ports/runs.ts'
import type { RunKey } from '../../model/observation.ts'

/** All of them or none; may be called again. */
export async function settleRuns(keys: readonly RunKey[], runs: Runs, snapshotter: Snapshotter): Promise<void> {
  const due = keys.map(key => new DueRun(key, undefined, snapshotter))
  await decideAll(due, runs, snapshotter)
  // A pipeline that was triggered by another one, or canceled, needs other runs; most pipelines do not.
  const rest: DueRun[] = []
  for (const { key, unread } of due) {
    if (unread === undefined) continue
    const { parent, newer, projectId } = unread
    const chain = parent === undefined ? [] : await chainOf(key, parent, runs)
    rest.push(new DueRun(key, { chain, newer: newer ? await runs.newer(key, projectId) : [] }, snapshotter))
  }
  if (rest.length > 0) await decideAll(rest, runs, snapshotter)
}

/** The maximum of jobs of one transaction, because they are in memory; a larger run is settled alone. */
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

/** One run that is due. `others`: undefined until they are read. */
class DueRun {
  readonly key: RunKey
  readonly #others: OtherRuns | undefined
  readonly #snapshotter: Snapshotter
  /** The steps that were done; empty if no snapshot was due. */
  did: readonly SnapshotStep[] = []
  /** Set when nothing was decided, because other runs must be read first. */
  unread: (Unread & { readonly projectId: number }) | undefined
  /** How many jobs were decided on. */
  jobs = 0
  /** Set when the transaction had enough jobs without it. */
  isLeft = false

  constructor(key: RunKey, others: OtherRuns | undefined, snapshotter: Snapshotter) {
    this.key = key
    this.#others = others
    this.#snapshotter = snapshotter
  }

  /** `jobsSoFar`: of all runs of the transaction. */
  work(jobsSoFar: () => number): RunWork {
    return { key: this.key, jobs: 'all', decide: (known, now) => this.#decide(known, now, jobsSoFar) }
  }

  /** Called again if the transaction is retried. */
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

/** The parents of a run, as far as the store knows them. */
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
