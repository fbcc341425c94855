// What features are given for their work with one token of a platform.
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { leaseOf, type Connection } from './connections.ts'
import type { Line, PartContext, TokenContext } from './feature.ts'
import type { Wiring } from './wiring.ts'

export function tokenContextOf(
  wiring: Omit<Wiring, keyof Line>,
  shared: PartContext,
  { name, config, client, territory, scope }: Connection,
): TokenContext {
  return {
    ...{ ...shared, config, client, territory, scope },
    errors: createErrorThrottle(wiring.log, name),
    leaseOf: work => leaseOf(work, name),
  }
}
