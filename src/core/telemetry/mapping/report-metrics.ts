// The metrics of a job's reports, of tests and others: their values and attributes.
import { ATTR_VCS_REF_HEAD_NAME } from './semconv.ts'
import { textRow } from './row.ts'
import type { Chunk } from '../../../model/chunk.ts'
import { taskName, type Measured, type MetricAttribute as Row } from './metric-attributes.ts'

const ref: Row = textRow(ATTR_VCS_REF_HEAD_NAME, 'always', ({ ref: folded }) => folded, 'folded')

export const reportedMetricAttributes: readonly Row[] = [taskName, ref]

export const coverageAttributes: readonly Row[] = [
  taskName,
  ref,
  textRow('platform.report.coverage.kind', 'always', ({ report }) => report?.kind, '`lines`, `branches`'),
]

export const findingAttributes: readonly Row[] = [
  textRow(
    'platform.report.type',
    'always',
    ({ report }) => report?.kind,
    "the platform's word: `codequality`, `sarif`, `sast`, …",
  ),
  textRow(
    'platform.report.severity',
    'always',
    ({ report }) => report?.severity,
    "the report's own word in small letters; `unknown` where it says none, `other` for words of no format",
  ),
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
  textRow('platform.test.case.result', 'always', ({ testResult }) => testResult, '`pass`, `fail`, `error`, `skip`'),
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
