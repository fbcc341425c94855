// The metrics of a test report: their values and attributes.
import type { Chunk } from '../../model/chunk.ts'
import { taskName, type Measured, type MetricAttribute as Row } from './metric-attributes.ts'

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
