// The platform's pipeline and job statuses, and what they mean for merging and settling. Unknown statuses of a newer platform are passed on as
// strings.

/** Every status that the platform documents for pipelines and jobs. */
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

/** A status as the platform reports it. Unknown statuses are kept. */
export type Status = KnownStatus | (string & {})

/**
 * The rank of a status shows how far a job has progressed: not run < running < canceling < finished. If two observations have equal times, the one
 * with the higher rank is newer. An unknown status ranks just below running, because it is neither finished nor certainly idle.
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

/** True if a pipeline in this status will not change anymore unless it is retried. */
export function isTerminal(status: Status): boolean {
  return status === 'success' || status === 'failed' || status === 'canceled' || status === 'skipped'
}

/** True if a pipeline or job has run or was canceled, so that its times are final. */
export function isFinished(status: Status): boolean {
  return status === 'success' || status === 'failed' || status === 'canceled'
}

/**
 * True for work that is running or queued, which delays settling.
 *
 * `created`, `manual`, `scheduled` and `skipped` do not count, because they wait for something else (the platform's own definition of an active job).
 * A `created` job waits for other jobs, but a finished pipeline has none left: the documentation's own example of a successful pipeline contains a
 * job that never runs. Waiting for that job would raise the export delay from 5 s to 125 s.
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

/** True if a pipeline or job will proceed on its own: it has not ended, and it is not waiting for a person or a schedule. */
export function isUnderWay(status: Status): boolean {
  return !isTerminal(status) && !isBlocked(status)
}

/** True if a pipeline or job is waiting for a person or a schedule, possibly forever. */
export function isBlocked(status: Status): boolean {
  return status === 'manual' || status === 'scheduled'
}

export function hasFailed(status: string | undefined): boolean {
  return status === 'failed'
}

export function hasSucceeded(status: string | undefined): boolean {
  return status === 'success'
}

/** True if a job is waiting for a runner. */
export function isPending(status: string | undefined): boolean {
  return status === 'pending'
}

/** True if a job occupies a runner. */
export function isRunning(status: string | undefined): boolean {
  return status === 'running' || status === 'canceling'
}

export function wasCanceled(status: string | undefined): boolean {
  return status === 'canceled'
}

export function wasSkipped(status: string | undefined): boolean {
  return status === 'skipped'
}

export function isManual(status: string | undefined): boolean {
  return status === 'manual'
}
