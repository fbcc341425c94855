// Maps the platform's statuses and merge request states to the values of the CI/CD conventions.
import { ERROR_TYPE_VALUE_OTHER } from '@opentelemetry/semantic-conventions'
import { meaningOf } from './failure-reasons.ts'
import { notBlank } from './row.ts'
import { isKnownStatus, type KnownStatus, type Status, hasFailed } from '../../../model/status.ts'

export const results = ['success', 'failure', 'error', 'timeout', 'cancellation', 'skip'] as const
export type Result = (typeof results)[number]
export type RunState = 'pending' | 'executing' | 'finalizing'

/** The outcome of a pipeline or a job. There is no result if the pipeline or job has not ended, or if its status is unknown to this version. */
export interface Outcome {
  readonly result?: Result | undefined
  /** The platform's failure reason, which determines the outcome. Undefined if no reason is known. */
  readonly reason?: string | undefined
}

const pending = { state: 'pending' } as const
const executing = { state: 'executing' } as const

/** All statuses that the platform documents. The result of `failed` applies if no failure reason is known. */
export const statusMeanings: Readonly<Record<KnownStatus, { readonly state: RunState; readonly result?: Result }>> = {
  success: { state: 'finalizing', result: 'success' },
  failed: { state: 'finalizing', result: 'failure' },
  canceled: { state: 'finalizing', result: 'cancellation' },
  skipped: { state: 'finalizing', result: 'skip' },
  created: pending,
  waiting_for_resource: pending,
  preparing: pending,
  waiting_for_callback: pending,
  pending,
  scheduled: pending,
  manual: pending,
  running: executing,
  canceling: executing,
}

/** The states of a merge request. Other states are exported unchanged. */
export const changeStates: Readonly<Record<string, string>> = {
  opened: 'open',
  closed: 'closed',
  merged: 'merged',
  locked: 'wip',
}

/** Returns the state of a run. Undefined for a status that is unknown to this version. */
export function stateOf(status: Status): RunState | undefined {
  return isKnownStatus(status) ? statusMeanings[status].state : undefined
}

export function outcomeOfJob(job: { readonly status: Status; readonly failureReason?: string | undefined }): Outcome {
  const { status } = job
  if (!hasFailed(status)) return isKnownStatus(status) ? { result: statusMeanings[status].result } : {}
  const reason = notBlank(job.failureReason)
  return { result: meaningOf(reason ?? '').result, reason }
}

/**
 * Returns the outcome of a pipeline. If the pipeline failed, one of its jobs determines the outcome: `failure` takes precedence over `timeout`, and
 * `timeout` over `error`. Among equal results, the first with a reason wins. `failures`: the failure reasons in order of job id; a reason is empty if
 * the job has none.
 */
export function outcomeOfPipeline(status: Status, failures: readonly string[]): Outcome {
  if (!hasFailed(status)) return outcomeOfJob({ status })
  for (const result of ['failure', 'timeout', 'error'] as const) {
    const deciding = failures.filter(reason => meaningOf(reason).result === result)
    if (deciding.length > 0) return { result, reason: deciding.find(reason => notBlank(reason) !== undefined) }
  }
  return { result: 'failure' }
}

/** Returns the value of `error.type`: the failure reason, or else `_OTHER`. Undefined if the outcome is not an error. */
export function errorTypeOf({ result, reason }: Outcome): string | undefined {
  if (result !== 'failure' && result !== 'error' && result !== 'timeout') return undefined
  return reason ?? ERROR_TYPE_VALUE_OTHER
}

/** Returns the state of a merge request for export. `draft`: whether an open merge request is a draft. */
export function changeStateOf(state: string | undefined, draft?: boolean): string | undefined {
  if (state === undefined) return undefined
  if (state === 'opened' && draft === true) return 'wip'
  return Object.hasOwn(changeStates, state) ? changeStates[state] : state
}
