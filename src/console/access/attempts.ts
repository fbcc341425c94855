// Slows down token guessing. After a few wrong tokens from an address, every further attempt from it, right or wrong, is checked only after a delay.
// The right token is never rejected: it is delayed by a few seconds at most.
//
// A repeated wrong token is counted only once, so a script that still sends last month's token delays nobody. The delay for an address grows with
// each attempt, up to a maximum. All addresses together are limited as well, because an attacker may guess from many addresses.
import { createHmac, randomBytes } from 'node:crypto'
import { networkOf } from '../../lib/network-of.ts'
import type { Millis } from '../../model/instant.ts'

export const limits = {
  /** The number of different wrong tokens that cause no delay, per address and for all addresses together. */
  address: 5,
  everybody: 100,
  /** The period in ms, starting with the first wrong token, in which wrong tokens are counted. */
  period: 15 * 60_000,
  /** The minimum delay before an attempt is checked, its increase per attempt, and the maximum delay; all in ms. */
  minDelay: 1_000,
  delayStep: 100,
  maxDelay: 5_000,
} as const

/** The maximum number of addresses whose attempts are tracked. The oldest address is evicted first. */
const maxAddresses = 10_000
/** The number of recent wrong tokens per address that are deduplicated. */
const maxDigests = 8

interface Attempts {
  /** Returns the delay in ms before this attempt from the address is checked. Each call counts as an attempt. */
  pause(address: string): number
  /** Records a wrong token from this address. */
  failed(address: string, given: string): void
}

interface Tries {
  count: number
  readonly since: Millis
  /** The time at which the latest delayed attempt is checked. */
  last: Millis
  /** The digests of the most recent wrong tokens. A token in this list is not counted again. */
  readonly digests: string[]
}

export function createAttempts(now: () => Millis): Attempts {
  const addresses = new Map<string, Tries>()
  let all = fresh(now())
  const key = randomBytes(32)

  function current(address: string): Tries | undefined {
    if (!isCurrent(all, now())) all = fresh(now())
    const tries = addresses.get(address)
    if (tries === undefined || isCurrent(tries, now())) return tries
    addresses.delete(address)
    return undefined
  }

  return {
    pause: from => {
      const tries = current(networkOf(from))
      return Math.max(pauseOf(tries, limits.address, now()), pauseOf(all, limits.everybody, now()))
    },
    failed: (from, given) => {
      const address = networkOf(from)
      const digest = createHmac('sha256', key).update(given).digest('base64')
      const tries = current(address) ?? fresh(now())
      if (tries.digests.includes(digest)) return
      tries.digests.unshift(digest)
      tries.digests.length = Math.min(tries.digests.length, maxDigests)
      tries.count += 1
      all.count += 1
      addresses.set(address, tries)
      const [oldest] = addresses.keys()
      if (addresses.size > maxAddresses && oldest !== undefined) addresses.delete(oldest)
    },
  }
}

function fresh(now: Millis): Tries {
  return { count: 0, since: now, last: 0, digests: [] }
}

/** Whether the counted attempts are recent. False after the clock was set back: otherwise, people would have to wait until it catches up. */
function isCurrent({ since }: Tries, now: Millis): boolean {
  return now >= since && now - since < limits.period
}

function pauseOf(tries: Tries | undefined, allowed: number, now: Millis): number {
  if (tries === undefined || tries.count < allowed) return 0
  const at = Math.min(now + limits.maxDelay, Math.max(now + limits.minDelay, tries.last + limits.delayStep))
  tries.last = at
  return at - now
}
