// The profiles that a configuration chooses from: a vendor's names, and what can be read of its platform.
import { collectors } from './inventory/collectors.ts'
import { eventWords } from './webhook/event-selection.ts'
import { vendors, type Vendor, type VendorName } from './vendor.ts'
import type { CollectorHead } from './inventory/collector.ts'

export interface Profile extends Vendor {
  /** The words that select its webhook events. */
  readonly events: readonly string[]
  /** What the inventory can collect. */
  readonly inventory: readonly CollectorHead[]
}

export type ProfileName = VendorName

const read = { events: eventWords, inventory: collectors }

export const profiles = Object.fromEntries(
  Object.values(vendors).map((vendor): [string, Profile] => [vendor.name, { ...vendor, ...read }]),
) as Record<ProfileName, Profile>
