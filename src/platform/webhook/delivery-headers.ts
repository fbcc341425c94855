// Reads the headers of a webhook delivery, for one profile and one selection of events.
import { createHash } from 'node:crypto'
import { allEventKinds, eventKindOfHeader, quickEventKind } from './event-kind.ts'
import { headerOf, type Vendor } from '../vendor.ts'
import type { DeliveryHeaders, Headers } from '../port/webhook.ts'
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
    unwanted: (headers, body) => {
      const named = eventKindOfHeader(headerOf(headers, 'Event', profile))
      if (named === undefined || events.takes(named)) return undefined
      const kind = body === undefined ? named : quickEventKind(named, body())
      return kind === undefined || events.takes(kind) ? undefined : kind
    },
    key: deliveryKey,
  }
}

/**
 * The headers that may contain a delivery's key. `sent`: the headers for a delivery without a verified signature. `signed`: the header that the
 * verified signature covers.
 */
const namesOf = { sent: ['idempotency-key', 'webhook-id'], signed: ['webhook-id'] } as const

/**
 * Returns the deduplication key of a delivery: `Idempotency-Key`, or else `webhook-id` (the platform gives both the same value); undefined if the
 * sender sent neither. For a signed delivery only `webhook-id` counts, because the signature covers it. Otherwise an attacker could replay a captured
 * delivery under another key. Long or unusual keys are hashed, because keys are only compared. `instance`: the verified sender's instance, if several
 * platforms are configured, so that their keys never collide.
 */
function deliveryKey(headers: Headers, proof: keyof typeof namesOf, instance?: string): string | undefined {
  for (const name of namesOf[proof]) {
    const key = headers[name]
    if (typeof key !== 'string' || key.trim() === '') continue
    if (instance !== undefined) return hashed(`${instance}\n${key}`)
    return /^[\x21-\x7e]{1,128}$/.test(key) ? key : hashed(key)
  }
  return undefined
}

function hashed(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}
