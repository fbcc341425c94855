// What asking what the platform has costs in requests, in sentences for people.
import { inventoryOf } from '../app/inventory.ts'
import { collectors } from '../platform/inventory/collectors.ts'
import type { Config } from '../config/options.ts'

const hour = 3_600_000

/** Empty where nothing is asked about. */
export function inventoryCosts(config: Config): string[] {
  const { platform } = config
  const things = inventoryOf(config)
  if (things.length === 0) return []
  if (platform.url === undefined || platform.token.current() === undefined) {
    return ['Inventory and queries: nothing is requested without PIPESPAN_PLATFORM_URL and PIPESPAN_PLATFORM_TOKEN.']
  }
  const least = things.reduce((sum, { kind, every }) => sum + atLeast(kind) * (hour / every), 0)
  const kinds = [...new Set(things.map(({ kind }) => kind))]
  return [
    `Inventory (${kinds.join(', ')}): at least ${Math.ceil(least)} requests an hour, at lowest priority; see docs/INVENTORY.md for each.`,
  ]
}

function atLeast(kind: string): number {
  return collectors.find(one => one.kind === kind)?.atLeast ?? 1
}
