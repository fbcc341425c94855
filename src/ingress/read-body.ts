// Reads a request's raw body into one buffer, within a limit and a budget.
import type { IncomingMessage } from 'node:http'
import type { BodyBudget, BodyClaim, Standing } from './body-budget.ts'
import type { ReadingTurns } from './reading-turns.ts'

/** `size`: more bytes than `limit`. `budget`: other bodies hold the memory. `incomplete`: the sender went away. */
export type BodyOutcome = { readonly body: Buffer } | { readonly refused: 'size' | 'budget' | 'incomplete' }

export interface BodyReading {
  readonly outcome: Promise<BodyOutcome>
  /** The caller's to prove, or to release, whatever the outcome. */
  readonly claim: BodyClaim
  /** The body is not wanted: its memory is free at once, and the body empty. Forged bodies come faster than garbage is collected. */
  readonly discard: () => void
}

/** The least that is claimed for a body that does not come at once, bytes. */
const firstRoom = 16_384
/** A larger body, bytes, has memory that is the system's again as soon as the body is done with. */
const largeRoom = 262_144

/**
 * It is read when its turn comes, which it asks for once some of it is there: who announces and sends nothing keeps nobody waiting.
 * Memory is claimed as bytes come: at most twice as much, and never more than was declared. What makes the body whole needs no
 * claim: it is there, and what becomes of it is decided at once. A refused body stays unread, and the stream paused.
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
  // One growing buffer, not a list of chunks: chunks of one byte would cost a hundred times their size.
  let room: Buffer = Buffer.alloc(0)
  /** What `room` is in, when more than one piece has come. */
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
    if (own?.resizable === true) own.resize(0)
    own = undefined
    room = Buffer.alloc(0)
  }
  function askOnceThere(): void {
    if (message.readableLength > 0) turn.ask()
    else message.once('readable', turn.ask)
  }
  function begin(): void {
    message.on('data', take).resume()
  }
  function pauseReading(): void {
    message.off('data', take).pause()
    askOnceThere()
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
    if (!isWhole && !claim.grow(size, needed)) {
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
  /** A large body grows where it is, and is given back to the system: what the allocator keeps of such would soon be all there is. */
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
