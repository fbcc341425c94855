// What becomes of an error that nobody caught, in a callback of a socket or a file: it is logged, and the process goes on. All that
// is under way has a deadline of its own, and what was acknowledged is on the disk: going on risks less than a daemon that one
// answer, or one moment without descriptors, can end again and again.
import { reasonOf } from './fault.ts'
import type { Log } from './log.ts'

/** Thrown where nobody can catch it, to end the process all the same. */
export class EndOfProcess extends Error {}

const minute = 60_000

/** For the thread that calls it. One line for each place and minute. */
export function outliveErrors(log: Log): void {
  const toldAt = new Map<string, number>()
  process.on('uncaughtException', error => {
    if (error instanceof EndOfProcess) {
      log.fatal(error.message)
      process.exit(1)
    }
    const reason = reasonOf(error)
    const [, place = ''] = error instanceof Error ? (error.stack ?? '').split('\n    at ') : []
    const name = `${place} ${reason}`.slice(0, 200)
    const now = performance.now()
    if (now - (toldAt.get(name) ?? -minute) < minute) return
    // As many places as there are: few. Words of an error may differ each time.
    if (toldAt.size >= 1_000) toldAt.clear()
    toldAt.set(name, now)
    log.error({ reason, place: place.trim() }, 'unexpected error; the daemon continues')
  })
}
