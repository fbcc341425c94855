// The daemon is not ready if accepted deliveries are pending and none of them can be read for a minute.
import { UnreadableError } from '../../../lib/fault.ts'
import type { DeliveryPositions } from './positions.ts'

const timeoutMs = 60_000

/** Monotonic ms, the same on all threads of the process. */
function now(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

/** Stores the time of the first call. */
export function noteStuck(positions: DeliveryPositions): void {
  if (positions.stuckSince === 0) positions.stuckSince = now()
}

/** Throws UnreadableError. */
export function proveReadable({ stuckSince }: DeliveryPositions): void {
  if (stuckSince === 0 || now() - stuckSince < timeoutMs) return
  throw new UnreadableError(
    'No accepted delivery could be read from their file beside the store for a minute or longer.',
    'See the intake errors above, and check that the folder and its files exist and are readable.',
  )
}
