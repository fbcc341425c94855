// The metrics of a job's reports, of tests and others: their values and attributes.
import { ATTR_VCS_REF_HEAD_NAME } from './semconv.ts'
import type { Chunk } from '../../model/chunk.ts'
import { taskName, type Measured, type MetricAttribute as Row } from './metric-attributes.ts'

const ref: Row = {
  keys: [ATTR_VCS_REF_HEAD_NAME],
  type: 'string',
  when: 'always',
  note: 'folded',
  value: ({ ref: folded }) => folded,
}

export const reportedMetricAttributes: readonly Row[] = [taskName, ref]

export const coverageAttributes: readonly Row[] = [
  taskName,
  ref,
  {
    keys: ['platform.report.coverage.kind'],
    type: 'string',
    when: 'always',
    note: '`lines`, `branches`',
    value: ({ report }) => report?.kind,
  },
]

export const findingAttributes: readonly Row[] = [
  {
    keys: ['platform.report.type'],
    type: 'string',
    when: 'always',
    note: "the platform's word: `codequality`, `sarif`, `sast`, …",
    value: ({ report }) => report?.kind,
  },
  {
    keys: ['platform.report.severity'],
    type: 'string',
    when: 'always',
    note: "the report's own word in small letters; `unknown` where it says none, `other` for words of no format",
    value: ({ report }) => report?.severity,
  },
]

export function reportedMetrics({ inside }: Chunk): Measured[] {
  // Some backends do not allow colons in names.
  const named = (name: string): string => name.replaceAll(':', '_')
  return (inside?.report?.metrics ?? []).map(({ name, labels, value }) => ({
    ...{ report: { name: named(name), labels }, values: [value] },
  }))
}

export function reportedCoverage({ inside }: Chunk): Measured[] {
  const { lines, branches } = inside?.report?.coverage ?? {}
  return Object.entries({ lines, branches }).flatMap(([kind, percent]) =>
    percent === undefined ? [] : [{ report: { kind }, values: [percent] }],
  )
}

export function reportedFindings({ inside }: Chunk): Measured[] {
  return (inside?.report?.findings ?? []).map(({ type, severity, count }) => ({
    ...{ report: { kind: type, severity }, values: [count] },
  }))
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
