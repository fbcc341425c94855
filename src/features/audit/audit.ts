// Polls the platform's audit events for the instance, or for groups and projects. One replica does this, under a lease; the cursor is in the store.
// Each round begins a few minutes before the newest event, because an event may appear in the list later than its timestamp suggests.
//
//   cursor ─► window of at most 30 days ─► pages ─► events, each once ─► cursor            (repeated until the window ends now)
import { createRounds, type RoundsOptions } from '../../core/find/rounds.ts'
import { auditEvents, isInForce } from '../../core/store/ports/discovery-documents.ts'
import {
  lastMinutes,
  maxWindow,
  nameOfSource,
  newestOf,
  overlap,
  readWindow,
  type AuditReading,
} from './audit-window.ts'
import { auditCursors, type AuditCursor, type AuditWindow } from './documents.ts'
import type { CallOptions, PlatformClient, PlatformError } from '../../platform/port.ts'
import type { Loop } from '../../lib/loop.ts'
import type { Millis } from '../../model/instant.ts'
import type { Repositories } from '../../core/store/ports/repository.ts'

export interface AuditOptions extends RoundsOptions {
  readonly client: Pick<PlatformClient, 'instance' | 'auditEvents'>
  readonly repositories: Pick<Repositories, 'of' | 'refusedEndpoints'>
  /** The sources of audit events: `instance`, or groups and projects (`project:…`). */
  readonly sources: readonly string[]
  readonly take: AuditReading['take']
  /** True while the store is full and accepts no more events. */
  readonly isFull: () => Promise<boolean>
  /** Interval between polling rounds, ms. */
  readonly interval: number
  /** The age of the oldest events that the first round reads, ms. */
  readonly lookback: number
}

export interface AuditCounters {
  rounds: number
  requests: number
  /** Number of events read that were not known before. */
  read: number
}

export interface AuditPoller extends Loop {
  readonly counters: Readonly<AuditCounters>
  /** Reads all sources once, even without holding the lease. */
  round(): Promise<void>
}

/** The time by which the cursor trails the platform's clock if there are no new events, ms. It keeps the next window short. */
const idle = 3_600_000

export function createAuditPoller(options: AuditOptions): AuditPoller {
  const { client, sources, clock } = options
  const { refusedEndpoints: refusals } = options.repositories
  const cursors = options.repositories.of(auditCursors)
  const { instance } = client
  const interval = Math.max(1_000, options.interval)
  const counters: AuditCounters = { rounds: 0, requests: 0, read: 0 }
  const rounds = createRounds(options)
  const { signal } = rounds
  const call: CallOptions = { priority: 'poll', signal, onSend: () => void (counters.requests += 1) }
  /**
   * The sources requested since the daemon started. A source that was rejected before a restart is requested again after it, because the operator may
   * have fixed the permission.
   */
  const asked = new Set<string>()

  async function read(source: string): Promise<void> {
    const known = await cursors.get({ instance, source })
    const first = clock.now() - options.lookback
    let cursor: AuditCursor = known ?? { instance, source, since: first, at: first, id: 0, recent: [] }
    const take: AuditReading['take'] = async items => {
      await options.take(items)
      counters.read += items.length
    }
    for (;;) {
      const began = cursor
      const ids = new Set(began.recent.map(([id]) => id))
      const window = await readWindow(
        began.reading ?? nextWindow(began, clock.now()),
        { client, source, call, take },
        {
          isKnown: id => ids.has(id),
          save: async reading => {
            await put({ ...began, reading })
            return !signal.aborted && (await rounds.isMine()) && !(await options.isFull())
          },
        },
      )
      if (window === undefined || window.next !== undefined) return
      cursor = afterWindow(began, window, options.lookback)
      await put(cursor)
      if (window.until === undefined) return
    }
  }

  /** Saves the cursor, but keeps `since` if a backfill has moved it back in the meantime. */
  async function put(cursor: AuditCursor): Promise<void> {
    await cursors.change({ instance, source: cursor.source }, (known, readAt) => ({
      document: { ...cursor, since: Math.min(cursor.since, known?.since ?? Infinity), readAt },
      result: undefined,
    }))
  }

  async function mayAsk(source: string): Promise<boolean> {
    if (!asked.has(source)) return true
    const refused = await refusals.get(refusalOf(source))
    return refused === undefined || !isInForce(refused, await refusals.now())
  }

  function refusalOf(source: string): { instance: string; what: string; project: number } {
    return { instance, what: `${auditEvents} of ${nameOfSource(source)}`, project: 0 }
  }

  async function refused(source: string, { kind, status, message }: PlatformError): Promise<void> {
    if (kind !== 'forbidden' && kind !== 'not-found') return
    await refusals.change(refusalOf(source), (known, since) => ({
      document: {
        ...refusalOf(source),
        path: nameOfSource(source),
        ...(status !== undefined && { status }),
        ...{ message, since, times: (known?.times ?? 0) + 1 },
      },
      result: undefined,
    }))
  }

  async function round(): Promise<void> {
    counters.rounds += 1
    await rounds.each(sources, async source => {
      if (!(await mayAsk(source)) || (await options.isFull())) return 'failed'
      asked.add(source)
      const ask = async (): Promise<void> => {
        await read(source)
        await refusals.remove(refusalOf(source))
      }
      const subject = `audit events of ${nameOfSource(source)}`
      return rounds.try(subject, ask, async error => refused(source, error))
    })
  }

  const pauses = { every: interval, retry: Math.min(interval, 10_000) }
  return { ...rounds.loop(pauses, round), counters, round }
}

/** Returns the next window to read. It ends now, or after at most 30 days. */
function nextWindow({ since, at }: AuditCursor, now: Millis): AuditWindow {
  const from = Math.max(since, at - overlap)
  return { since: from, ...(now - from > maxWindow && { until: from + maxWindow }), recent: [] }
}

/**
 * Returns the cursor after a window was read to its end. All times are the platform's. An event dated in the future does not move the cursor into the
 * future. `lookback` is the length of the period, in ms, that is reread if the platform's clock was set back.
 */
function afterWindow(
  before: AuditCursor,
  { until, newest, recent, servedAt }: AuditWindow,
  lookback: number,
): AuditCursor {
  const marks = [...before.recent, ...recent]
  const ownNow = servedAt ?? Infinity
  const isSetBack = ownNow < before.at - overlap
  const reached = Math.max(Math.min(newest?.[1] ?? -Infinity, ownNow), (servedAt ?? -Infinity) - idle)
  const at = isSetBack ? ownNow - lookback : Math.max(before.at, until ?? reached)
  const { reading: _, ...rest } = before
  return { ...rest, at, id: newestOf(marks)?.[0] ?? before.id, recent: lastMinutes(marks, at) }
}
