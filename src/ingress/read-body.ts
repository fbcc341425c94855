// Reads a request's raw body into one buffer, within a limit and a budget.
import type { IncomingMessage } from 'node:http'
import type { BodyBudget, BodyClaim, Standing } from './body-budget.ts'

/** `size`: more bytes than `limit`. `budget`: other bodies hold the memory. `incomplete`: the sender went away. */
export type BodyOutcome = { readonly body: Buffer } | { readonly refused: 'size' | 'budget' | 'incomplete' }

export interface BodyReading {
  readonly outcome: Promise<BodyOutcome>
  /** The caller's to prove, or to release, whatever the outcome. */
  readonly claim: BodyClaim
}

/** The least that is claimed for a body that does not come at once, bytes. */
const firstRoom = 16_384

/**
 * Memory is claimed as bytes come: at most twice as much, and never more than was declared. What makes the body whole needs no
 * claim: it is there, and what becomes of it is decided at once. A refused body stays unread, and the stream paused.
 */
export function readBody(
  message: IncomingMessage,
  limit: number,
  budget: Pick<BodyBudget, 'claim'>,
  standing: Standing,
): BodyReading {
  const declared = lengthOf(message)
  // One growing buffer, not a list of chunks: chunks of one byte would cost a hundred times their size.
  let room: Buffer = Buffer.alloc(0)
  let length = 0
  let resolve: (outcome: BodyOutcome) => void
  const outcome = new Promise<BodyOutcome>(settle => (resolve = settle))
  const claim = budget.claim(standing, () => finish({ refused: 'budget' }))
  message.on('data', take).once('end', done).once('close', lost).once('error', lost)
  if (message.destroyed) lost()
  return { outcome, claim }

  function take(chunk: Buffer): void {
    const needed = length + chunk.length
    if (needed > limit) {
      finish({ refused: 'size' })
      return
    }
    const isWhole = needed === declared
    const fits = needed <= room.length
    const size = fits ? room.length : isWhole ? needed : Math.min(declared ?? limit, Math.max(needed * 2, firstRoom))
    if (!isWhole && !claim.grow(size, needed)) {
      finish({ refused: 'budget' })
      return
    }
    if (isWhole && length === 0) {
      room = chunk
    } else {
      const grown = fits ? room : Buffer.allocUnsafe(size)
      if (!fits) room.copy(grown, 0, 0, length)
      chunk.copy(grown, length)
      room = grown
    }
    length = needed
  }
  function done(): void {
    finish({ body: room.subarray(0, length) })
  }
  function lost(): void {
    finish({ refused: 'incomplete' })
  }
  function finish(found: BodyOutcome): void {
    message.off('data', take).off('end', done).off('close', lost).pause()
    room = Buffer.alloc(0)
    resolve(found)
  }
}

function lengthOf(message: IncomingMessage): number | undefined {
  const declared = message.headers['content-length']
  return declared === undefined ? undefined : Number(declared)
}
