// Group commit: what arrives together, or while the commit before is under way, shares one transaction and is answered after it.
//
// 1. An item waits, and starts the loop if it is idle.
// 2. The group is gathered for a few turns of the event loop, until none brings a new item.
// 3. The group is committed. SQLite commits one group at a time, PostgreSQL several.
// 4. Each item gets its own outcome. One that waits for too long gets an error, and is committed nevertheless if its group is under way already. Its
//    sender then sends it again, and its key shows that it is known.
//
// A commit for each delivery would halve the rate, because each commit waits for the disk.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreError } from '../../lib/fault.ts'
import { after, type Timer } from '../../lib/timer.ts'

export interface GroupOptions<Item, Outcome> {
  /** Items of one group. */
  readonly maxItems: number
  /** Groups under way at the same time. */
  readonly atOnce: number
  /** How long an item waits for its outcome, ms. */
  readonly timeout: number
  /** One outcome for each item, in their order. An error is the outcome of its item alone; a rejection is that of all. */
  readonly commit: (items: readonly Item[]) => Promise<readonly (Outcome | Error)[]>
}

export interface Groups<Item, Outcome> {
  /** Rejects with a StoreError after the timeout; the item may still be committed then. */
  add(item: Item): Promise<Outcome>
  /** Resolves when nothing waits and nothing is under way. */
  drain(): Promise<void>
}

interface Waiting<Item, Outcome> {
  readonly item: Item
  readonly timer: Timer
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/** A group is complete after so many turns of the event loop without a new item. */
const quietTurns = 3
/** How long a group is gathered, ms: about as long as its commit takes. */
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

  /** The event loop accepts one connection in a turn, and senders open one for each delivery. So each turn brings few, even if hundreds wait. */
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
