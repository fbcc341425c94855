// Limits the bytes that request bodies in flight hold together, so that many large deliveries cannot exhaust a small container.
//
// Received bytes count, not announced ones. A signature can only be verified once the body is whole, so unverified bodies share a fraction of the
// budget. A body that needs room there evicts bodies of lower rank: those of unknown senders before known ones, both before those that
// show the right token, and among equals the slowest. To evict an honest body, an attacker would have to fill the whole fraction faster than
// that body arrives. Verified bodies are never evicted. Small bodies claim nothing in their turn, because only a few have one (`read-body.ts`).
//
// While there is room, a body may be slow.

/**
 * `known`: the secret was right before, on this connection or from this address, which may be a proxy's. `with token`: this delivery shows the right
 * token, and a signature that can only be verified once the body is whole. `proven`: this delivery is verified.
 */
export type Standing = 'stranger' | 'known' | 'with token' | 'proven'

/** One request's share. */
export interface BodyClaim {
  /** Claims `bytes` in total, of which `received` have arrived. False, with nothing changed, if there is no room for them. */
  grow(bytes: number, received: number): boolean
  /** The body is whole and verified: it keeps `bytes` until it releases them. False if there is no room for them. */
  prove(bytes: number): boolean
  /** Releases all of it; may be called twice. */
  release(): void
}

export interface BodyBudget {
  /** `onTaken` is called when another body evicts it; the whole claim is released then. */
  readonly claim: (standing: Standing, onTaken: () => void) => BodyClaim
  /** Bytes claimed at this moment. */
  readonly inFlight: () => number
}

export interface BodyBudgetOptions {
  /** Bytes of all bodies. */
  readonly total: number
  /** The part of these that unproven bodies may hold. */
  readonly unproven: number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

interface Claimed {
  standing: Standing
  bytes: number
  received: number
  /** When its first bytes were read. */
  since: number | undefined
  readonly onTaken: () => void
}

const ranks: Readonly<Record<Standing, number>> = { stranger: 0, known: 1, 'with token': 2, proven: 3 }

/** Two of the largest bodies, or hundreds of the usual size. */
const maxInFlight = 64 * 1024 * 1024

/** Bytes of all bodies in flight within a container's memory limit (bytes): an eighth of it, 64 MiB at most. Without a limit: 64 MiB. */
export function bodyBytesWithin(memory: number | undefined): number {
  return Math.min(maxInFlight, Math.floor((memory ?? Infinity) / 8))
}

export function createBodyBudget({ total, unproven, now }: BodyBudgetOptions): BodyBudget {
  let inFlight = 0
  let notProven = 0
  /** Unproven claims with bytes. */
  const removable = new Set<Claimed>()

  function set(claimed: Claimed, bytes: number): void {
    inFlight += bytes - claimed.bytes
    if (claimed.standing !== 'proven') notProven += bytes - claimed.bytes
    claimed.bytes = bytes
    if (bytes > 0 && claimed.standing !== 'proven') removable.add(claimed)
    else removable.delete(claimed)
  }

  /** Makes room for the claim to hold `bytes`, at the cost of others if needed. False if that is not enough. */
  function hasRoom(claimed: Claimed, bytes: number): boolean {
    const more = bytes - claimed.bytes
    const lacking = (): number =>
      Math.max(inFlight + more - total, claimed.standing === 'proven' ? 0 : notProven + more - unproven)
    if (lacking() <= 0) return true
    const at = now()
    const rate = (one: Claimed): number => one.received / Math.max(1, at - (one.since ?? at))
    const own = rate(claimed)
    const less = [...removable]
      .map(one => ({ one, rank: ranks[one.standing], rate: rate(one) }))
      .filter(({ one, ...its }) => one !== claimed && isLess(its, { rank: ranks[claimed.standing], rate: own }))
      .sort((a, b) => a.rank - b.rank || a.rate - b.rate)
    // No body is evicted if that would not make enough room.
    if (less.reduce((sum, { one }) => sum + one.bytes, 0) < lacking()) return false
    for (const { one } of less) {
      if (lacking() <= 0) break
      set(one, 0)
      one.onTaken()
    }
    return true
  }

  return {
    inFlight: () => inFlight,
    claim: (standing, onTaken) => {
      const claimed: Claimed = { standing, bytes: 0, received: 0, since: undefined, onTaken }
      return {
        grow: (bytes, received) => {
          claimed.since ??= now()
          claimed.received = received
          if (!hasRoom(claimed, bytes)) return false
          set(claimed, bytes)
          return true
        },
        prove: bytes => {
          set(claimed, 0)
          claimed.standing = 'proven'
          if (!hasRoom(claimed, bytes)) return false
          set(claimed, bytes)
          return true
        },
        release: () => set(claimed, 0),
      }
    },
  }
}

interface Weight {
  readonly rank: number
  readonly rate: number
}

function isLess(one: Weight, than: Weight): boolean {
  return one.rank < than.rank || (one.rank === than.rank && one.rate < than.rate)
}
