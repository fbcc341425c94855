// The profiles that a configuration can choose from. A profile contains a vendor's names and the events that its platform can send.
import { eventWords } from '../platform/webhook/event-selection.ts'
import { vendors, type Vendor, type VendorName } from '../platform/vendor.ts'

export interface Profile extends Vendor {
  /** The names that select the platform's webhook events. */
  readonly events: readonly string[]
}

export type ProfileName = VendorName

export const profiles = Object.fromEntries(
  Object.values(vendors).map((vendor): [string, Profile] => [vendor.name, { ...vendor, events: eventWords }]),
) as Record<ProfileName, Profile>
