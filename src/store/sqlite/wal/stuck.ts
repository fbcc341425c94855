// A write-ahead log (WAL) of which nothing can be read although something waits: it may pass, and when it does not, the daemon is not ready.
import { UnreadableError } from '../../../lib/fault.ts'
import type { WalPositions } from './positions.ts'

/** How long nothing may be read before that is said, ms. */
const patience = 60_000

/** Of the process, the same on all its threads, whatever the clock on the wall does. */
function now(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

/** From now on, if not before. */
export function noteStuck(positions: WalPositions): void {
  if (positions.stuckSince === 0) positions.noteStuck(now())
}

/** Throws UnreadableError where nothing could be read for a minute. */
export function proveReadable({ stuckSince }: WalPositions): void {
  if (stuckSince === 0 || now() - stuckSince < patience) return
  throw new UnreadableError(
    'No accepted delivery could be read from the write-ahead log next to the store for a minute or longer.',
    'See the intake errors above, and check that its folder and files exist and are readable.',
  )
}
