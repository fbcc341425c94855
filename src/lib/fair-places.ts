// A limited number of places, divided fairly among whoever asks: when all are taken, whoever holds the most gives one up to another who holds fewer.
// So nobody can take all of them, however many ask.

export interface FairPlaces<T> {
  /** Takes a place. `instead`: what had to give up its own for it, the newest of whoever holds the most. */
  take(holder: string, item: T): 'refused' | { readonly instead: T | undefined }
  /** Gives a place back; nothing happens if it has none. */
  release(item: T): void
  /** Those that have places, the oldest first. */
  items(): readonly T[]
}

export interface PlaceLimits {
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
