// An uncaught error, in a callback of a socket or a file, is logged and the process goes on. All work has a deadline, and acknowledged data is
// on disk. So continuing is safer than ending: otherwise one odd answer, or a moment without file descriptors, could end the daemon again and
// again.
import { reasonOf } from './fault.ts'
import type { Log } from './log.ts'

/** Thrown to end the process on purpose. */
export class EndOfProcess extends Error {}

const minute = 60_000

/** For the calling thread. Logs one line per place and minute. */
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
    // There are few places, but the message of an error may differ each time.
    if (loggedAt.size >= 1_000) loggedAt.clear()
    loggedAt.set(name, now)
    log.error({ reason, place: place.trim() }, 'unexpected error; the daemon continues')
  })
}
