// Group commit: items that arrive together, or during the previous commit, share one transaction and are answered after it.
//
// 1. An item is queued, and starts the loop if the loop is idle.
// 2. A group is gathered over a few turns of the event loop, until several turns bring no new item.
// 3. The group is committed. SQLite commits one group at a time, PostgreSQL several.
// 4. Each item gets its own outcome. An item that waits for too long gets an error, but is still committed if its group is already being committed.
//    If its sender then repeats the delivery, its key identifies it as a duplicate.
//
// A separate commit for each delivery would halve the throughput, because each commit waits for the disk.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreError } from '../../lib/fault.ts'
import { after, type Timer } from '../../lib/timer.ts'

export interface GroupOptions<Item, Outcome> {
  readonly maxItems: number
  /** The maximum number of groups that are committed concurrently. */
  readonly atOnce: number
  /** The maximum time in ms that an item waits for its outcome. */
  readonly timeout: number
  /**
   * Commits a group of items. Returns one outcome per item, in the order of the items. If an outcome is an error, only its item has failed. If the
   * promise rejects, all items have failed.
   */
  readonly commit: (items: readonly Item[]) => Promise<readonly (Outcome | Error)[]>
}

export interface Groups<Item, Outcome> {
  /** Adds an item and resolves with its outcome. Rejects with a StoreError after the timeout; the item may still be committed later. */
  add(item: Item): Promise<Outcome>
  /** Resolves when no items are waiting or being committed. */
  drain(): Promise<void>
}

interface Waiting<Item, Outcome> {
  readonly item: Item
  readonly timer: Timer
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/** The number of turns of the event loop without a new item after which a group is complete. */
const quietTurns = 3
/** The maximum time in ms spent gathering a group. It is about as long as the group's commit takes. */
const maxGathering = 5

export function createGroups<Item, Outcome>(options: GroupOptions<Item, Outcome>): Groups<Item, Outcome> {
  const { maxItems, atOnce, timeout } = options
  const waiting: Waiting<Item, Outcome>[] = []
  const underWay = new Set<Promise<void>>()
  let running: Promise<void> | undefined

  async function commitAll(): Promise<void> {
    while (waiting.length > 0) {
      await gather()
      const group = waiting.splice(0, maxItems)
      if (group.length > 0) {
        const done: Promise<void> = commit(group).finally(() => underWay.delete(done))
        underWay.add(done)
      }
      while (underWay.size >= atOnce) await Promise.race(underWay)
    }
    running = undefined
  }

  /**
   * Gathers a group of items over several turns. The event loop accepts one connection per turn, and senders open one connection per delivery. So
   * each turn brings few items, even if hundreds are waiting.
   */
  async function gather(): Promise<void> {
    const end = performance.now() + maxGathering
    let quiet = 0
    while (quiet < quietTurns && waiting.length < maxItems && performance.now() < end) {
      const before = waiting.length
      await nextTurn()
      quiet = waiting.length > before ? 0 : quiet + 1
    }
  }

  async function commit(group: readonly Waiting<Item, Outcome>[]): Promise<void> {
    let outcomes: readonly (Outcome | Error)[]
    try {
      outcomes = await options.commit(group.map(({ item }) => item))
    } catch (error) {
      outcomes = group.map(() => error as Error)
    }
    group.forEach(({ timer, resolve, reject }, at) => {
      timer.stop()
      const outcome = outcomes[at]
      if (outcome === undefined || outcome instanceof Error) reject(outcome)
      else resolve(outcome)
    })
  }

  return {
    add: item =>
      new Promise((resolve, reject) => {
        const one = { item, timer: after(timeout, giveUp, giveUp), resolve, reject }
        waiting.push(one)
        running ??= commitAll()
        function giveUp(): void {
          const at = waiting.indexOf(one)
          if (at >= 0) waiting.splice(at, 1)
          reject(
            new StoreError(
              `The store has not answered within ${timeout / 1000} s.`,
              'Check that the database is reachable.',
            ),
          )
        }
      }),
    drain: async () => {
      while (running !== undefined || underWay.size > 0) await Promise.all([running, ...underWay])
    },
  }
}
