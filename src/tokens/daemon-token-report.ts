// Reports in the store which ingest tokens this daemon uses, by fingerprint, so that a rotation knows when it may revoke older ones.
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import { createLoop, type Loop } from '../lib/loop.ts'
import { fingerprintOf } from './fingerprint.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { Secret } from '../lib/secret.ts'

/** A daemon that has not reported for this long no longer runs, ms. */
export const reportLife = 30_000
/** Reports of killed daemons are removed after this time, ms. */
const leftBehind = 86_400_000
/** How often the tokens are checked, because rotations wait for it; and how often the report is renewed, ms. */
const lookEvery = 1_000
const reportEvery = 10_000

export interface TokenReportOptions {
  readonly reports: Repositories['daemonReports']
  /** The current tokens, one for each destination that has one. */
  readonly tokens: () => readonly Secret[]
  readonly clock: Clock
  readonly log: Log
}

/** `stop` removes the report. Without a token nothing is reported, because nothing of this daemon could be revoked. */
export function createTokenReport({ reports, tokens, clock, log }: TokenReportOptions): Loop {
  const daemon = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`
  let reported: string | undefined
  let reportedAt = -Infinity
  let hasTidied = false
  const loop = createLoop({
    name: 'token report',
    clock,
    log,
    turn: async () => {
      if (!hasTidied) await reports.prune(({ at }, now) => now - at > leftBehind)
      hasTidied = true
      const fingerprints = [...new Set(tokens().map(fingerprintOf))]
      const current = fingerprints.join()
      if (current !== reported || elapsed(clock) - reportedAt >= reportEvery) {
        await reports.change({ daemon }, (_, at) => ({
          document: fingerprints.length === 0 ? undefined : { daemon, fingerprints, at },
          result: undefined,
        }))
        reported = current
        reportedAt = elapsed(clock)
      }
      return lookEvery
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
