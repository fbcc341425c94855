// The functions that all kinds of polling share: they send and count requests, track the platform's clock, and store discovered pipelines.
import { discover, isHistory, type DiscoveryRules } from './discovered-run.ts'
import type { EnrichmentPriority } from '../store/ports/enrichment-queue.ts'
import {
  PlatformError,
  type CallOptions,
  type ListedPipeline,
  type PlatformClient,
  type Priority,
} from '../../platform/port.ts'
import { remember } from '../../lib/bounded-map.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import { isOfTheData, reasonOf } from '../../lib/fault.ts'
import { knownOf } from '../../model/versioned.ts'
import type { Log } from '../../lib/log.ts'
import type { Runs, RunWork, SourceName, StoredRun } from '../store/ports/runs.ts'
import type { Selection } from '../take-in/selection.ts'

export interface PollContextOptions {
  readonly client: PlatformClient
  readonly runs: Runs
  readonly selection: Pick<Selection, 'project'>
  readonly rules: DiscoveryRules
  readonly source: SourceName & ('poller' | 'backfill')
  readonly signal: AbortSignal
  readonly clock: Clock
  /** The log; undefined in a command, because only the daemon has one. */
  readonly log?: Log | undefined
}

export interface PollContext {
  readonly client: PlatformClient
  readonly call: CallOptions
  /** Returns the number of requests sent so far. */
  readonly requests: () => number
  /** Returns the time on the platform's clock, in Unix ms, as derived from its last response. */
  readonly now: () => Millis
  /** Records the platform's time from a response. */
  readonly observeTime: (servedAt: Millis | undefined) => void
  /** Stores the pipelines about which the list contains new facts, and returns their number. */
  readonly discover: (items: readonly ListedPipeline[], project?: ProjectFacts) => Promise<number>
}

/** The maximum number of projects whose facts are cached. */
const maxProjects = 10_000

/**
 * The maximum delay in ms before a change appears in a list. Therefore each read of a list begins this long before the last change that the previous
 * read has seen.
 */
export const overlap = 120_000

export function createPollContext(options: PollContextOptions): PollContext {
  const { client, runs, selection, rules, source, signal, clock, log } = options
  let requests = 0
  /** The number of ms by which the platform's clock is ahead of our monotonic clock; undefined until the first response. */
  let ahead: number | undefined
  const priority: Priority = source === 'backfill' ? 'backfill' : 'poll'
  const named = new Set<number>()
  const projects = new Map<number, ProjectFacts>()

  /** If the stored run of one pipeline is damaged, the other pipelines must not be delayed. */
  async function write(work: readonly RunWork[]): Promise<void> {
    try {
      await runs.transact(work)
    } catch (error) {
      if (!isOfTheData(error)) throw error
      for (const one of work) await writeAlone(one)
    }
  }

  async function writeAlone(work: RunWork): Promise<void> {
    try {
      await runs.transact([work])
    } catch (error) {
      if (!isOfTheData(error)) throw error
      const { key } = work
      if (!named.has(key.pipelineId))
        log?.error({ ...key, reason: reasonOf(error) }, 'a discovered pipeline cannot be stored')
      named.add(key.pipelineId)
    }
  }

  /**
   * Adds the default branch, which pipeline lists lack, to the facts of a project. Without it no branch would count as the default branch. The
   * project is requested only once.
   */
  async function completed(facts: ProjectFacts): Promise<ProjectFacts> {
    if (facts.defaultBranch !== undefined) remember(projects, facts.id, facts, maxProjects)
    const known = projects.get(facts.id)
    if (known !== undefined) return { ...facts, ...known }
    const found = await factsOf(facts)
    if (found !== undefined) remember(projects, facts.id, found, maxProjects)
    return found ?? facts
  }

  /**
   * Requests the facts of a project. Returns undefined after a transient error: the project's pipelines are then stored without these facts, which are
   * requested again with the next pipeline.
   */
  async function factsOf(facts: ProjectFacts): Promise<ProjectFacts | undefined> {
    try {
      const { id, name, path, webUrl, defaultBranch } = await client.project(facts.id, call)
      return { ...facts, ...knownOf({ id, name, path, webUrl, defaultBranch }) }
    } catch (error) {
      if (!(error instanceof PlatformError) || error.kind === 'limited') throw error
      // A token may have permission to read the pipelines of a project, but not the project itself.
      return error.passing || error.kind === 'unauthorized' ? undefined : facts
    }
  }

  const call: CallOptions = {
    priority,
    signal,
    onSend: () => {
      requests += 1
    },
  }

  const now = (): Millis => (ahead === undefined ? clock.now() : elapsed(clock) + ahead)

  return {
    client,
    call,
    requests: () => requests,
    now,
    observeTime: servedAt => {
      if (servedAt !== undefined) ahead = servedAt - elapsed(clock)
    },
    discover: async (items, project) => {
      const { instance } = client
      const found = new Set<number>()
      const work: RunWork[] = []
      for (const item of items) {
        const listed = { ...item.project, ...project }
        // The selection may exclude a project by its path. If the list has no URL, the path must be read from the project itself.
        const early = listed.path === undefined ? await completed(listed) : listed
        if (!selection.project(early.path, instance)) continue
        const facts = await completed(early)
        const priorityOf = (known: StoredRun | undefined): EnrichmentPriority =>
          source === 'backfill' || isHistory(item, known, now()) ? 'backfill' : 'fresh'
        work.push(discover({ instance, item, project: facts }, source, priorityOf, rules, () => found.add(item.id)))
      }
      if (work.length > 0) await write(work)
      return found.size
    },
  }
}
