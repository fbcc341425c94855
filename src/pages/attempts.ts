// How fast somebody may try tokens. The right one is never refused: after a few wrong ones from an address every further attempt
// from there, right or wrong, is looked at after a pause only. Who guesses is slow; who knows the token waits some seconds at most.
//
// A wrong token that is sent again is no guess: a script with last month's token slows nobody down. Attempts of one address follow
// each other in steps while there is room before the longest pause; all addresses together have a limit of their own, which a
// crowd of them reaches.
import { createHmac, randomBytes } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { Millis } from '../model/instant.ts'

export const limits = {
  /** Different wrong tokens of one address before its attempts pause, and of all together. */
  address: 5,
  everybody: 100,
  /** How long a wrong token counts, from the first one on, ms. */
  span: 15 * 60_000,
  /** The least pause, the step from one attempt to the next, the longest pause, ms. */
  least: 1_000,
  step: 100,
  longest: 5_000,
} as const

/** Addresses remembered; the oldest go first. */
const remembered = 10_000
/** Wrong tokens of an address that are known again. */
const known = 8

export interface Attempts {
  /** How long to wait before the next attempt of this address is looked at, ms; 0: not at all. Each call is an attempt. */
  pause(address: string): number
  /** The attempt was wrong. */
  failed(address: string, given: string): void
}

interface Tries {
  count: number
  readonly since: Millis
  /** When the last attempt that pauses is looked at. */
  last: Millis
  /** Digests of the newest wrong tokens. */
  readonly given: string[]
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
      const tries = current(addressGroup(from))
      return Math.max(pauseOf(tries, limits.address, now()), pauseOf(all, limits.everybody, now()))
    },
    failed: (from, given) => {
      const address = addressGroup(from)
      const digest = createHmac('sha256', key).update(given).digest('base64')
      const tries = current(address) ?? fresh(now())
      if (tries.given.includes(digest)) return
      tries.given.unshift(digest)
      tries.given.length = Math.min(tries.given.length, known)
      tries.count += 1
      all.count += 1
      addresses.set(address, tries)
      const [oldest] = addresses.keys()
      if (addresses.size > remembered && oldest !== undefined) addresses.delete(oldest)
    },
  }
}

function fresh(now: Millis): Tries {
  return { count: 0, since: now, last: 0, given: [] }
}

/** A clock that was set back must not make anybody wait for it. */
function isCurrent({ since }: Tries, now: Millis): boolean {
  return now >= since && now - since < limits.span
}

function pauseOf(tries: Tries | undefined, allowed: number, now: Millis): number {
  if (tries === undefined || tries.count < allowed) return 0
  const at = Math.min(now + limits.longest, Math.max(now + limits.least, tries.last + limits.step))
  tries.last = at
  return at - now
}

/** Whoever has one address of IPv6 has the 2^64 beside it. */
function addressGroup(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = (plain.split('%', 1)[0] ?? '').split('::', 2)
  const first = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - first.length - rest.length) }, () => '0')
  return [...first, ...zeros, ...rest].slice(0, 4).join(':')
}
