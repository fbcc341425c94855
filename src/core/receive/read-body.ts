// Reads the raw body of a request into one buffer. Each body has a size limit. All waiting bodies together have another limit: a body that does not
// fit is rejected.
// A signature can only be verified once the whole body has arrived, so the daemon also reads bodies from unauthenticated senders. These bodies may
// use only a part of the limit for all waiting bodies. The rest is reserved for senders that have shown the token, or whose signature has been
// verified.
import type { IncomingMessage } from 'node:http'

/**
 * The outcome of reading a body: the body, or why it could not be read. `size`: it is larger than `maxBody`. `budget`: the other waiting bodies leave
 * no room for it. `incomplete`: the connection was closed too early.
 */
export type BodyOutcome = { readonly body: Buffer } | { readonly refused: 'size' | 'budget' | 'incomplete' }

/**
 * Counts the bytes of a body as they arrive, so that the announced length reserves no memory. Node reads and discards the rest of a rejected body.
 */
export async function readBody(message: IncomingMessage, maxBody: number, waiting: WaitingBody): Promise<BodyOutcome> {
  // The body is read into one growing buffer instead of a list of chunks: one-byte chunks would need a hundred times their size.
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

/** The bytes of one webhook, which count as waiting until the daemon has responded to it. */
interface WaitingBody {
  /**
   * Records the total number of bytes that have arrived so far. Returns false if they do not fit into the limit. Bytes that were recorded before are
   * still counted.
   */
  hold(bytes: number): boolean
  /** Records that the sender has shown the secret. Its bytes no longer count towards the limit for unauthenticated senders. */
  prove(): void
  /** Releases the bytes once the daemon has responded to the webhook. Calling it twice is allowed. */
  release(): void
}

interface WaitingBytes {
  /** Returns the counter for a new body. `isProven` means that its sender has shown the token. */
  readonly body: (isProven: boolean) => WaitingBody
  readonly held: () => number
}

export interface WaitingBytesLimits {
  /** The total number of bytes in all waiting webhooks. */
  readonly total: number
  /** The number of bytes in waiting webhooks from unauthenticated senders. */
  readonly unproven: number
}

const maxBytes = 64 * 1024 * 1024

/**
 * Returns the limits for waiting bodies: an eighth of the container's memory (bytes), at most 64 MiB. The limit is always large enough that one body
 * of the maximum size from an unauthenticated sender leaves room for others.
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
