// Reads a request's raw body into one buffer, within a limit and a budget.
import type { IncomingMessage } from 'node:http'
import type { BodyClaim } from './body-budget.ts'

/** `size`: more bytes than `limit`. `budget`: other bodies hold the memory. `incomplete`: the sender went away. */
export type BodyOutcome = { readonly body: Buffer } | { readonly refused: 'size' | 'budget' | 'incomplete' }

/** Where a body of unknown length begins to grow, bytes. */
const firstRoom = 16_384

/**
 * A declared length is claimed before the first byte is read; a chunked body claims as it grows. The claim is the caller's
 * to release, also after a refusal. A refused body stays unread, and the stream paused.
 */
export function readBody(message: IncomingMessage, limit: number, claim: BodyClaim): Promise<BodyOutcome> {
  const declared = message.headers['content-length']
  const expected = declared === undefined ? firstRoom : Number(declared)
  if (declared !== undefined && expected > limit) return Promise.resolve({ refused: 'size' })
  if (!claim.grow(expected)) return Promise.resolve({ refused: 'budget' })
  return new Promise(resolve => {
    // One growing buffer, not a list of chunks: chunks of one byte would cost a hundred times their size.
    let room = Buffer.allocUnsafe(expected)
    let length = 0
    message.on('data', take).once('end', done).once('close', lost).once('error', lost)
    if (message.destroyed) lost()

    function take(chunk: Buffer): void {
      const needed = length + chunk.length
      if (needed > limit) {
        finish({ refused: 'size' })
        return
      }
      if (needed > room.length) {
        const larger = Math.min(limit, Math.max(needed, room.length * 2))
        if (!claim.grow(larger - room.length)) {
          finish({ refused: 'budget' })
          return
        }
        const grown = Buffer.allocUnsafe(larger)
        room.copy(grown, 0, 0, length)
        room = grown
      }
      length += chunk.copy(room, length)
    }
    function done(): void {
      finish({ body: room.subarray(0, length) })
    }
    function lost(): void {
      finish({ refused: 'incomplete' })
    }
    function finish(outcome: BodyOutcome): void {
      message.off('data', take).off('end', done).off('close', lost).pause()
      resolve(outcome)
    }
  })
}
