// Counters of the ingress since start, in memory that all threads share.
import { allEventKinds, type EventKind } from '../platform/webhook/event-kind.ts'
import { refusals, type Refusal } from './webhook-refusals.ts'

export interface WebhookCounts {
  /** All deliveries: the sum of the others and of those in progress. */
  readonly received: number
  readonly accepted: number
  readonly duplicate: number
  /** Events that are not exported, by kind. */
  readonly ignored: Readonly<Partial<Record<EventKind, number>>>
  readonly refused: Readonly<Record<Refusal, number>>
}

export type Counted = 'received' | 'accepted' | 'duplicate' | `ignored ${EventKind}` | `refused ${Refusal}`

const reasons = Object.keys(refusals) as Refusal[]
const names: readonly Counted[] = [
  ...(['received', 'accepted', 'duplicate'] as const),
  ...allEventKinds.map(kind => `ignored ${kind}` as const),
  ...reasons.map(reason => `refused ${reason}` as const),
]
const placeOf = new Map(names.map((name, place) => [name, place]))

/** Room for the counters of one ingress, all zero. */
export function roomForCounts(): SharedArrayBuffer {
  return new SharedArrayBuffer(names.length * BigInt64Array.BYTES_PER_ELEMENT)
}

export function countOne(room: SharedArrayBuffer, name: Counted): void {
  Atomics.add(new BigInt64Array(room), placeOf.get(name) ?? 0, 1n)
}

/** The counters of this moment. */
export function readCounts(room: SharedArrayBuffer): WebhookCounts {
  const places = new BigInt64Array(room)
  const of = (name: Counted): number => Number(Atomics.load(places, placeOf.get(name) ?? 0))
  const ignored = allEventKinds.map(kind => [kind, of(`ignored ${kind}`)] as const).filter(([, count]) => count > 0)
  return {
    received: of('received'),
    accepted: of('accepted'),
    duplicate: of('duplicate'),
    ignored: Object.fromEntries(ignored),
    refused: Object.fromEntries(reasons.map(reason => [reason, of(`refused ${reason}`)])) as Record<Refusal, number>,
  }
}
