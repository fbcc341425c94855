// Finds the parents of a triggered pipeline up to the root, first in the store and then on the platform. A parent is never guessed.
// A webhook names the parent of a pipeline. The REST API does not, but the bridges of a parent name the pipelines that they triggered. The bridges of
// finished runs are known, so only the bridges of active runs are fetched, starting with the runs that are closest in time to the triggered pipeline.
import { remember } from '../../lib/bounded-map.ts'
import { isTriggered, maxGenerations, withParent } from '../../model/family.ts'
import { PlatformError, type AskedPipeline, type CallOptions, type PlatformClient } from '../../platform/port.ts'
import { mergeObservations, type MergeRules } from '../take-in/merge-observations.ts'
import type { EnrichmentQueue, Trigger } from '../store/ports/enrichment-queue.ts'
import type { Millis } from '../../model/instant.ts'
import type { Observation, RunKey } from '../../model/observation.ts'
import type { RunHead } from '../../model/run.ts'
import type { Runs, RunWork } from '../store/ports/runs.ts'
import type { Selection } from '../take-in/selection.ts'

export interface ParentsOptions {
  readonly client: Pick<PlatformClient, 'about'>
  readonly runs: Runs
  readonly queue: EnrichmentQueue
  readonly rules: MergeRules
  readonly selection: Selection
  /** Returns the time on the store's clock, which also determines when a run was first seen. */
  readonly storeNow: () => Promise<Millis>
}

export interface Found {
  /** Whether the search for the parent is complete. If false, the parent may be found later. */
  readonly known: boolean
  /** The pipeline that triggered the run, if the run's own observations do not name it. */
  readonly parent?: Trigger | undefined
}

/** Stores the ancestors of a run up to the root, as far as they can be found. `seenAt` is the time at which the run was first seen. */
export type FindParents = (run: RunHead, seenAt: number, call: CallOptions) => Promise<Found>

/** The maximum number of active runs whose bridges are fetched in one search. */
const maxAsked = 10
const hidden: ReadonlySet<string> = new Set(['not-found', 'forbidden'])
/** The maximum number of entries in `askedAt`. The oldest entry is evicted first. */
const capacity = 2_000

export function createFindParents(options: ParentsOptions): FindParents {
  const { client, runs, queue, rules, selection, storeNow } = options
  /**
   * When the bridges of a run were last fetched, on the store's clock. If a pipeline was first seen before that time, and the bridges did not list
   * it, the run is not its parent.
   */
  const askedAt = new Map<string, number>()

  async function find(run: RunHead, seenAt: number, call: CallOptions): Promise<Found> {
    let parent: Trigger | undefined
    try {
      return await climb()
    } catch (error) {
      // The token has no permission to read the parent, so the search for further ancestors ends there.
      if (error instanceof PlatformError && hidden.has(error.kind)) return { known: true, parent }
      throw error
    }

    async function climb(): Promise<Found> {
      let child = run
      let since = seenAt
      for (let generation = 0; generation < maxGenerations && isTriggered(child); generation++) {
        const found = (await reportedBy(child)) ?? (await searched(child, since, call))
        if (found === undefined) return { known: false, parent }
        if (generation === 0) parent = found
        else await runs.transact([setParent(child.key, found)])
        if (!(await isEnough(child, found, call))) break
        const next = await runs.get({ instance: run.key.instance, pipelineId: found.pipelineId })
        if (next === undefined) break
        child = next.run
        since = Math.min(next.timing.changedAt, ...Object.values(next.firstSeenBy))
      }
      return { known: true, parent }
    }
  }

  /** Returns the trigger of the run as reported by a webhook or by the jobs of a stored run. */
  async function reportedBy(run: RunHead): Promise<Trigger | undefined> {
    const reported = run.pipeline?.record.facts.sourcePipeline
    if (reported?.jobId === undefined) return queue.triggerOf(run.key)
    const { pipelineId, jobId, projectId } = reported
    return { pipelineId, jobId, projectId: projectId ?? run.project.facts.id }
  }

  async function searched(run: RunHead, seenAt: number, call: CallOptions): Promise<Trigger | undefined> {
    const facts = run.pipeline?.record.facts
    const named = facts?.sourcePipeline
    const sameProject = facts?.source === 'parent_pipeline' ? run.project.facts.id : undefined
    const candidates =
      named?.projectId === undefined
        ? await queue.candidates(run.key, sameProject, maxAsked)
        : [{ key: { ...run.key, pipelineId: named.pipelineId }, projectId: named.projectId }]
    for (const { key, projectId } of candidates) {
      if ((askedAt.get(nameOf(key)) ?? -1) > seenAt) continue
      await askBridges(key, projectId, call).catch((error: unknown) => {
        if (!(error instanceof PlatformError && hidden.has(error.kind))) throw error
      })
      const trigger = await queue.triggerOf(run.key)
      if (trigger !== undefined) return trigger
    }
    return undefined
  }

  async function asked(
    part: 'pipeline' | 'jobs' | 'bridges',
    pipeline: AskedPipeline,
    call: CallOptions,
  ): Promise<Observation> {
    const answers = client.about(pipeline)
    await answers.ask(part, call)
    return answers.observation()
  }

  async function askBridges(key: RunKey, projectId: number, call: CallOptions): Promise<void> {
    remember(askedAt, nameOf(key), await storeNow(), capacity)
    await merge(await asked('bridges', { pipelineId: key.pipelineId, project: { id: projectId } }, call))
  }

  /** Fetches and stores the parent if the root cannot be found without it. Returns false if no further ancestors need to be fetched. */
  async function isEnough(run: RunHead, parent: Trigger, call: CallOptions): Promise<boolean> {
    const key = { instance: run.key.instance, pipelineId: parent.pipelineId }
    const known = await runs.ancestor(key, parent.jobId)
    if (known?.head.attempts[0] !== undefined) return false
    const root = run.pipeline?.record.facts.rootPipelineId
    // If a webhook names the parent as the root, the parent may only be the root within its own project: a pipeline of another project may have
    // triggered the parent.
    if (known?.head.pipeline === undefined && (root === undefined || root === parent.pipelineId)) {
      const project = { ...known?.head.project.facts, id: parent.projectId }
      const reported = await asked('pipeline', { pipelineId: parent.pipelineId, project }, call)
      if (!selection.project(reported.project.path, reported.key.instance)) return false
      await merge(reported)
    }
    if (known?.trigger === undefined) await findTrigger(run, key, parent, call)
    return true
  }

  /**
   * Finds out which bridge or job of the parent triggered the run. A child pipeline is always triggered by a bridge, but a pipeline of another project
   * may also be triggered by a job, whose span ID differs from a bridge's.
   */
  async function findTrigger(run: RunHead, key: RunKey, parent: Trigger, call: CallOptions): Promise<void> {
    const { projectId, jobId } = parent
    const facts = run.pipeline?.record.facts
    const isBridge = facts?.source === 'parent_pipeline' || facts?.sourcePipeline?.bridgesAreListed === true
    if (isBridge || askedAt.has(nameOf(key))) return
    await askBridges(key, projectId, call)
    if ((await runs.ancestor(key, jobId))?.trigger !== undefined) return
    await merge(await asked('jobs', { pipelineId: key.pipelineId, project: { id: projectId } }, call))
  }

  async function merge(observation: Observation): Promise<void> {
    await runs.transact(mergeObservations([observation], undefined, rules))
  }

  return find
}

function setParent(key: RunKey, trigger: Trigger): RunWork {
  return {
    key,
    jobs: [],
    decide: known => known && { run: withParent(known.run, trigger), timing: known.timing },
  }
}

function nameOf({ instance, pipelineId }: RunKey): string {
  return `${instance}\n${pipelineId}`
}
