// The bytes that bodies in flight may hold together, so that many large deliveries cannot exhaust a small container; and whose
// claim is taken when there are not enough for all.
//
// What is claimed are bytes that came, not bytes that were announced. Bodies whose sender has proved nothing yet (a signature is only
// known to be right once all of it is there) share a fraction of the budget. Who needs room in it takes it from claims that count for less:
// a stranger's before that of a sender who was right before, and among equals the slower one's. So whoever wants to push an honest body
// out must fill the whole share faster than that body comes. What is proven is never taken away.
//
// No rate is demanded where there is room: a slow line is no attack.

/** `known`: its connection or its address was right before. `proven`: this very delivery is. */
export type Standing = 'stranger' | 'known' | 'proven'

/** One request's share. */
export interface BodyClaim {
  /** Claims `bytes` in all, of which `received` have come; false, with nothing changed, when there is no room for them. */
  grow(bytes: number, received: number): boolean
  /** The body is whole and wanted: from now on it holds `bytes`, and nobody takes them away. False when there is no room for them. */
  prove(bytes: number): boolean
  /** Gives all of it back; may be called twice. */
  release(): void
}

export interface BodyBudget {
  /** `onTaken`: called at once when another claim needed the room; all of it is given back then. */
  readonly claim: (standing: Standing, onTaken: () => void) => BodyClaim
  /** Bytes claimed at this moment. */
  readonly inFlight: () => number
}

export interface BodyBudgetOptions {
  /** Bytes of all bodies. */
  readonly total: number
  /** Of these, what bodies may hold that are not proven. */
  readonly unproven: number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

interface Claimed {
  standing: Standing
  bytes: number
  received: number
  /** When the first of it was read; undefined before. */
  since: number | undefined
  readonly onTaken: () => void
}

const ranks: Readonly<Record<Standing, number>> = { stranger: 0, known: 1, proven: 2 }

export function createBodyBudget({ total, unproven, now }: BodyBudgetOptions): BodyBudget {
  let inFlight = 0
  let notProven = 0
  /** Those that hold something and may have to give it back. */
  const removable = new Set<Claimed>()

  function set(claimed: Claimed, bytes: number): void {
    inFlight += bytes - claimed.bytes
    if (claimed.standing !== 'proven') notProven += bytes - claimed.bytes
    claimed.bytes = bytes
    if (bytes > 0 && claimed.standing !== 'proven') removable.add(claimed)
    else removable.delete(claimed)
  }

  /** Whether there is room for the claim to hold `bytes`, after others had to give theirs back. */
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
    // None is turned out for nothing.
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
