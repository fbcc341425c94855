// How many commits environments are behind, for the pages and `/metrics`: requested from the platform's API.
import {
  createBehindCounts,
  createCountBehind,
  type CountBehind as CountOnPlatform,
} from '../features/deployments/count-behind.ts'
import { connectionFor, perMinuteForPeople, type Connection } from './connections.ts'
import type { Clock } from '../lib/clock.ts'
import type { Context } from './context.ts'
import type { CountBehind } from '../features/deployments/latest-environment.ts'
import type { PagesSources } from '../console/ports.ts'

/** For scrapes, which get what was counted before. Undefined where no platform can be asked. */
export function behindCountsOf({ clock, log }: Context, connections: readonly Connection[]): CountBehind | undefined {
  if (connections.length === 0) return undefined
  const counts = connections.map(connection => ({
    territory: connection.territory,
    countOf: createBehindCounts({
      count: countOnPlatform(connection, clock),
      clock,
      onError: err => log.error({ err }, 'the commits that an environment is behind cannot be counted'),
    }),
  }))
  return ({ instance, path, ...of }) => connectionFor(counts, instance, path)?.countOf(of)
}

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
