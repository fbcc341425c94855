// How many commits environments are behind, for the pages: requested from the platform's API.
import { createCountBehind, type CountBehind as CountOnPlatform } from '../features/deployments/port.ts'
import { connectionFor, perMinuteForPeople, type Connection } from './connections.ts'
import type { Clock } from '../lib/clock.ts'
import type { PagesSources } from '../console/ports.ts'

function countOnPlatform(connection: Connection, clock: Clock): CountOnPlatform {
  return createCountBehind({ client: connection.client, clock, maxPerMinute: perMinuteForPeople(connection) })
}

/** Undefined where no platform can be asked. */
export function countBehindOf(connections: readonly Connection[], clock: Clock): PagesSources['countBehind'] {
  if (connections.length === 0) return undefined
  const counts = connections.map(one => ({ territory: one.territory, count: countOnPlatform(one, clock) }))
  return async ({ instance, path, ...of }) =>
    connectionFor(counts, instance, path)?.count(of) ?? {
      as: 'refused',
      what: 'The project is on a platform for which the daemon has no token.',
      remedy: 'Compare the two there.',
    }
}
