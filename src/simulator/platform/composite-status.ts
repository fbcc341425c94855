// The status of a pipeline or of some stages, computed from its jobs as the platform does.
import type { SimJob, SimStatus } from './state.ts'

/**
 * A manual job that may fail does not block, and a failed job that may fail is a warning: both count only if there are
 * no other jobs.
 */
export function compositeStatus(jobs: readonly SimJob[]): SimStatus {
  const present = new Set(jobs.filter(job => !isIgnored(job)).map(({ status }) => status))
  const only = (...statuses: SimStatus[]): boolean => [...present].every(status => statuses.includes(status))
  if (present.size === 0) return jobs.some(({ status }) => status === 'failed') ? 'success' : 'skipped'
  if (only('skipped')) return jobs.some(job => isIgnored(job) && job.status === 'failed') ? 'success' : 'skipped'
  if (only('success', 'skipped')) return 'success'
  if (only('created')) return 'created'
  if (only('canceled', 'success', 'skipped')) return 'canceled'
  if (only('pending', 'created', 'skipped')) return 'pending'
  if (present.has('running') || present.has('pending')) return 'running'
  if (present.has('manual')) return 'manual'
  if (present.has('created')) return 'running'
  return 'failed'
}

/** True if there are failures that are allowed. */
export function hasWarnings(jobs: readonly SimJob[]): boolean {
  return jobs.some(({ status, plan }) => status === 'failed' && plan.allowFailure === true)
}

function isIgnored({ status, plan }: SimJob): boolean {
  return plan.allowFailure === true && (status === 'manual' || status === 'failed')
}
