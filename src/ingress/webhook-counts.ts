// Counters of the ingress since start, in memory that all threads share.
import { refusals, type Refusal } from './webhook-refusals.ts'

export interface WebhookCounts {
  /** All deliveries: the sum of the others and of those in progress. */
  readonly received: number
  readonly accepted: number
  readonly duplicate: number
  /** Events that are not exported, by kind. */
  readonly ignored: Readonly<Record<string, number>>
  readonly refused: Readonly<Record<Refusal, number>>
}

export type Counted = 'received' | 'accepted' | 'duplicate' | `ignored ${string}` | `refused ${Refusal}`

export interface WebhookCounter {
  /** To be shared with another thread. */
  readonly room: SharedArrayBuffer
  count(name: Counted): void
  /** The counters of this moment. */
  read(): WebhookCounts
}

const reasons = Object.keys(refusals) as Refusal[]

/** `kinds`: all kinds of events. `room`: of the counter of another thread; without it all begins at zero. */
export function createWebhookCounts(
  kinds: readonly string[],
  room = new SharedArrayBuffer((3 + kinds.length + reasons.length) * BigInt64Array.BYTES_PER_ELEMENT),
): WebhookCounter {
  const names: readonly Counted[] = [
    ...(['received', 'accepted', 'duplicate'] as const),
    ...kinds.map(kind => `ignored ${kind}` as const),
    ...reasons.map(reason => `refused ${reason}` as const),
  ]
  const placeOf = new Map(names.map((name, place) => [name, place]))
  const places = new BigInt64Array(room)
  const of = (name: Counted): number => Number(Atomics.load(places, placeOf.get(name) ?? 0))
  return {
    room,
    count: name => void Atomics.add(places, placeOf.get(name) ?? 0, 1n),
    read: () => ({
      ...{ received: of('received'), accepted: of('accepted'), duplicate: of('duplicate') },
      ignored: Object.fromEntries(kinds.map(kind => [kind, of(`ignored ${kind}`)] as const).filter(([, n]) => n > 0)),
      refused: Object.fromEntries(reasons.map(one => [one, of(`refused ${one}`)])) as Record<Refusal, number>,
    }),
  }
}
