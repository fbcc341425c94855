// Says in the store which ingest token this daemon uses, by its fingerprint, so that a rotation knows when it may revoke
// the old one: part of the composition root.
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import { createLoop, type Loop } from './lib/loop.ts'
import { fingerprintOf } from './tokens/fingerprint.ts'
import type { Clock } from './lib/clock.ts'
import type { Log } from './lib/log.ts'
import type { Notes } from './store/notes.ts'
import type { Secret } from './lib/secret.ts'

/** Where daemons report, by name. */
export const reportPrefix = 'daemon/'
/** A daemon that has not reported for so long runs no more, ms. */
export const reportLife = 30_000
/** Looked at so often, for a rotation waits for it, and reported anew well within its life, ms. */
const lookEvery = 1_000
const reportEvery = 10_000

export interface TokenReportOptions {
  readonly notes: Notes
  /** The token of this moment. */
  readonly token: () => Secret | undefined
  readonly clock: Clock
  readonly log: Log
}

/** `stop` takes the report back. Without a token nothing is reported: nothing of this daemon's could be revoked. */
export function createTokenReport({ notes, token, clock, log }: TokenReportOptions): Loop {
  const daemon = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`
  const name = `${reportPrefix}${daemon}`
  let reported: string | undefined
  let reportedAt = -Infinity
  const loop = createLoop({
    name: 'token report',
    clock,
    log,
    turn: async () => {
      const current = token()
      const fingerprint = current === undefined ? undefined : fingerprintOf(current)
      if (fingerprint !== reported || clock.now() - reportedAt >= reportEvery) {
        await notes.change(name, (_, now) => {
          const value = fingerprint === undefined ? undefined : { daemon, tokenFingerprint: fingerprint, at: now }
          return { value, result: undefined }
        })
        reported = fingerprint
        reportedAt = clock.now()
      }
      return lookEvery
    },
  })
  return {
    ...loop,
    stop: async () => {
      await loop.stop()
      await notes.change(name, () => ({ value: undefined, result: undefined }))
    },
  }
}
