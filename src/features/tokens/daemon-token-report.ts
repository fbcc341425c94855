// Reports the fingerprints of the ingest tokens that this daemon uses in the store, so that a rotation knows when it may revoke older ones.
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import { createLoop, type Loop } from '../../lib/loop.ts'
import { fingerprintOf, type Secret } from '../../lib/secret.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { DaemonReport } from './documents.ts'
import type { Repository } from '../../core/store/ports/repository.ts'

/** A report that is older than this belongs to a daemon that no longer runs, ms. */
export const reportLife = 30_000
/** Reports of killed daemons are removed after this time, ms. */
const retention = 86_400_000
/** Interval at which the tokens are checked, ms. It is short because rotations wait for the report. */
const checkInterval = 1_000
/** Interval at which an unchanged report is renewed, ms. */
const reportInterval = 10_000

export interface TokenReportOptions {
  readonly reports: Repository<DaemonReport, 'daemon'>
  /** The current tokens, one for each destination that has one. */
  readonly tokens: () => readonly Secret[]
  readonly clock: Clock
  readonly log: Log
}

/** Makes the loop that reports. `stop` removes the report. A daemon without a token reports nothing, because a revocation does not affect it. */
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
