// Says in the store which ingest tokens this daemon uses, by their fingerprints, so that a rotation knows when it may revoke
// an old one: part of the composition root.
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import { createLoop, type Loop } from '../lib/loop.ts'
import { fingerprintOf } from '../tokens/fingerprint.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Notes } from '../store/ports/notes.ts'
import type { Secret } from '../lib/secret.ts'

/** Where daemons report, by name. */
export const reportPrefix = 'daemon/'
/** A daemon that has not reported for so long runs no more, ms. */
export const reportLife = 30_000
/** What daemons that were killed left behind is removed when it is so old, ms. */
const leftBehind = 86_400_000
/** Looked at so often, for a rotation waits for it, and reported anew well within its life, ms. */
const lookEvery = 1_000
const reportEvery = 10_000

export interface TokenReportOptions {
  readonly notes: Notes
  /** Those of this moment, one for each destination that has one. */
  readonly tokens: () => readonly Secret[]
  readonly clock: Clock
  readonly log: Log
}

/** What one daemon reports. */
export interface DaemonReport {
  readonly daemon: string
  /** From `fingerprintOf`. */
  readonly fingerprints: readonly string[]
  /** Unix ms. */
  readonly at: number
}

/** `stop` takes the report back. Without a token nothing is reported: nothing of this daemon's could be revoked. */
export function createTokenReport({ notes, tokens, clock, log }: TokenReportOptions): Loop {
  const daemon = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`
  const name = `${reportPrefix}${daemon}`
  let reported: string | undefined
  let reportedAt = -Infinity
  let hasTidied = false
  const loop = createLoop({
    name: 'token report',
    clock,
    log,
    turn: async () => {
      if (!hasTidied) await removeOld(notes)
      hasTidied = true
      const fingerprints = [...new Set(tokens().map(fingerprintOf))]
      const current = fingerprints.join()
      if (current !== reported || elapsed(clock) - reportedAt >= reportEvery) {
        await notes.change(name, (_, now) => {
          const report = { daemon, fingerprints, at: now } satisfies DaemonReport
          return { value: fingerprints.length === 0 ? undefined : report, result: undefined }
        })
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
      await notes.change(name, () => ({ value: undefined, result: undefined }))
    },
  }
}

async function removeOld(notes: Notes): Promise<void> {
  for (const name of (await notes.list(reportPrefix)).keys()) {
    await notes.change(name, (value, now) => {
      const report = value as DaemonReport | undefined
      const isOld = report === undefined || now - report.at > leftBehind
      return { value: isOld ? undefined : value, result: undefined }
    })
  }
}
