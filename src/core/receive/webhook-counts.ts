// Counters of the webhook route since start.
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
  count(name: Counted): void
  /** The counters of this moment. */
  read(): WebhookCounts
}

/** `kinds`: all kinds of events. */
export function createWebhookCounts(kinds: readonly string[]): WebhookCounter {
  const counts = new Map<string, number>()
  const of = (name: Counted): number => counts.get(name) ?? 0
  return {
    count: name => void counts.set(name, of(name) + 1),
    read: () => ({
      ...{ received: of('received'), accepted: of('accepted'), duplicate: of('duplicate') },
      ignored: Object.fromEntries(kinds.map(kind => [kind, of(`ignored ${kind}`)] as const).filter(([, n]) => n > 0)),
      refused: Object.fromEntries(
        (Object.keys(refusals) as Refusal[]).map(one => [one, of(`refused ${one}`)]),
      ) as Record<Refusal, number>,
    }),
  }
}
