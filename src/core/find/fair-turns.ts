// Shares a round's requests between groups, by deficit round robin: a group with many pipelines delays the other groups by one turn, however many
// projects it has.
//
//   waiting ──── its balance is above 0 ────► one of its projects is read; the requests are taken from the balance
//      │                                        │ the group's other projects wait on
//      └── otherwise: `quantum` is added to its balance, and the next group has its turn
//
// 1. The groups that were served the longest ago come first.
// 2. A group may overdraw its balance with one project that has many pages. It then pays before its next project, but only while other groups wait.
// 3. A balance above 0 ends with the group's last project: no group saves requests for later.

export interface FairQueue<Item> {
  /** The next item; undefined if none waits. One request is charged at once, so that several readers do not take the same group. */
  take(): Item | undefined
  /** Charges an item that was taken with the requests that it needed. */
  charge(item: Item, requests: number): void
}

/** Requests that a group gets in one turn: a project and its child pipelines. */
const quantum = 2

/** Makes a function that begins a queue; each group's items are taken in the given order. */
export function createFairTurns<Item>(groupOf: (item: Item) => string): (items: readonly Item[]) => FairQueue<Item> {
  /** How many requests each group has left or, below 0, has overdrawn. */
  const balances = new Map<string, number>()
  /** Number of the turn in which a group was served last. Only groups that waited in the queue before, or that have overdrawn. */
  let servedAt = new Map<string, number>()
  let turn = 0

  const balanceOf = (group: string): number => balances.get(group) ?? 0
  const lastTurn = (group: string): number => servedAt.get(group) ?? 0

  return items => {
    const waiting = Map.groupBy(items, groupOf)
    const ring = [...waiting.keys()].sort((a, b) => lastTurn(a) - lastTurn(b))
    servedAt = new Map([...servedAt].filter(([group]) => waiting.has(group) || balances.has(group)))
    return {
      take: () => {
        for (let group = ring[0]; group !== undefined; group = ring[0]) {
          const own = waiting.get(group) ?? []
          if (own.length === 0) {
            if (balanceOf(group) >= 0) balances.delete(group)
            ring.shift()
          } else if (balanceOf(group) > 0) {
            balances.set(group, balanceOf(group) - 1)
            servedAt.set(group, ++turn)
            return own.shift()
          } else {
            balances.set(group, balanceOf(group) + quantum)
            ring.push(...ring.splice(0, 1))
          }
        }
        return undefined
      },
      charge: (item, requests) => {
        const group = groupOf(item)
        balances.set(group, balanceOf(group) - Math.max(0, requests - 1))
      },
    }
  }
}

/**
 * The group that a project counts for: the named one that it is in, if several are named; else the first group of its path below the named one, or
 * below the root.
 */
export function fairGroupOf(groups: readonly string[]): (path: string) => string {
  return path => {
    const named = groups
      .filter(group => path.toLowerCase().startsWith(`${group}/`.toLowerCase()))
      .sort((a, b) => b.length - a.length)[0]
    if (named !== undefined && groups.length > 1) return named
    const below = named === undefined ? path : path.slice(named.length + 1)
    const [first = below, ...rest] = below.split('/')
    if (named === undefined) return first
    return rest.length === 0 ? named : `${named}/${first}`
  }
}
