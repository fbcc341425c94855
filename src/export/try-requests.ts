// "Try now" among replicas: the replica that gets the request notes it in the store, and replicas with an open circuit breaker read it, so that the
// pauses of all replicas end.
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Millis } from '../model/instant.ts'
import type { Repositories } from '../store/ports/repository.ts'

export type TryRequests = Pick<Repositories['tryRequests'], 'get' | 'change' | 'now'>

/** Notes for all replicas that what waits for a destination is to be tried now; answers when, by the store's clock. */
export async function noteTry(requests: TryRequests, destination: string): Promise<Millis> {
  return requests.change({ destination }, (_, at) => ({ document: { destination, at }, result: at }))
}

export interface TryWatch {
  /** True once for each request that was noted after `since`, by `elapsed`. */
  isAsked(since: Millis): Promise<boolean>
  /** This request, by what `noteTry` answered, was heeded. */
  heeded(at: Millis): void
}

/** How one queue learns of requests for its destination. */
export function watchTries(requests: TryRequests, destination: string, clock: Clock): TryWatch {
  let last: Millis | undefined
  return {
    isAsked: async since => {
      const request = await requests.get({ destination })
      if (request === undefined || request.at === last) return false
      last = request.at
      // As an age, because the clocks of the store and of this process differ.
      return (await requests.now()) - request.at <= elapsed(clock) - since
    },
    heeded: at => {
      last = at
    },
  }
}
