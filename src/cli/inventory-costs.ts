// How many requests the inventory costs, in sentences for people.
import { ingestThings, inventoryOf } from '../app/inventory.ts'
import { requestsAnHour } from '../model/inventory.ts'
import type { Config } from '../config/options.ts'

/** Empty without an inventory. */
export function inventoryCosts(config: Config): string[] {
  return [...platformCosts(config), ...ingestCosts(config)]
}

function ingestCosts(config: Config): string[] {
  const things = ingestThings(config)
  if (things.length === 0) return []
  return [`Ingest tokens: ${requestsAnHour(things)} requests an hour to the observability instance.`]
}

function platformCosts(config: Config): string[] {
  const { platform } = config
  const things = inventoryOf(config)
  if (things.length === 0) return []
  if (platform.url === undefined || platform.token.current() === undefined) {
    return ['Inventory and queries: nothing is requested without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.']
  }
  const kinds = [...new Set(things.map(({ kind }) => kind))]
  return [
    `Inventory (${kinds.join(', ')}): at least ${Math.ceil(requestsAnHour(things))} requests an hour, at lowest priority, of the ${60 * platform.budget} that PIPESPAN_PLATFORM_BUDGET allows; see docs/INVENTORY.md for each.`,
  ]
}
