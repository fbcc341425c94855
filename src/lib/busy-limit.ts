// Bounds requests that may take long: pages, the JSON API, `/mcp` and `/metrics`. So many are answered at the same time, and others are refused at once.
// A store answers within the turn of the event loop (SQLite), so requests that came together would hold everything until the last one is answered.
// Therefore each begins in a turn of its own: health checks, webhooks and whatever else is ready go between two of them.
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'

/** Of pages, and as many of the JSON API together with `/mcp`: programs do not keep people from their pages. */
export const maxRequests = 36

/** Of open pages that ask for themselves: they do not keep people from a page that they click on. */
export const maxOpenPages = 8

/** Seconds after which a refused request may come again. */
export const retryAfter = 2

/** An iteration of the event loop accepts a single connection. In a pause, ms, there are many: whoever comes meanwhile does not wait for one more request. */
const betweenTurns = 2

let last: Promise<unknown> = Promise.resolve()

/** Resolves in a turn of the event loop, one caller after the other. */
export async function ownTurn(): Promise<void> {
  const turn = last.then(async () => {
    // The work of the turn before runs now: the pause begins after it.
    await nextTurn()
    await pause(betweenTurns)
  })
  last = turn
  await turn
}

export interface BusyLimit {
  /** Does the work in a turn of its own. `refused`: too many are under way. */
  run<T>(work: () => Promise<T>): Promise<T | 'refused'>
}

export function createBusyLimit(max: number): BusyLimit {
  let underWay = 0
  return {
    run: async work => {
      if (underWay >= max) return 'refused'
      underWay += 1
      try {
        await ownTurn()
        return await work()
      } finally {
        underWay -= 1
      }
    },
  }
}
