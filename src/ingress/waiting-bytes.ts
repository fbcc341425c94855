// Limits the bytes of webhooks that have not been answered yet: what does not fit is refused.
//
// A signature can only be verified once the whole body is there, so bodies are read of senders that have shown no secret, too. They share a part of
// the bytes; the rest is left to those that have shown the token, or whose signature is verified.

/** The bytes of one webhook, which wait until it is answered. */
export interface WaitingBody {
  /** So many bytes have arrived in all. False if they do not fit; what it held before stays. */
  hold(bytes: number): boolean
  /** Its sender has shown the secret: the part for others is free for the next one. */
  prove(): void
  /** It is answered; may be called twice. */
  release(): void
}

export interface WaitingBytes {
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

const mostBytes = 64 * 1024 * 1024

/**
 * An eighth of a container's memory (bytes), 64 MiB at most; and so much at least that one largest body of a stranger leaves room for others.
 */
export function waitingBytesWithin(memory: number | undefined, maxBody: number): WaitingBytesLimits {
  const total = Math.max(maxBody * 1.25, Math.min(mostBytes, Math.floor((memory ?? Infinity) / 8)))
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
