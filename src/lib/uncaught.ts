// Logs an uncaught error in a socket or file callback, and lets the process continue. All work has a deadline, and acknowledged data is on disk. So
// continuing is safer than exiting: otherwise one unusual response, or a moment without file descriptors, could end the daemon again and again.
import { reasonOf } from './fault.ts'
import type { Log } from './log.ts'

/** Thrown to end the process on purpose. */
export class EndOfProcess extends Error {}

const minute = 60_000

/** Handles uncaught errors of the calling thread. Logs one line per error location and minute. */
export function outliveErrors(log: Log): void {
  const loggedAt = new Map<string, number>()
  process.on('uncaughtException', error => {
    if (error instanceof EndOfProcess) {
      log.fatal(error.message)
      process.exit(1)
    }
    const reason = reasonOf(error)
    const [, place = ''] = error instanceof Error ? (error.stack ?? '').split('\n    at ') : []
    const name = `${place} ${reason}`.slice(0, 200)
    const now = performance.now()
    if (now - (loggedAt.get(name) ?? -minute) < minute) return
    // The number of remembered errors is limited, because each error from the same place may have a different message.
    if (loggedAt.size >= 1_000) loggedAt.clear()
    loggedAt.set(name, now)
    log.error({ reason, place: place.trim() }, 'unexpected error; the daemon continues')
  })
}
