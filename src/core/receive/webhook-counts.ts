// Counters of the webhook route since the daemon started, and the reasons for rejecting a delivery with the response to each.
export interface RefusalAnswer {
  readonly status: 400 | 401 | 413 | 415 | 429 | 503
  /** The message in the response. The platform stores it and shows it to its users. */
  readonly message: string
  /** The value of the Retry-After header in seconds. */
  readonly retryAfter?: number
}

export const refusals = {
  token: { status: 401, message: 'The secret token is missing or wrong.' },
  signature: { status: 401, message: 'The signature is missing or wrong.' },
  timestamp: {
    status: 401,
    message: "The signature's timestamp is missing, or differs by more than 300 s from this machine's clock.",
  },
  type: { status: 415, message: 'The content type must be application/json.' },
  encoding: { status: 415, message: 'The body must not be compressed.' },
  size: { status: 413, message: 'The body is too large.' },
  incomplete: { status: 400, message: 'The body ended early.' },
  shape: { status: 400, message: 'The body is not a JSON object.' },
  rate: { status: 429, message: 'Too many requests without the right secret; try again soon.', retryAfter: 1 },
  budget: { status: 503, message: 'Too many request bodies at once; try again soon.', retryAfter: 5 },
  full: { status: 503, message: 'The store is full; webhooks are refused until there is room.', retryAfter: 60 },
  store: { status: 503, message: 'The store cannot be written at the moment.', retryAfter: 30 },
} as const satisfies Record<string, RefusalAnswer>

export type Refusal = keyof typeof refusals

export interface WebhookCounts {
  /** The number of all deliveries: the sum of the other counters, plus the deliveries in progress. */
  readonly received: number
  readonly accepted: number
  readonly duplicate: number
  /** The number of events that are not exported, by kind. */
  readonly ignored: Readonly<Record<string, number>>
  readonly refused: Readonly<Record<Refusal, number>>
}

export type Counted = 'received' | 'accepted' | 'duplicate' | `ignored ${string}` | `refused ${Refusal}`

export interface WebhookCounter {
  count(name: Counted): void
  read(): WebhookCounts
}

/** Creates the counters. `kinds` lists all event kinds. */
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
