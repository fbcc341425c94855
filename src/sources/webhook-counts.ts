// What the webhook door has seen since start. Plain numbers, for whoever shows them; every key is of a closed set.
import type { HookKind } from '../platform/hook-kind.ts'
import { refusals, type Refusal } from './webhook-refusals.ts'

export interface WebhookCounts {
  /** Deliveries that reached the door: the sum of the others, but for those still in hand. */
  received: number
  accepted: number
  duplicate: number
  /** Events that tell nothing of pipelines, by kind. */
  readonly ignored: Partial<Record<HookKind, number>>
  readonly refused: Record<Refusal, number>
}

export function createWebhookCounts(): WebhookCounts {
  const refused = Object.fromEntries(Object.keys(refusals).map(reason => [reason, 0])) as Record<Refusal, number>
  return { received: 0, accepted: 0, duplicate: 0, ignored: {}, refused }
}
