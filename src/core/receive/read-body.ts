// Reads a request's raw body into one buffer, within a limit for each and one for all: what does not fit is refused.
//
// A signature can only be verified once the whole body has arrived, so the daemon also reads bodies of senders that have shown no secret. These share
// part of the bytes. The rest is reserved for senders that have shown the token, or whose signature is verified.
import type { IncomingMessage } from 'node:http'

/** `size`: more than `maxBody`. `budget`: the waiting bodies leave no room. `incomplete`: the connection was closed. */
export type BodyOutcome = { readonly body: Buffer } | { readonly refused: 'size' | 'budget' | 'incomplete' }

/** Counts the bytes as they arrive: an announced body reserves none. Node reads and discards the rest of a refused body. */
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

/** The bytes of one webhook, which wait until it is answered. */
interface WaitingBody {
  /** This number of bytes has arrived in all. False if they do not fit; the bytes held before stay held. */
  hold(bytes: number): boolean
  /** Its sender has shown the secret: its bytes no longer count in the part for senders without a secret. */
  prove(): void
  /** It is answered; may be called twice. */
  release(): void
}

interface WaitingBytes {
  /** `isProven`: its sender has shown the token. */
  readonly body: (isProven: boolean) => WaitingBody
  readonly held: () => number
}

export interface WaitingBytesLimits {
  /** Bytes of all webhooks. */
  readonly total: number
  /** Bytes of those whose senders have shown no secret yet. */
  readonly unproven: number
}

const maxBytes = 64 * 1024 * 1024

/**
 * An eighth of a container's memory (bytes), 64 MiB at most; but enough that one largest body of a sender without a secret leaves room for others.
 */
export function waitingBytesWithin(memory: number | undefined, maxBody: number): WaitingBytesLimits {
  const total = Math.max(maxBody * 1.25, Math.min(maxBytes, Math.floor((memory ?? Infinity) / 8)))
  return { total, unproven: Math.max(maxBody, total / 4) }
}

export function createWaitingBytes({ total, unproven }: WaitingBytesLimits): WaitingBytes {
  let ofAll = 0
  let ofUnproven = 0
  return {
    held: () => ofAll,
    body: startsProven => {
      let isProven = startsProven
      let held = 0
      function set(bytes: number): void {
        ofAll += bytes - held
        if (!isProven) ofUnproven += bytes - held
        held = bytes
      }
      return {
        hold: bytes => {
          const more = bytes - held
          if (ofAll + more > total || (!isProven && ofUnproven + more > unproven)) return false
          set(bytes)
          return true
        },
        prove: () => {
          if (!isProven) ofUnproven -= held
          isProven = true
        },
        release: () => set(0),
      }
    },
  }
}
