// Limits concurrent requests that may take long: pages, the JSON API, `/mcp` and `/metrics`. Requests beyond the limit are refused at once. A store answers
// within the turn of the event loop (SQLite), so concurrent requests would block everything until the last one is answered. Therefore each request starts
// in a turn of its own: health checks, webhooks and other ready work run between two of them.
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'

/** Maximum number of concurrent requests for pages, and separately for the JSON API with `/mcp`, so that programs do not keep people from their pages. */
export const maxRequests = 36

/** Maximum number of concurrent requests that open pages send by themselves, so that they do not delay a page that a person opens. */
export const maxOpenPages = 8

/** A refused request may be sent again after this time, s. */
export const retryAfter = 2

/**
 * Pause between two requests, ms. One iteration of the event loop accepts one connection. A pause has many iterations, so that a client that connects
 * meanwhile does not wait for another request.
 */
const betweenTurns = 2

let last: Promise<unknown> = Promise.resolve()

/** Resolves for one caller after the other, each in a turn of the event loop of its own. */
export async function ownTurn(): Promise<void> {
  const turn = last.then(async () => {
    // The work of the previous caller runs now, and the pause begins after it.
    await nextTurn()
    await pause(betweenTurns)
  })
  last = turn
  await turn
}

export interface BusyLimit {
  /** Does the work in a turn of its own. `refused`: too many requests are under way. */
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
