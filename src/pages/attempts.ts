// How often somebody may try a token: a few times per address in a quarter of an hour.
import type { Millis } from '../model/instant.ts'

const allowed = 5
/** From the first wrong try, ms. */
const span = 15 * 60_000
/** Addresses remembered; the oldest go first. */
const remembered = 10_000

export interface Attempts {
  /** Until when this address must wait, ms; undefined: it may try. */
  waitUntil(address: string): Millis | undefined
  failed(address: string): void
  succeeded(address: string): void
}

export function createAttempts(now: () => Millis): Attempts {
  const tries = new Map<string, { count: number; since: Millis }>()
  const current = (address: string): { count: number; since: Millis } | undefined => {
    const known = tries.get(address)
    if (known === undefined || now() - known.since < span) return known
    tries.delete(address)
    return undefined
  }
  return {
    waitUntil: address => {
      const known = current(address)
      return known !== undefined && known.count >= allowed ? known.since + span : undefined
    },
    failed: address => {
      const known = current(address)
      tries.set(address, { count: (known?.count ?? 0) + 1, since: known?.since ?? now() })
      const [oldest] = tries.keys()
      if (tries.size > remembered && oldest !== undefined) tries.delete(oldest)
    },
    succeeded: address => void tries.delete(address),
  }
}
