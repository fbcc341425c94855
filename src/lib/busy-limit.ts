// Limits concurrent requests that may take long: pages, the JSON API, `/mcp` and `/metrics`. Requests beyond the limit are rejected immediately.
// SQLite runs a query within one turn of the event loop, so concurrent requests would block everything until the last of them is answered. Therefore
// each request starts in its own turn: health checks, webhooks and other ready work run between two requests.
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'

/**
 * The maximum number of concurrent page requests. The same limit applies separately to the JSON API together with `/mcp`, so that programs do not
 * keep people from their pages.
 */
export const maxRequests = 36

/** The maximum number of concurrent requests that open pages send automatically. This limit keeps them from delaying a page that a person opens. */
export const maxOpenPages = 8

/** The time in seconds after which a rejected request may be retried. */
export const retryAfter = 2

/**
 * The pause between two requests, in ms. One iteration of the event loop accepts one connection. A pause includes many iterations, so a client that
 * connects during the pause does not wait for another request.
 */
const betweenTurns = 2

let last: Promise<unknown> = Promise.resolve()

/** Resolves for one caller at a time, for each in a separate turn of the event loop. */
export async function ownTurn(): Promise<void> {
  const turn = last.then(async () => {
    // The previous caller's work runs in the current turn, and the pause begins after it.
    await nextTurn()
    await pause(betweenTurns)
  })
  last = turn
  await turn
}

export interface BusyLimit {
  /** Runs the work in its own turn of the event loop. Returns `refused` if too many requests are already running. */
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
