// Shares the requests of a polling round between groups by deficit round robin. A group with many pipelines delays the other groups by one turn,
// however many projects it has.
//
//   waiting ──── its balance is above 0 ────► one of its projects is read; the requests are deducted from the balance
//      │                                        │ the group's other projects keep waiting
//      └── otherwise: `quantum` is added to its balance, and it is the next group's turn
//
// 1. The groups whose last turn was the longest ago come first.
// 2. A group may overdraw its balance with one project that has many pages. It must then pay that back before its next project, but only while other
//    groups wait.
// 3. A balance above 0 expires with the group's last project: no group saves requests for later.

export interface FairQueue<Item> {
  /**
   * Returns the next item; undefined if no item is waiting. One request is charged immediately, so that several readers do not choose the same group.
   */
  take(): Item | undefined
  /** Charges the group for the requests that reading one of its projects took. */
  charge(item: Item, requests: number): void
}

/** The number of requests that a group gets in one turn: enough for a project and its child pipelines. */
const quantum = 2

/** Returns a function that creates a queue of items. The items of each group are returned in the given order. */
export function createFairTurns<Item>(groupOf: (item: Item) => string): (items: readonly Item[]) => FairQueue<Item> {
  /** The number of requests that each group may still send. A negative number means that the group has overdrawn its balance. */
  const balances = new Map<string, number>()
  /** The turn number of each group's last turn. Contains only groups that waited in the previous queue, or whose balance is overdrawn. */
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
 * Returns the group to which a project belongs in the fair queue. If several groups are configured, it is the project's configured group; otherwise
 * it is the first subgroup below the one configured group, or the top-level group.
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
