// Tests how statuses, failure reasons and merge request states are mapped to semantic convention values, according to the contract's tables.
import { describe, expect, it } from 'vitest'
import {
  changeStateOf,
  errorTypeOf,
  outcomeOfJob,
  outcomeOfPipeline,
  stateOf,
} from '../../../src/core/telemetry/mapping/statuses.ts'
import { userKindOf } from '../../../src/core/telemetry/mapping/pipeline.ts'
import { meaningOf } from '../../../src/core/telemetry/mapping/failure-reasons.ts'

describe("a pipeline's status", () => {
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
  ])('maps the status %s to result %s and state %s', (status, result, state) => {
    expect(outcomeOfJob({ status }).result).toBe(result)
    expect(outcomeOfPipeline(status, []).result).toBe(result)
    expect(stateOf(status)).toBe(state)
  })
})

describe('the user who triggered a pipeline', () => {
  it.each([
    ['ada', 'human'],
    ['project_42_bot', 'bot'],
    ['project_42_bot_5e1f', 'bot'],
    ['group_7_bot_x', 'bot'],
    ['service_account_group_3_ab', 'service_account'],
    ['my_project_42_bot', 'human'],
    ['service_accountant', 'human'],
    [undefined, undefined],
  ])('classifies the user %s as %s', (name, kind) => {
    expect(userKindOf(name)).toBe(kind)
  })
})

describe('a failure reason', () => {
  it.each([
    ['script_failure', 'failure', 'user', undefined],
    ['job_execution_timeout', 'timeout', 'user', undefined],
    ['stuck_or_timeout_failure', 'timeout', 'platform', 'scheduler'],
    ['runner_system_failure', 'error', 'platform', 'runner'],
    ['api_failure', 'error', 'platform', 'api'],
    ['unmet_prerequisites', 'error', 'platform', undefined],
    ['unknown_failure', 'failure', 'unknown', undefined],
    ['downstream_pipeline_creation_failed', 'error', 'user', undefined],
    ['upstream_bridge_project_not_found', 'error', 'user', undefined],
    ['insufficient_bridge_permissions', 'error', 'user', undefined],
    ['invalid_bridge_trigger', 'error', 'user', undefined],
    ['reached_max_pipeline_hierarchy_size', 'error', 'user', undefined],
    ['a_reason_of_tomorrow', 'failure', 'unknown', undefined],
    ['', 'failure', 'unknown', undefined],
  ])(
    'maps the failure reason %j to the result %s, the domain %s and the component %s',
    (reason, result, domain, component) => {
      const meaning = meaningOf(reason)
      expect([meaning.result, meaning.domain, meaning.component]).toEqual([result, domain, component])
    },
  )
})

describe('a failed pipeline', () => {
  it.each([
    [['api_failure', 'job_execution_timeout', 'script_failure'], 'failure', 'script_failure', 'script_failure'],
    [['api_failure', 'job_execution_timeout'], 'timeout', 'job_execution_timeout', 'job_execution_timeout'],
    [['runner_system_failure', 'api_failure'], 'error', 'runner_system_failure', 'runner_system_failure'],
    [['', 'job_execution_timeout'], 'failure', undefined, '_OTHER'],
    [['', 'script_failure'], 'failure', 'script_failure', 'script_failure'],
    [[], 'failure', undefined, '_OTHER'],
  ])("maps the failure reasons %j of a pipeline's jobs to the result %s", (failures, result, reason, errorType) => {
    const outcome = outcomeOfPipeline('failed', failures)
    expect(outcome).toEqual(reason === undefined ? { result } : { result, reason })
    expect(errorTypeOf(outcome)).toBe(errorType)
  })

  it('sets neither reason nor error type for a pipeline that was eventually canceled', () => {
    const outcome = outcomeOfPipeline('canceled', ['script_failure'])
    expect(outcome).toEqual({ result: 'cancellation' })
    expect(errorTypeOf(outcome)).toBeUndefined()
  })
})

describe('a failed job', () => {
  it("uses a failed job's reason as its error type, and _OTHER if there is no reason", () => {
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
  ])('maps the merge request state %s to %s', (state, expected) => {
    expect(changeStateOf(state)).toBe(expected)
  })
})
