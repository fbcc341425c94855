// What a report of tests adds to its project's metrics, and how its points are distinguished.
import { ATTR_CICD_PIPELINE_TASK_NAME } from './semconv.ts'
import type { AttributeRow } from './row.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Measured, MetricSubject } from './metric-attributes.ts'

type Row = AttributeRow<MetricSubject>

const taskName: Row = {
  keys: [ATTR_CICD_PIPELINE_TASK_NAME],
  type: 'string',
  when: 'always',
  value: ({ chunk }) => chunk.inside?.job.name ?? '',
}

export const testCaseAttributes: readonly Row[] = [
  taskName,
  {
    keys: ['platform.test.case.result'],
    type: 'string',
    when: 'always',
    note: '`pass`, `fail`, `error`, `skip`',
    value: ({ testResult }) => testResult,
  },
]

export const testSuiteAttributes: readonly Row[] = [taskName]

export function testCases({ inside }: Chunk): Measured[] {
  const summary = inside?.tests?.summary
  if (summary === undefined) return []
  const { passed, failed, errored, skipped } = summary.totals
  return Object.entries({ pass: passed, fail: failed, error: errored, skip: skipped })
    .filter(([, cases]) => cases > 0)
    .map(([testResult, cases]) => ({ testResult, values: [cases] }))
}

export function testSuites({ inside }: Chunk): Measured[] {
  const seconds = inside?.tests?.summary?.suiteSeconds ?? []
  return seconds.length === 0 ? [] : [{ values: seconds }]
}
