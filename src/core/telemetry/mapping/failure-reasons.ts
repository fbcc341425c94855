// The meaning of the platform's failure reasons: the result according to the CI/CD conventions, and who can fix the failure.

export interface FailureMeaning {
  readonly result: 'failure' | 'timeout' | 'error'
  /** Who can fix the failure: the owners of the pipeline, or the operators of the platform and its runners. */
  readonly domain: 'user' | 'platform' | 'unknown'
  /** The part of the CI system that failed. Undefined if none did. */
  readonly component?: 'runner' | 'scheduler' | 'api' | undefined
}

const failure = { result: 'failure' } as const
const timeout = { result: 'timeout' } as const
const error = { result: 'error' } as const
const user = { domain: 'user' } as const
const platform = { domain: 'platform' } as const
const unknown = { domain: 'unknown' } as const
const runner = { ...platform, component: 'runner' } as const
const scheduler = { ...platform, component: 'scheduler' } as const
const api = { ...platform, component: 'api' } as const

/** All failure reasons that the platform documents. */
export const failureReasons: ReadonlyMap<string, FailureMeaning> = new Map<string, FailureMeaning>([
  ['script_failure', { ...failure, ...user }],
  ['deployment_rejected', { ...failure, ...user }],
  ['failed_outdated_deployment_job', { ...failure, ...user }],
  ['forward_deployment_failure', { ...failure, ...user }],
  ['protected_environment_failure', { ...failure, ...user }],
  ['unknown_failure', { ...failure, ...unknown }],
  ['job_execution_timeout', { ...timeout, ...user }],
  ['stuck_or_timeout_failure', { ...timeout, ...scheduler }],
  ['stale_schedule', { ...timeout, ...scheduler }],
  ['runner_system_failure', { ...error, ...runner }],
  ['runner_unsupported', { ...error, ...runner }],
  ['no_matching_runner', { ...error, ...scheduler }],
  ['scheduler_failure', { ...error, ...scheduler }],
  ['data_integrity_failure', { ...error, ...scheduler }],
  ['api_failure', { ...error, ...api }],
  ['unmet_prerequisites', { ...error, ...platform }],
  ['ip_restriction_failure', { ...error, ...platform }],
  ['archived_failure', { ...error, ...user }],
  ['environment_creation_failure', { ...error, ...user }],
  ['secrets_provider_not_found', { ...error, ...user }],
  ['ci_quota_exceeded', { ...error, ...user }],
  ['user_blocked', { ...error, ...user }],
  ['project_deleted', { ...error, ...user }],
  ['builds_disabled', { ...error, ...user }],
  ['trace_size_exceeded', { ...error, ...user }],
  ['job_token_expired', { ...error, ...user }],
  ['pipeline_loop_detected', { ...error, ...user }],
  ['missing_dependency_failure', { ...error, ...unknown }],
])

/** Matches groups of failure reasons to which the platform keeps adding. Most are about operations that pipelines may not perform on each other. */
const familyReasons = /^(?:bridge|downstream|upstream|insufficient|reached)_|._bridge_./
export const familyMeaning: FailureMeaning = { ...error, ...user }

/** The meaning of a failure reason that is absent or unknown. */
export const otherMeaning: FailureMeaning = { ...failure, ...unknown }

export function meaningOf(reason: string): FailureMeaning {
  return failureReasons.get(reason) ?? (familyReasons.test(reason) ? familyMeaning : otherMeaning)
}
