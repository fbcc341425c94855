// A pipeline's (or some stages') status as the platform computes it from the jobs that count.
import type { SimJob, SimStatus } from './state.ts'

/**
 * A manual job that may fail does not block, and a failed one that may fail is a success with warnings: both are left
 * out unless nothing else is there.
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

/** True when the pipeline came to its end with failures that were allowed. */
export function hasWarnings(jobs: readonly SimJob[]): boolean {
  return jobs.some(({ status, plan }) => status === 'failed' && plan.allowFailure === true)
}

function isIgnored({ status, plan }: SimJob): boolean {
  return plan.allowFailure === true && (status === 'manual' || status === 'failed')
}
