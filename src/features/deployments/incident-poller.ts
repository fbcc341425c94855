// Polls the platform for changed incidents, in case a webhook was lost. One replica does this, under a lease; the cursor is in the store. Each round
// begins a few minutes before the last change. Reading an incident twice does no harm.
import { createRounds, type RoundsOptions } from '../../core/find/rounds.ts'
import { documentKind, type Repository } from '../../core/store/ports/repository.ts'
import { incidentLookback } from './model/incident.ts'
import { maxPages } from '../../core/find/limits.ts'
import type { CallOptions, ListedIncident, PlatformClient } from '../../platform/port.ts'
import type { Loop } from '../../lib/loop.ts'
import type { Millis } from '../../model/instant.ts'
import { z } from 'zod'

/** `at`: the `updated_at` of the last incident that was read, on the platform's clock. */
const incidentCursor = z.object({ instance: z.string(), at: z.number() })
/** The incident poller's cursors: the last change that was read with each token. */
export const incidentCursors = documentKind('incidents/cursor', incidentCursor, ['instance'])

export interface IncidentPollerOptions extends RoundsOptions {
  /** The key of the poller's cursor; by default, the URL of the instance. */
  readonly scope?: string | undefined
  readonly client: Pick<PlatformClient, 'instance' | 'incidents'>
  readonly cursors: Repository<z.infer<typeof incidentCursor>, 'instance'>
  /** Stores the incidents. Resolves once they are stored. */
  readonly take: (incidents: readonly ListedIncident[]) => Promise<void>
  /** Interval between polling rounds, ms. */
  readonly interval: number
}

export interface IncidentPoller extends Loop {
  readonly counters: Readonly<{ incidentRequests: number }>
  /** Reads all incidents that have changed, even without holding the lease. */
  round(): Promise<void>
}

/** Maximum delay before a change appears in the platform's list, ms. */
const overlap = 300_000

export function createIncidentPoller(options: IncidentPollerOptions): IncidentPoller {
  const { client, cursors, clock } = options
  const instance = options.scope ?? client.instance
  const interval = Math.max(1_000, options.interval)
  const counters = { incidentRequests: 0 }
  const rounds = createRounds(options)
  const { signal } = rounds
  const call: CallOptions = { priority: 'poll', signal, onSend: () => void (counters.incidentRequests += 1) }

  async function read(): Promise<void> {
    const known = await cursors.get({ instance })
    let at = known === undefined ? clock.now() - incidentLookback : known.at - overlap
    for (let page = 0; page < maxPages; page++) {
      const { newest, isAll } = await readFrom(at)
      if (newest > (known?.at ?? -Infinity)) await cursors.put({ instance, at: newest })
      if (isAll || !(await rounds.isMine())) return
      at = newest
    }
  }

  /**
   * Reads all incidents that have changed since `at`. A change moves an incident to the end of the list, so the next page might skip one. Therefore
   * each request starts a new list at the last change read. Only incidents that changed at the same instant are read page by page.
   */
  async function readFrom(at: Millis): Promise<{ readonly newest: Millis; readonly isAll: boolean }> {
    let newest = at
    for await (const page of client.incidents({ updatedAfter: at }, call)) {
      await options.take(page.items)
      newest = Math.max(newest, ...page.items.map(one => one.at))
      if (page.next !== undefined && newest > at) return { newest, isAll: false }
    }
    return { newest, isAll: true }
  }

  async function round(): Promise<void> {
    await rounds.try('incidents', read)
  }

  const pauses = { every: interval, retry: Math.min(interval, 10_000) }
  return { ...rounds.loop(pauses, round), counters, round }
}
