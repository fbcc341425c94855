// Statuses, failure reasons and merge request states in the words of the conventions, as the contract's tables have them.
import { describe, expect, it } from 'vitest'
import {
  changeStateOf,
  errorTypeOf,
  outcomeOfJob,
  outcomeOfPipeline,
  stateOf,
} from '../../../src/core/telemetry/mapping/statuses.ts'
import { meaningOf } from '../../../src/core/telemetry/mapping/failure-reasons.ts'

describe('a status', () => {
  it.each([
    ['success', 'success', 'finalizing'],
    ['failed', 'failure', 'finalizing'],
    ['canceled', 'cancellation', 'finalizing'],
    ['skipped', 'skip', 'finalizing'],
    ['created', undefined, 'pending'],
    ['waiting_for_resource', undefined, 'pending'],
    ['preparing', undefined, 'pending'],
    ['waiting_for_callback', undefined, 'pending'],
    ['pending', undefined, 'pending'],
    ['scheduled', undefined, 'pending'],
    ['manual', undefined, 'pending'],
    ['running', undefined, 'executing'],
    ['canceling', undefined, 'executing'],
    ['a_status_of_tomorrow', undefined, undefined],
    ['__proto__', undefined, undefined],
    ['constructor', undefined, undefined],
  ])('%s has result %s and state %s', (status, result, state) => {
    expect(outcomeOfJob({ status }).result).toBe(result)
    expect(outcomeOfPipeline(status, []).result).toBe(result)
    expect(stateOf(status)).toBe(state)
  })
})

describe('a failure reason', () => {
  it.each(['job_execution_timeout', 'stuck_or_timeout_failure', 'stale_schedule'])('%s is a timeout', reason => {
    expect(meaningOf(reason).result).toBe('timeout')
  })

  it.each([
    ...['runner_system_failure', 'runner_unsupported', 'no_matching_runner', 'scheduler_failure'],
    ...['data_integrity_failure', 'api_failure', 'archived_failure', 'unmet_prerequisites'],
    ...['environment_creation_failure', 'secrets_provider_not_found', 'ci_quota_exceeded', 'user_blocked'],
    ...['project_deleted', 'ip_restriction_failure', 'builds_disabled', 'trace_size_exceeded', 'job_token_expired'],
    ...['missing_dependency_failure', 'pipeline_loop_detected'],
    ...['downstream_pipeline_creation_failed', 'invalid_bridge_trigger', 'upstream_bridge_project_not_found'],
    ...['insufficient_bridge_permissions', 'insufficient_upstream_permissions', 'bridge_pipeline_is_child_pipeline'],
    ...['reached_max_descendant_pipelines_depth', 'reached_max_pipeline_hierarchy_size'],
  ])('%s is an error of the system', reason => {
    expect(meaningOf(reason).result).toBe('error')
  })

  it.each([
    ...['script_failure', 'unknown_failure', 'deployment_rejected', 'failed_outdated_deployment_job'],
    ...['forward_deployment_failure', 'protected_environment_failure', 'a_reason_of_tomorrow', ''],
  ])('%j is a failure', reason => {
    expect(meaningOf(reason).result).toBe('failure')
  })
})

describe('a failed pipeline', () => {
  it.each([
    [['api_failure', 'job_execution_timeout', 'script_failure'], 'failure', 'script_failure', 'script_failure'],
    [['api_failure', 'job_execution_timeout'], 'timeout', 'job_execution_timeout', 'job_execution_timeout'],
    [['runner_system_failure', 'api_failure'], 'error', 'runner_system_failure', 'runner_system_failure'],
    [['', 'job_execution_timeout'], 'failure', undefined, '_OTHER'],
    [['', 'script_failure'], 'failure', 'script_failure', 'script_failure'],
    [[], 'failure', undefined, '_OTHER'],
  ])('has result %s if its jobs failed for %j', (failures, result, reason, errorType) => {
    const outcome = outcomeOfPipeline('failed', failures)
    expect(outcome).toEqual(reason === undefined ? { result } : { result, reason })
    expect(errorTypeOf(outcome)).toBe(errorType)
  })

  it('has neither reason nor error type if it was canceled in the end', () => {
    const outcome = outcomeOfPipeline('canceled', ['script_failure'])
    expect(outcome).toEqual({ result: 'cancellation' })
    expect(errorTypeOf(outcome)).toBeUndefined()
  })
})

describe('a failed job', () => {
  it('has its reason as error type, and _OTHER without one', () => {
    expect(errorTypeOf(outcomeOfJob({ status: 'failed', failureReason: 'api_failure' }))).toBe('api_failure')
    expect(errorTypeOf(outcomeOfJob({ status: 'failed' }))).toBe('_OTHER')
  })
})

describe('the state of a merge request', () => {
  it.each([
    ['opened', 'open'],
    ['closed', 'closed'],
    ['merged', 'merged'],
    ['locked', 'wip'],
    ['a_state_of_tomorrow', 'a_state_of_tomorrow'],
    [undefined, undefined],
  ])('%s is %s', (state, expected) => {
    expect(changeStateOf(state)).toBe(expected)
  })
})
