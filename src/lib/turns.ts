// Turns of the event loop for work that may take long: pages, their JSON API, `/mcp`, `/metrics`. A store answers within the turn (SQLite), so a
// request would hold everything until it is answered, and many requests until the last one is. In turns, health checks, webhooks and all else that
// is ready go between two of them: one turn begins in an iteration of the event loop, and work gives way when its turn has taken `maxTurnMs`.
//
// An iteration accepts a single connection. If a turn began in each, a health check would wait for
// as many turns as there are connections before it. So no turn begins while connections and requests arrive, for at most `maxArrivingMs`.
import { setImmediate as later } from 'node:timers'

/** How long a turn may take before work gives way at the next opportunity, ms. */
const maxTurnMs = 20
/** How long arriving requests may delay a turn, ms: a flood of them slows pages down and does not stop them. */
const maxArrivingMs = 250

export interface Turns {
  /** Waits for a turn, in the order of asking. */
  next(): Promise<void>
  /** Goes on within the current turn; waits for the next one if it has taken too long. Call it between two pieces of work. */
  giveWay(): Promise<void>
  /** A connection or a request has arrived: others may wait behind it. */
  arrived(): void
}

export function createTurns(): Turns {
  const waiting: (() => void)[] = []
  let began = -Infinity
  let due = -Infinity
  let hasArrived = false

  function schedule(): void {
    due = performance.now()
    later(begin)
  }

  function begin(): void {
    if (hasArrived && performance.now() - due < maxArrivingMs) {
      hasArrived = false
      later(begin)
      return
    }
    began = performance.now()
    waiting.shift()?.()
    if (waiting.length > 0) schedule()
  }

  async function next(): Promise<void> {
    return new Promise(resolve => {
      waiting.push(resolve)
      if (waiting.length === 1) schedule()
    })
  }

  return {
    next,
    giveWay: async () => (performance.now() - began < maxTurnMs ? undefined : next()),
    arrived: () => {
      hasArrived = true
    },
  }
}

/**
 * The same object, of which each call first gives way, in it and in the objects within it. For sources all of whose methods return promises.
 */
export function inTurns<T extends object>(turns: Turns, source: T): T {
  const wrapped = new Map<object, object>()
  return new Proxy(source, {
    get: (of, name) => {
      const value: unknown = Reflect.get(of, name)
      if (typeof value === 'function')
        return async (...given: unknown[]) => {
          await turns.giveWay()
          return (value as (...all: unknown[]) => unknown).apply(of, given)
        }
      if (typeof value !== 'object' || value === null) return value
      const known = wrapped.get(value) ?? inTurns(turns, value)
      wrapped.set(value, known)
      return known
    },
  })
}
