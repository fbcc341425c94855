// What the ingress has received since a reload: pages begin anew with the parts, while the ingress goes on.
import type { Ingress } from './ingress-thread-handle.ts'
import type { WebhookCounts } from '../ingress/webhook-counts.ts'

/** `before`: what it had received then; undefined: all counts. */
export function receivedSince(
  ingress: Ingress,
  before: WebhookCounts | undefined,
): Pick<Ingress, 'counts' | 'url' | 'lastAccepted'> {
  if (before === undefined) return ingress
  return {
    get counts() {
      return less(ingress.counts, before)
    },
    get url() {
      return ingress.url
    },
    get lastAccepted() {
      return ingress.lastAccepted
    },
  }
}

function less(now: WebhookCounts, before: WebhookCounts): WebhookCounts {
  const each = (
    all: Readonly<Record<string, number>>,
    some: Readonly<Record<string, number>>,
  ): Record<string, number> =>
    Object.fromEntries(Object.entries(all).map(([name, count]) => [name, count - (some[name] ?? 0)]))
  const { ignored, refused, ...counts } = now
  const { ignored: ignoredBefore, refused: refusedBefore, ...countsBefore } = before
  return {
    ...each(counts, countsBefore),
    ignored: each(ignored, ignoredBefore),
    refused: each(refused, refusedBefore),
  } as unknown as WebhookCounts
}
