// Stores the fingerprints of the ingest tokens that this daemon uses. A rotation reads them to decide when it may revoke older tokens.
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import { createLoop, type Loop } from '../../lib/loop.ts'
import { fingerprintOf, type Secret } from '../../lib/secret.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { DaemonReport } from './documents.ts'
import type { Repository } from '../../core/store/ports/repository.ts'

/** The maximum age of a running daemon's report, ms. An older report belongs to a daemon that is no longer running. */
export const maxReportAgeMs = 30_000
/** The age at which reports of killed daemons are deleted, ms. */
const retention = 86_400_000
/**
 * The interval at which the daemon checks its tokens for changes, ms. It is short, because a rotation waits until every daemon has reported the new
 * token.
 */
const checkInterval = 1_000
/** The interval at which an unchanged report is renewed, ms. */
const reportInterval = 10_000

export interface TokenReportOptions {
  readonly reports: Repository<DaemonReport, 'daemon'>
  /** Returns the current tokens, one for each destination that has one. */
  readonly tokens: () => readonly Secret[]
  readonly clock: Clock
  readonly log: Log
}

/**
 * Returns the loop that writes the report. `stop` deletes the report. A daemon without a token writes none, because a revocation does not affect it.
 */
export function createTokenReport({ reports, tokens, clock, log }: TokenReportOptions): Loop {
  const daemon = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`
  let reported: string | undefined
  let reportedAt = -Infinity
  let hasPruned = false
  const loop = createLoop({
    name: 'token report',
    clock,
    log,
    turn: async () => {
      if (!hasPruned) await reports.prune(({ at }, now) => now - at > retention)
      hasPruned = true
      const fingerprints = [...new Set(tokens().map(fingerprintOf))]
      const current = fingerprints.join()
      if (current !== reported || elapsed(clock) - reportedAt >= reportInterval) {
        await reports.change({ daemon }, (_, at) => ({
          document: fingerprints.length === 0 ? undefined : { daemon, fingerprints, at },
          result: undefined,
        }))
        reported = current
        reportedAt = elapsed(clock)
      }
      return checkInterval
    },
  })
  return {
    ...loop,
    stop: async () => {
      await loop.stop()
      await reports.remove({ daemon })
    },
  }
}
