// The metrics of job internals: log sections, tests, and other reports.
import { ATTR_CICD_PIPELINE_TASK_NAME, ATTR_VCS_REF_HEAD_NAME } from '../../../core/telemetry/mapping/semconv.ts'
import {
  counter,
  gauge,
  histogram,
  ownName,
  pipelineName,
  type Measured,
  type MetricAttribute as Row,
  type MetricRow,
} from '../../../core/telemetry/mapping/metric-row.ts'
import { sectionSeries } from './log-attributes.ts'
import { textRow } from '../../../core/telemetry/mapping/row.ts'
import type { Chunk } from '../../../model/chunk.ts'

/** The maximum number of series per metric name from metrics reports. It is limited because users choose names and labels. */
const maxReported = 500

const taskName: Row = textRow(ATTR_CICD_PIPELINE_TASK_NAME, 'always', ({ chunk }) => chunk.inside?.job.name ?? '')

const ref: Row = textRow(ATTR_VCS_REF_HEAD_NAME, 'always', ({ ref: folded }) => folded, 'folded')

const reportedMetricAttributes: readonly Row[] = [taskName, ref]

const coverageAttributes: readonly Row[] = [
  taskName,
  ref,
  textRow('platform.report.coverage.kind', 'always', ({ report }) => report?.kind, '`lines`, `branches`'),
]

const findingAttributes: readonly Row[] = [
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
    'the severity in the report, in lower case; `unknown` if the report has none, `other` for values that no format defines',
  ),
]

function reportedMetrics({ inside }: Chunk): Measured[] {
  // Replaces colons in names, because some backends do not allow them.
  const named = (name: string): string => name.replaceAll(':', '_')
  return (inside?.report?.metrics ?? []).map(({ name, labels, value }) => ({
    ...{ report: { name: named(name), labels }, values: [value] },
  }))
}

function reportedCoverage({ inside }: Chunk): Measured[] {
  const { lines, branches } = inside?.report?.coverage ?? {}
  return Object.entries({ lines, branches }).flatMap(([kind, percent]) =>
    percent === undefined ? [] : [{ report: { kind }, values: [percent] }],
  )
}

function reportedFindings({ inside }: Chunk): Measured[] {
  return (inside?.report?.findings ?? []).map(({ type, severity, count }) => ({
    ...{ report: { kind: type, severity }, values: [count] },
  }))
}

const testCaseAttributes: readonly Row[] = [
  taskName,
  textRow('platform.test.case.result', 'always', ({ testResult }) => testResult, '`pass`, `fail`, `error`, `skip`'),
]

const testSuiteAttributes: readonly Row[] = [taskName]

function testCases({ inside }: Chunk): Measured[] {
  const summary = inside?.tests?.summary
  if (summary === undefined) return []
  const { passed, failed, errored, skipped } = summary.totals
  return Object.entries({ pass: passed, fail: failed, error: errored, skip: skipped })
    .filter(([, cases]) => cases > 0)
    .map(([testResult, cases]) => ({ testResult, values: [cases] }))
}

function testSuites({ inside }: Chunk): Measured[] {
  const seconds = inside?.tests?.summary?.suiteSeconds ?? []
  return seconds.length === 0 ? [] : [{ values: seconds }]
}

const sectionMetricAttributes: readonly Row[] = [
  pipelineName,
  textRow(
    'platform.cicd.pipeline.task.section.name',
    'always',
    ({ section }) => section,
    'the name of a section that the runner makes; other sections are `custom`',
  ),
]

function sections({ inside }: Chunk): Measured[] {
  const byName = Map.groupBy(inside?.sections ?? [], sectionSeries)
  return [...byName].map(([section, some]) => ({ section, values: some.map(({ start, end }) => (end - start) / 1000) }))
}

// prettier-ignore
export const insideMetrics: readonly MetricRow[] = [
  { name: 'platform.cicd.pipeline.task.section.duration', ...histogram, attributes: sectionMetricAttributes, when: 'sections of job logs are read', measured: sections,
    description: 'Duration of the sections of job logs, by name.' },
  { name: 'platform.test.case.count', ...counter, unit: '{test_case}', attributes: testCaseAttributes, when: 'test reports are read', measured: testCases,
    description: 'Test cases, by result.' },
  { name: 'platform.test.suite.duration', ...histogram, attributes: testSuiteAttributes, when: 'test reports are read', measured: testSuites,
    description: 'Duration of test suites.' },
  { name: `platform.report.${ownName}`, ...gauge, unit: '1', maxSeries: maxReported, attributes: reportedMetricAttributes, when: 'metrics reports are read; 50 names per project; the labels of the samples become attributes', measured: reportedMetrics,
    description: 'Value of this name in the latest metrics report of a job.' },
  { name: 'platform.report.coverage', ...gauge, unit: '%', attributes: coverageAttributes, when: 'coverage reports are read', measured: reportedCoverage,
    description: 'Coverage in the latest report of a job.' },
  { name: 'platform.report.findings', ...counter, unit: '{finding}', attributes: findingAttributes, when: 'code quality or security reports are read', measured: reportedFindings,
    description: 'Findings in code quality and security reports, by severity.' },
]
