// Limits how often an address may send wrong secrets: counters of the current second.
import { networkOf } from '../../lib/network-of.ts'

export interface RefusalRate {
  /** Whether a request of the address that shows no right token is looked at in this second. */
  allows(address: string): boolean
  /** The address has sent a wrong secret, or none. */
  refused(address: string): void
}

/** `max`: refused requests a second of an address. `now`: milliseconds. */
export function createRefusalRate(max: number, now: () => number): RefusalRate {
  const counts = new Map<string, number>()
  let second = NaN
  const current = (): Map<string, number> => {
    const its = Math.floor(now() / 1_000)
    if (its !== second) counts.clear()
    second = its
    return counts
  }
  return {
    allows: address => (current().get(networkOf(address)) ?? 0) < max,
    refused: address => {
      const network = networkOf(address)
      counts.set(network, (current().get(network) ?? 0) + 1)
    },
  }
}
