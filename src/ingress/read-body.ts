// Reads a request's raw body into one buffer, within a limit for each and one for all.
import type { IncomingMessage } from 'node:http'
import type { WaitingBody } from './waiting-bytes.ts'

/** `size`: more than `maxBody`. `budget`: the bodies that wait leave no room. `incomplete`: the connection was closed. */
export type BodyOutcome = { readonly body: Buffer } | { readonly refused: 'size' | 'budget' | 'incomplete' }

/** Counts the bytes as they arrive, so that an announced body holds nothing. Node reads and discards the rest of a refused body. */
export async function readBody(message: IncomingMessage, maxBody: number, waiting: WaitingBody): Promise<BodyOutcome> {
  // One buffer that grows, not a list of pieces: chunks of one byte would need a hundred times their size.
  let room: Buffer = Buffer.alloc(0)
  let length = 0
  return new Promise(resolve => {
    message.on('data', take).once('end', end).once('close', lost).once('error', lost)
    if (message.destroyed) lost()

    function take(piece: Buffer): void {
      const needed = length + piece.length
      if (needed > maxBody) finish({ refused: 'size' })
      else if (!waiting.hold(needed)) finish({ refused: 'budget' })
      else if (length === 0) room = piece
      else {
        if (needed > room.length) {
          const grown = Buffer.allocUnsafeSlow(Math.min(maxBody, needed * 2))
          room.copy(grown, 0, 0, length)
          room = grown
        }
        piece.copy(room, length)
      }
      length = needed
    }
    function end(): void {
      finish({ body: room.subarray(0, length) })
    }
    function lost(): void {
      finish({ refused: 'incomplete' })
    }
    function finish(outcome: BodyOutcome): void {
      message.off('data', take).off('end', end).off('close', lost).resume()
      resolve(outcome)
    }
  })
}
