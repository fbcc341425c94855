// What all kinds of polling share: how requests are made and counted, the platform's clock, how discovered pipelines are stored.
import { discover, isHistory, type DiscoveryRules } from './discovered-run.ts'
import type { EnrichmentPriority } from '../store/ports/enrichment-queue.ts'
import type { CallOptions, ListedPipeline, PlatformClient, Priority } from '../platform/port.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Millis } from '../model/instant.ts'
import type { ProjectFacts } from '../model/observation.ts'
import { isOfTheData, reasonOf } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'
import type { Runs, RunWork, SourceName, StoredRun } from '../store/ports/runs.ts'
import type { Selection } from '../processing/selection.ts'

export interface PollContextOptions {
  readonly client: PlatformClient
  readonly runs: Runs
  readonly selection: Selection
  readonly rules: DiscoveryRules
  readonly source: SourceName & ('poller' | 'backfill')
  readonly signal: AbortSignal
  readonly clock: Clock
  /** A command has none. */
  readonly log?: Log | undefined
}

export interface PollContext {
  readonly client: PlatformClient
  readonly call: CallOptions
  /** Requests made since start. */
  readonly requests: () => number
  /** Unix ms on the platform's clock, as its last answer showed it. */
  readonly now: () => Millis
  /** Called with the time of an answer. */
  readonly observeTime: (servedAt: Millis | undefined) => void
  /** Stores the pipelines that show something new; answers how many do. */
  readonly discover: (items: readonly ListedPipeline[], project?: ProjectFacts) => Promise<number>
}

/** How late a change may appear in a list, ms: so much of a list is read again. */
export const overlap = 120_000

export function createPollContext(options: PollContextOptions): PollContext {
  const { client, runs, selection, rules, source, signal, clock, log } = options
  let requests = 0
  /** The platform's clock minus our monotonic clock, ms; undefined until the first answer. */
  let ahead: number | undefined
  const priority: Priority = source === 'backfill' ? 'backfill' : 'poll'
  const named = new Set<number>()

  /** A pipeline whose stored run is damaged must not hold up the others. */
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

  const now = (): Millis => (ahead === undefined ? clock.now() : elapsed(clock) + ahead)

  return {
    client,
    call: {
      priority,
      signal,
      onSend: () => {
        requests += 1
      },
    },
    requests: () => requests,
    now,
    observeTime: servedAt => {
      if (servedAt !== undefined) ahead = servedAt - elapsed(clock)
    },
    discover: async (items, project) => {
      const { instance } = client
      const found = new Set<number>()
      const work = items.flatMap(item => {
        const facts = { ...item.project, ...project }
        if (!selection.project(facts.path)) return []
        const priorityOf = (known: StoredRun | undefined): EnrichmentPriority =>
          source === 'backfill' || isHistory(item, known, now()) ? 'backfill' : 'fresh'
        return [discover({ instance, item, project: facts }, source, priorityOf, rules, () => found.add(item.id))]
      })
      if (work.length > 0) await write(work)
      return found.size
    },
  }
}
