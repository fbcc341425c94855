// Bounds work that takes long: a few requests run at the same time, a few more wait, and others are refused at once. So a flood of requests costs
// little, and whoever asked can ask again. The places to wait are divided fairly.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Turns } from './turns.ts'

export interface BusyLimits {
  readonly maxRunning: number
  readonly maxWaiting: number
}

/** Of pages, and of the JSON API together with `/mcp`: programs do not keep people from their pages. */
export const pageLimits: BusyLimits = { maxRunning: 4, maxWaiting: 32 }

/** Seconds after which a refused request may come again. */
export const retryAfter = 2

/** The connection on which somebody waits. */
interface Connection {
  once(event: 'close', listener: () => void): unknown
}

export interface BusyLimit {
  /** Does the work in a turn of its own, once there is room. `refused`: too many wait, or the connection was closed before. */
  run<T>(holder: string, connection: Connection, work: () => Promise<T>): Promise<T | 'refused'>
}

/** The place of the work that runs. */
interface Place {
  leave(): void
  enter(): void
}
const current = new AsyncLocalStorage<Place>()

/** Awaits another machine, such as the platform: meanwhile the place of the work is free for others. */
export async function elsewhere<T>(work: () => Promise<T>): Promise<T> {
  const place = current.getStore()
  place?.leave()
  try {
    return await work()
  } finally {
    place?.enter()
  }
}

interface Waiting {
  readonly decide: (isAdmitted: boolean) => void
}

export function createBusyLimit(turns: Turns, { maxRunning, maxWaiting }: BusyLimits): BusyLimit {
  const places = createFairPlaces<Waiting>({ max: maxWaiting })
  let running = 0

  function admit(): void {
    const [first] = running < maxRunning ? places.items() : []
    if (first === undefined) return
    places.release(first)
    running += 1
    first.decide(true)
  }

  async function admission(holder: string, connection: Connection): Promise<boolean> {
    return new Promise(decide => {
      const waiting = { decide }
      const place = places.take(holder, waiting)
      if (place === 'refused') {
        decide(false)
        return
      }
      place.instead?.decide(false)
      connection.once('close', () => {
        places.release(waiting)
        decide(false)
      })
      admit()
    })
  }

  const place: Place = {
    leave: () => {
      running -= 1
      admit()
    },
    // It is not refused any more: for a moment more may run than otherwise.
    enter: () => void (running += 1),
  }
  return {
    run: async (holder, connection, work) => {
      if (!(await admission(holder, connection))) return 'refused'
      try {
        await turns.next()
        return await current.run(place, work)
      } finally {
        place.leave()
      }
    },
  }
}

// A limited number of places, divided fairly among whoever asks: when all are taken, whoever holds the most gives one up to another who holds fewer.
// So nobody can take all of them, however many ask.
interface FairPlaces<T> {
  /** Takes a place. `instead`: what had to give up its own for it, the newest of whoever holds the most. */
  take(holder: string, item: T): 'refused' | { readonly instead: T | undefined }
  /** Gives a place back; nothing happens if it has none. */
  release(item: T): void
  /** Those that have places, the oldest first. */
  items(): readonly T[]
}

interface PlaceLimits {
  readonly max: number
  /** Maximum for one holder. Default: all. */
  readonly maxEach?: number | undefined
}

export function createFairPlaces<T>({ max, maxEach = max }: PlaceLimits): FairPlaces<T> {
  const holders = new Map<T, string>()
  return {
    take: (holder, item) => {
      const held = Map.groupBy(holders.keys(), one => holders.get(one))
      const own = held.get(holder)?.length ?? 0
      if (own >= maxEach) return 'refused'
      const [most] = holders.size < max ? [] : [...held.values()].sort((a, b) => b.length - a.length)
      if (most !== undefined && most.length <= own + 1) return 'refused'
      const instead = most?.at(-1)
      if (instead !== undefined) holders.delete(instead)
      holders.set(item, holder)
      return { instead }
    },
    release: item => void holders.delete(item),
    items: () => [...holders.keys()],
  }
}
