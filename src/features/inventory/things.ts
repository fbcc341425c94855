// What the configuration asks about: each project or group with the collector that reads it, and each query; and how many requests that costs.
import { collectors } from '../../platform/inventory/collectors.ts'
import { queryThings } from './queries.ts'
import { requestsAnHour, type Owner } from '../../model/inventory.ts'
import { wholeInstance, type Collector } from '../../platform/inventory/collector.ts'
import type { Config } from '../../daemon/feature.ts'
import type { InventoryOptions } from './options.ts'
import type { Thing } from '../../platform/port/thing.ts'

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
    `Inventory (${kinds.join(', ')}): at least ${Math.ceil(requestsAnHour(things))} requests an hour, at lowest priority, of the ${60 * platform.budget} that PIPESPAN_PLATFORM_BUDGET allows; see docs/INVENTORY.md for each.`,
  ]
}
