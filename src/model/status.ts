// The platform's CI statuses and what they mean for merging and settling. Statuses of a newer platform pass through as strings.

/** Every status the platform documents for a pipeline or a job (REST document, "Pipeline"). */
export const knownStatuses = [
  'created',
  'preparing',
  'waiting_for_resource',
  'waiting_for_callback',
  'pending',
  'scheduled',
  'manual',
  'skipped',
  'running',
  'canceling',
  'success',
  'failed',
  'canceled',
] as const

export type KnownStatus = (typeof knownStatuses)[number]

/** A status as the platform says it; a status this version does not know is kept as it came. */
export type Status = KnownStatus | (string & {})

/**
 * How far along a job is: not run < running < canceling < finished. Between two observations of equal times the higher
 * rank is the newer truth. An unknown status ranks just below running: it is neither finished nor provably idle.
 */
const ranks: Record<KnownStatus, number> = {
  created: 0,
  preparing: 1,
  waiting_for_resource: 2,
  waiting_for_callback: 2,
  pending: 3,
  scheduled: 4,
  manual: 5,
  skipped: 6,
  running: 8,
  canceling: 9,
  success: 10,
  failed: 10,
  canceled: 10,
}
const unknownRank = 7

export function isKnownStatus(status: string): status is KnownStatus {
  return Object.hasOwn(ranks, status)
}

export function rankOf(status: Status): number {
  return isKnownStatus(status) ? ranks[status] : unknownRank
}

/** A pipeline that will not change any more unless somebody retries it. Read from the status alone. */
export function isTerminal(status: Status): boolean {
  return status === 'success' || status === 'failed' || status === 'canceled' || status === 'skipped'
}

/** Has run, or was stopped: its times are final. */
export function isFinished(status: Status): boolean {
  return status === 'success' || status === 'failed' || status === 'canceled'
}

/**
 * Work that is under way or queued: it delays settling. `created`, `manual`, `scheduled` and `skipped` wait for something
 * else or for nothing, and so does not (the platform's own notion of an active job; a decision record says why).
 */
export function isActive(status: Status): boolean {
  switch (status) {
    case 'created':
    case 'manual':
    case 'scheduled':
    case 'skipped':
    case 'success':
    case 'failed':
    case 'canceled':
      return false
    default:
      return true
  }
}

/** Will go on by itself: it has not ended, and waits for no person and no clock. */
export function isUnderWay(status: Status): boolean {
  return !isTerminal(status) && !isBlocked(status)
}

/** Waits for a person or a clock: such a pipeline may rest like this for ever. */
export function isBlocked(status: Status): boolean {
  return status === 'manual' || status === 'scheduled'
}
