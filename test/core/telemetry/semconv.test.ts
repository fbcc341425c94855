// Compares our copies of the semantic convention names, and the values that the attribute tables use, with the package
// `@opentelemetry/semantic-conventions`.
import * as incubating from '@opentelemetry/semantic-conventions/incubating'
import { describe, expect, it } from 'vitest'
import * as semconv from '../../../src/core/telemetry/mapping/semconv.ts'
import { changeStates, results, statusMeanings } from '../../../src/core/telemetry/mapping/statuses.ts'
import { refTypeOf, runAction } from '../../../src/core/telemetry/mapping/pipeline.ts'
import { taskTypes } from '../../../src/core/telemetry/mapping/job.ts'

describe('our copies of the semantic convention names', () => {
  const copied = Object.entries(semconv).filter(([name]) => name !== 'schemaUrl')

  it.each(copied)('copies %s exactly as in the semantic conventions package', (name, value) => {
    expect((incubating as Record<string, unknown>)[name]).toBe(value)
  })
})

describe('attribute values', () => {
  it.each([
    ['CICD_PIPELINE_ACTION_NAME', [runAction]],
    ['CICD_PIPELINE_RESULT', results],
    ['CICD_PIPELINE_RUN_STATE', Object.values(statusMeanings).map(({ state }) => state)],
    ['CICD_PIPELINE_TASK_TYPE', Object.keys(taskTypes)],
    ['CICD_WORKER_STATE', ['available', 'busy', 'offline']],
    ['DEPLOYMENT_STATUS', ['failed', 'succeeded']],
    ['TEST_CASE_RESULT_STATUS', ['fail', 'pass']],
    ['TEST_SUITE_RUN_STATUS', ['failure', 'success']],
    ['VCS_CHANGE_STATE', [...Object.values(changeStates), 'wip']],
    ['VCS_REF_BASE_TYPE', ['branch']],
    ['VCS_REF_HEAD_TYPE', [refTypeOf(true), refTypeOf(false)]],
  ])('uses only values of %s that exist in the semantic conventions package', (attribute, used) => {
    const known = Object.entries(incubating).filter(([name]) => name.startsWith(`${attribute}_VALUE_`))
    expect(known.map(([, value]) => value)).toEqual(expect.arrayContaining([...used]))
  })
})
