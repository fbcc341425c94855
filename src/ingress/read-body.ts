// Reads a request's raw body into one buffer, within a limit and a budget.
import type { IncomingMessage } from 'node:http'
import type { BodyBudget, BodyClaim, Standing } from './body-budget.ts'
import type { ReadingTurns } from './reading-turns.ts'
import { giveBack } from '../lib/give-back.ts'

/** `size`: more bytes than `limit`. `budget`: other bodies hold the memory. `incomplete`: the connection was closed. */
export type BodyOutcome = { readonly body: Buffer } | { readonly refused: 'size' | 'budget' | 'incomplete' }

export interface BodyReading {
  readonly outcome: Promise<BodyOutcome>
  /** The caller proves or releases it, whatever the outcome. */
  readonly claim: BodyClaim
  /** Frees the memory of a body that is no longer needed at once: bodies may arrive faster than garbage is collected. */
  readonly discard: () => void
}

/** The least that is claimed for a body that arrives in several pieces, bytes. */
const firstRoom = 16_384
/** The memory of a body above this size is returned to the system right after use, and counts from its first piece, bytes. */
const largeRoom = 262_144

/**
 * Requests a turn to read once the first bytes have arrived, so that a sender that sends nothing delays nobody. Claims at most twice the bytes
 * received, and never more than declared. The last piece needs no claim, as the body is judged at once; nor does a small body during its turn, as only
 * a few have one. The rest of a refused body stays unread.
 */
export function readBody(
  message: IncomingMessage,
  limit: number,
  budget: Pick<BodyBudget, 'claim'>,
  turns: ReadingTurns,
  standing: Standing,
): BodyReading {
  const declared = lengthOf(message)
  const most = Math.min(declared ?? limit, limit)
  // Its first bytes do not show its rate: among fast large bodies it would be refused. Proven bodies have no turns.
  const claimsInTurn = standing === 'proven' || declared === undefined || declared > largeRoom
  // One growing buffer, not a list of chunks: chunks of one byte would cost a hundred times their size.
  let room: Buffer = Buffer.alloc(0)
  /** The memory of `room`, if more than one piece has arrived. */
  let own: ArrayBuffer | undefined
  let length = 0
  let resolve: (outcome: BodyOutcome) => void
  const outcome = new Promise<BodyOutcome>(settle => (resolve = settle))
  const claim = budget.claim(standing, () => finish({ refused: 'budget' }))
  const turn = turns(standing, declared, { begin, pause: pauseReading })
  message.once('end', done).once('close', lost).once('error', lost)
  if (message.destroyed) lost()
  else if (standing === 'proven') turn.ask()
  else askOnceThere()
  return { outcome, claim, discard }

  function discard(): void {
    if (own === undefined) giveBack(room)
    else if (own.resizable) own.resize(0)
    own = undefined
    room = Buffer.alloc(0)
  }
  function askOnceThere(): void {
    if (message.readableLength > 0) turn.ask()
    else message.once('readable', turn.ask)
  }
  function begin(): void {
    if (!claimsInTurn) claim.release()
    message.on('data', take).resume()
  }
  function pauseReading(): void {
    message.off('data', take).pause()
    if (claimsInTurn || length === 0 || claim.grow(room.length, length)) askOnceThere()
    else finish({ refused: 'budget' })
  }
  function take(chunk: Buffer): void {
    turn.took(chunk.length)
    const needed = length + chunk.length
    if (needed > limit) {
      finish({ refused: 'size' })
      return
    }
    const isWhole = needed === declared
    const fits = needed <= room.length
    const size = fits ? room.length : isWhole ? needed : Math.min(most, Math.max(needed * 2, firstRoom))
    if (!isWhole && claimsInTurn && !claim.grow(size, needed)) {
      finish({ refused: 'budget' })
      return
    }
    if (isWhole && length === 0) {
      room = chunk
    } else {
      if (!fits) grow(size)
      chunk.copy(room, length)
    }
    length = needed
  }
  /** A large body grows in place and its memory returns to the system: the allocator would keep freed blocks of this size until memory is exhausted. */
  function grow(size: number): void {
    if (own === undefined && most <= largeRoom) {
      const grown = Buffer.allocUnsafeSlow(size)
      room.copy(grown, 0, 0, length)
      room = grown
      return
    }
    own ??= new ArrayBuffer(0, { maxByteLength: most })
    own.resize(size)
    room = Buffer.from(own, 0, size)
  }
  function done(): void {
    finish({ body: room.subarray(0, length) })
  }
  function lost(): void {
    finish({ refused: 'incomplete' })
  }
  function finish(found: BodyOutcome): void {
    turn.end()
    message.off('data', take).off('readable', turn.ask).off('end', done).off('close', lost).pause()
    if ('refused' in found) discard()
    resolve(found)
  }
}

function lengthOf(message: IncomingMessage): number | undefined {
  const declared = message.headers['content-length']
  return declared === undefined ? undefined : Number(declared)
}
