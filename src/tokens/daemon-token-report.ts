// Reports in the store which ingest tokens this daemon uses, by their fingerprints, so that a rotation knows when it may revoke an old one.
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import { createLoop, type Loop } from '../lib/loop.ts'
import { fingerprintOf } from './fingerprint.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { Secret } from '../lib/secret.ts'

/** A daemon that has not reported for so long runs no more, ms. */
export const reportLife = 30_000
/** What daemons that were killed left behind is removed when it is so old, ms. */
const leftBehind = 86_400_000
/** Looked at so often, for a rotation waits for it, and reported anew well within its life, ms. */
const lookEvery = 1_000
const reportEvery = 10_000

export interface TokenReportOptions {
  readonly reports: Repositories['daemonReports']
  /** Those of this moment, one for each destination that has one. */
  readonly tokens: () => readonly Secret[]
  readonly clock: Clock
  readonly log: Log
}

/** `stop` takes the report back. Without a token nothing is reported: nothing of this daemon's could be revoked. */
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
