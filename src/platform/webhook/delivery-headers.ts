// Reads the headers of a delivery, for one profile and one selection of events. The ingress thread loads it.
import { allEventKinds, eventKindOfHeader } from './event-kind.ts'
import { deliveryKey } from './delivery-key.ts'
import { headerOf, type Vendor } from '../vendor.ts'
import type { DeliveryHeaders } from '../port/webhook.ts'
import type { EventSelection } from './event-selection.ts'

export function createDeliveryHeaders(
  profile: Pick<Vendor, 'headerPrefix'>,
  events: Pick<EventSelection, 'takes'>,
): DeliveryHeaders {
  return {
    kinds: allEventKinds,
    token: headers => headerOf(headers, 'Token', profile),
    event: headers => headerOf(headers, 'Event', profile)?.trim() ?? '',
    instance: headers => headerOf(headers, 'Instance', profile),
    unwanted: headers => {
      const kind = eventKindOfHeader(headerOf(headers, 'Event', profile))
      return kind === undefined || events.takes(kind) ? undefined : kind
    },
    key: deliveryKey,
  }
}
