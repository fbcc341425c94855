// The daemon is not ready if deliveries are pending in the write-ahead log (WAL) and none of them can be read for a minute.
import { UnreadableError } from '../../../lib/fault.ts'
import type { WalPositions } from './positions.ts'

const patience = 60_000

/** Monotonic ms, the same on all threads of the process. */
function now(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

/** Keeps the time of the first call. */
export function noteStuck(positions: WalPositions): void {
  if (positions.stuckSince === 0) positions.noteStuck(now())
}

/** Throws UnreadableError. */
export function proveReadable({ stuckSince }: WalPositions): void {
  if (stuckSince === 0 || now() - stuckSince < patience) return
  throw new UnreadableError(
    'No accepted delivery could be read from the write-ahead log next to the store for a minute or longer.',
    'See the intake errors above, and check that its folder and files exist and are readable.',
  )
}
