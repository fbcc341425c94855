// The profiles that a configuration chooses from: a vendor's names, and what can be read of its platform.
import { collectors } from '../platform/inventory/collectors.ts'
import { eventWords } from '../platform/webhook/event-selection.ts'
import { maxQueryBytes, queryText, type QuerySpec } from '../platform/inventory/query.ts'
import { vendors, type Vendor, type VendorName } from '../platform/vendor.ts'
import type { CollectorHead } from '../platform/inventory/collector.ts'

export interface Profile extends Vendor {
  /** The words that select its webhook events. */
  readonly events: readonly string[]
  /** What the inventory can collect. */
  readonly inventory: readonly CollectorHead[]
  /** The text of a query as it is sent, and the most bytes that the platform takes of it. */
  readonly queryText: (query: Pick<QuerySpec, 'query' | 'project' | 'group' | 'value' | 'fields'>) => string
  readonly maxQueryBytes: number
}

export type ProfileName = VendorName

const read = { events: eventWords, inventory: collectors, queryText, maxQueryBytes }

export const profiles = Object.fromEntries(
  Object.values(vendors).map((vendor): [string, Profile] => [vendor.name, { ...vendor, ...read }]),
) as Record<ProfileName, Profile>
