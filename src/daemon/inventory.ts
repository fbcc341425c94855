// Starts the inventory, which asks the platform from time to time what it has, if the configuration names anything.
import { askQuery, type QuerySpec } from '../platform/inventory/query.ts'
import { thingsOf } from '../platform/inventory/collectors.ts'
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import { createHash } from 'node:crypto'
import { createInventory } from '../features/inventory/inventory.ts'
import { createTextRedaction } from '../lib/text-redaction.ts'
import { createSingleton } from '../core/find/singleton.ts'
import { defaultPlatform } from './configuration/platforms.ts'
import { startLoop, type Started } from './steps.ts'
import { takingOf } from './processing.ts'
import { takeEvents } from '../core/take-in/take-events.ts'
import { lookUp } from '../platform/inventory/owner.ts'
import type { Asking } from '../platform/rest/api.ts'
import type { Config } from './configuration/options.ts'
import type { Loop } from '../lib/loop.ts'
import { leaseOf, type Connection } from './connections.ts'
import type { Thing } from '../platform/port/inventory.ts'
import type { Wiring } from './wiring.ts'

type AskingOf = (signal: AbortSignal) => Asking

const disconnected: AskingOf = () => {
  throw new Error('no platform is configured')
}

/** Everything that the configuration asks about; without `asking` it can only be counted. */
export function inventoryOf(
  { inventory, queries }: Pick<Config, 'inventory' | 'queries'>,
  asking = disconnected,
): Thing[] {
  return [...thingsOf(inventory, asking), ...queries.map(query => queryThing(query, asking))]
}

export function querySpecOf(query: Config['queries'][number]): QuerySpec {
  return { ...query, fields: query.fields ?? [], attributes: query.attributes ?? {} }
}

function queryThing(query: Config['queries'][number], asking: AskingOf): Thing {
  const spec = querySpecOf(query)
  const { project, group, metric, every } = query
  const digest = createHash('sha256').update(JSON.stringify(spec)).digest('hex').slice(0, 8)
  return {
    ...{ kind: 'query', of: `${metric} ${digest}`, every, atLeast: 1, isBlockable: true },
    ...(project !== undefined && { owner: { as: 'projects', named: project } }),
    ...(group !== undefined && { owner: { as: 'groups', named: group } }),
    collect: async ({ signal }) => askQuery(spec, asking(signal)),
  }
}

/**
 * What the platform has, asked with one token; without one only what features add is asked. `added`: what they add, once for all connections. The part
 * is undefined where there is nothing to ask.
 */
export function startInventory(
  wiring: Wiring,
  connection: Connection | undefined,
  added: readonly Thing[],
): Started<Loop | undefined> {
  const { store, clock, log } = wiring
  const { repositories, leases } = store
  const { name, config, client, scope } = connection ?? { name: defaultPlatform, config: wiring.config }
  const why = 'the inventory is polled again after the next start'
  const asking: AskingOf = client === undefined ? disconnected : signal => client.asking({ priority: 'inside', signal })
  const things = [...(client === undefined ? [] : inventoryOf(config, asking)), ...added]
  const instance = client?.instance ?? config.platform.url ?? added[0]?.of
  if (things.length === 0 || instance === undefined) return startLoop(undefined, why)
  const taking = takingOf(wiring)
  const part = createInventory({
    ...{ things, instance, scope, repositories, clock, log },
    profile: config.platform.profile,
    lookUp: async (owner, signal) => lookUp(owner, asking(signal)),
    lease: createSingleton(leaseOf('inventory', name), leases, clock),
    errors: createErrorThrottle(log, name),
    redactText: createTextRedaction(config.redact ?? []),
    onEvent: async ({ name: kind, severity = 'info', body, attributes }, owner, key) => {
      const about = { instance, kind, name: kind, severity, body, attributes }
      const whose = owner?.project === undefined ? { group: owner?.group?.path } : { project: owner.project }
      await takeEvents([{ ...about, ...whose, object: key, key, content: key }], taking)
    },
  })
  return startLoop(part, why)
}
