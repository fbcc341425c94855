// What a lane counts and remembers for status pages, and who else is told.
import { sentenceOf } from './verdict.ts'
import type { Clock } from '../lib/clock.ts'
import type { ExportQueue } from '../store/ports/outbox.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Sent } from './sender.ts'
import type { Verdict } from './verdict.ts'

/** Items since start, but for `partiallyRejected`, which are spans, points or records. */
export interface LaneCounters {
  delivered: number
  /** Sent without knowing whether the backend took them: they are sent again with the same ids. */
  repeated: number
  /** Dead letters. */
  rejected: number
  /** Put off, once for each time. */
  later: number
  /** Refused within an accepted request. */
  partiallyRejected: number
  /** Their lease had been lost when they were settled. */
  lost: number
}

/** Where self telemetry is attached. */
export interface ExportMeters {
  counted(lane: ExportQueue, what: keyof LaneCounters, by: number): void
  /** One batch was answered, or was not. `bytes`: before compression. */
  requested(lane: ExportQueue, request: { as: Verdict['as']; tookMs: number; items: number; bytes: number }): void
}

export interface LastError {
  /** The backend's own. */
  readonly words: string
  readonly status?: number | undefined
  readonly at: Millis
}

export interface Ledger {
  readonly counters: Readonly<LaneCounters>
  readonly lastError: LastError | undefined
  readonly lastSuccess: Millis | undefined
  count(what: keyof LaneCounters, by: number): void
  answered(sent: Sent, items: number, bytes: number): void
}

export function createLedger(lane: ExportQueue, clock: Clock, log: Log, meters: ExportMeters | undefined): Ledger {
  const counters: LaneCounters = { delivered: 0, repeated: 0, rejected: 0, later: 0, partiallyRejected: 0, lost: 0 }
  let lastError: LastError | undefined
  let lastSuccess: Millis | undefined
  let lastWarning: string | undefined

  function count(what: keyof LaneCounters, by: number): void {
    if (by === 0) return
    counters[what] += by
    meters?.counted(lane, what, by)
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
      meters?.requested(lane, { as: verdict.as, tookMs, items, bytes })
      if (verdict.as !== 'delivered') {
        lastError = { words: verdict.words, status: 'status' in verdict ? verdict.status : undefined, at }
        if (verdict.as === 'later' && verdict.outcomeUnknown) count('repeated', items)
        return
      }
      lastSuccess = at
      count('partiallyRejected', verdict.rejected)
      const words = verdict.words ?? (verdict.rejected > 0 ? 'no reason given' : undefined)
      if (words === undefined) return
      lastError = { words, at }
      // A backend that grumbles does so with every request: once is enough.
      if (words !== lastWarning) {
        const reason = sentenceOf({ words })
        log.warn({ rejected: verdict.rejected, reason }, 'the backend accepted exports with a remark')
      }
      lastWarning = words
    },
  }
}
