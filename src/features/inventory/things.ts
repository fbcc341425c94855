// Derives from the configuration what the inventory requests from the platform: each project or group with the collector that reads it, and each
// query. Also computes how many requests that costs, and lets `pipespan config check --online` test each query by sending it once.
import { askQuery } from '../../platform/inventory/query.ts'
import { collectors } from '../../platform/inventory/collectors.ts'
import { createHash } from 'node:crypto'
import { isOfView, type Config, type Trial } from '../../daemon/feature.ts'
import { reasonOf } from '../../lib/fault.ts'
import { requestsAnHour, type Owner } from '../../model/inventory.ts'
import { wholeInstance, type Collector } from '../../platform/inventory/collector.ts'
import type { InventoryOptions } from './options.ts'
import type { PlatformClient } from '../../platform/port.ts'
import type { Thing } from '../../platform/port/asking.ts'

export function thingsOf(options: InventoryOptions): Thing[] {
  const named = collectors.flatMap(one =>
    [...new Set(options.inventory[one.kind] ?? [])].map(of => collectedThing(one, of)),
  )
  return [...named, ...queryThings(options)]
}

function collectedThing({ kind, of: as, every, atLeast, hasInstance = false, collect }: Collector, of: string): Thing {
  const instance: Owner | undefined = hasInstance && of === wholeInstance ? {} : undefined
  return {
    ...{ kind, of, every, atLeast, owner: instance === undefined ? { as, named: of } : undefined },
    collect: async ({ ask, owner = instance, now, memory }) => {
      if (ask === undefined || owner === undefined) throw new Error(`${of} was not found`)
      return collect({ ask, owner, now, memory })
    },
  }
}

export function costsOf(options: InventoryOptions, { platform }: Config): string[] {
  const things = thingsOf(options)
  if (things.length === 0) return []
  if (platform.url === undefined || platform.token.current() === undefined)
    return ['Inventory and queries: nothing is requested without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.']
  const kinds = [...new Set(things.map(({ kind }) => kind))]
  return [
    `Inventory (${kinds.join(', ')}): at least ${Math.ceil(requestsAnHour(things))} requests an hour, at lowest priority, of the ${60 * platform.budget} that PIPESPAN_PLATFORM_BUDGET allows; docs/INVENTORY.md lists them by kind.`,
  ]
}

/** Returns the queries for the token that these options belong to. */
function queriesOf(options: InventoryOptions) {
  return options.queries
    .filter(({ platform, project, group }) => isOfView(options, platform, project ?? group))
    .map(query => ({ ...query, fields: query.fields ?? [], attributes: query.attributes ?? {} }))
}

function queryThings(options: InventoryOptions): Thing[] {
  return queriesOf(options).map((query): Thing => {
    const { project, group, metric, every } = query
    const digest = createHash('sha256').update(JSON.stringify(query)).digest('hex').slice(0, 8)
    return {
      ...{ kind: 'query', of: `${metric} ${digest}`, every, atLeast: 1, isBlockable: true },
      ...(project !== undefined && { owner: { as: 'projects', named: project } }),
      ...(group !== undefined && { owner: { as: 'groups', named: group } }),
      collect: async ({ ask }) => {
        if (ask === undefined) throw new Error('no platform is configured')
        return askQuery(query, ask)
      },
    }
  })
}

export async function tryQueries(options: InventoryOptions, client: PlatformClient | undefined): Promise<Trial[]> {
  const queries = queriesOf(options)
  if (queries.length === 0) return []
  if (client === undefined) {
    const what = 'Queries cannot be checked without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.'
    return [{ ok: false, what }]
  }
  const ask = client.asking({ priority: 'enrich' })
  const found: Trial[] = []
  for (const query of queries) {
    const { metric } = query
    try {
      const { points, problem } = await askQuery(query, ask)
      if (problem !== undefined) found.push({ ok: false, what: `${metric}: ${problem}` })
      const [first] = points
      const isOne = points.length === 1 && first !== undefined
      found.push({ ok: true, what: `${metric}: ${isOne ? JSON.stringify(first.value) : `${points.length} points`}.` })
    } catch (error) {
      found.push({ ok: false, what: `${metric}: ${reasonOf(error)}` })
    }
  }
  return found
}
