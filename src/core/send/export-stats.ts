// The counters and recent events of an export queue, for the pages and the metrics.
import { sentenceOf } from './verdict.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ExportQueue } from '../store/ports/outbox.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Sent } from './sender.ts'
import type { Verdict } from './verdict.ts'

/** Counters of outbox entries since start. Only `partiallyRejected` counts spans, points or records. */
export interface ExportCounters {
  delivered: number
  /**
   * The number of entries that are sent again because they got no response, or because the process that leased them was killed. They keep their ids.
   * The backend may or may not have received them.
   */
  repeated: number
  /** The number of entries that became dead letters. */
  rejected: number
  /** The number of times that entries were postponed. */
  later: number
  /** The number of items that a backend rejected in accepted requests (partial success). */
  partiallyRejected: number
  /** The number of entries that could not be settled, because another process had leased them by then. */
  lost: number
}

/** The daemon's own metrics about export requests. */
export interface ExportMeters {
  /** Records that one request has ended, with or without a response. `bytes` is the size before compression. */
  requested(queue: ExportQueue, request: { as: Verdict['as']; tookMs: number; items: number; bytes: number }): void
}

export interface LastError {
  /** The error message of the backend. */
  readonly message: string
  readonly status?: number | undefined
  readonly at: Millis
}

export interface ExportStats {
  readonly counters: Readonly<ExportCounters>
  readonly lastError: LastError | undefined
  readonly lastSuccess: Millis | undefined
  count(what: keyof ExportCounters, by: number): void
  answered(sent: Sent, items: number, bytes: number): void
}

export function createExportStats(
  queue: ExportQueue,
  clock: Clock,
  log: Log,
  meters: ExportMeters | undefined,
): ExportStats {
  const counters: ExportCounters = { delivered: 0, repeated: 0, rejected: 0, later: 0, partiallyRejected: 0, lost: 0 }
  let lastError: LastError | undefined
  let lastSuccess: Millis | undefined
  let lastWarning: string | undefined

  function count(what: keyof ExportCounters, by: number): void {
    counters[what] += by
  }

  return {
    counters,
    count,
    get lastError() {
      return lastError
    },
    get lastSuccess() {
      return lastSuccess
    },
    answered: ({ verdict, tookMs }, items, bytes) => {
      const at = clock.now()
      meters?.requested(queue, { as: verdict.as, tookMs, items, bytes })
      if (verdict.as !== 'delivered') {
        lastError = { message: verdict.message, status: 'status' in verdict ? verdict.status : undefined, at }
        if (verdict.as === 'later' && verdict.outcomeUnknown) count('repeated', items)
        return
      }
      lastSuccess = at
      count('partiallyRejected', verdict.rejected)
      const message = verdict.message ?? (verdict.rejected > 0 ? 'no reason given' : undefined)
      if (message === undefined) return
      lastError = { message, at }
      // Backends repeat a warning in every response, so it is logged only once.
      if (message !== lastWarning) {
        const reason = sentenceOf({ message })
        log.warn({ rejected: verdict.rejected, reason }, 'the backend accepted exports with a message')
      }
      lastWarning = message
    },
  }
}
