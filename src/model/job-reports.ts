// Declares all reports of a job other than its test report: metrics, dotenv, coverage, findings. Pure.

/**
 * The configuration switches for reports, each with the artifact types that the daemon reads if the switch is on. The types are named as on the
 * platform.
 */
export const reportTypes = {
  metrics: ['metrics'],
  dotenv: ['dotenv'],
  coverage: ['cobertura', 'jacoco'],
  findings: [
    'codequality',
    'sarif',
    'sast',
    'secret_detection',
    'dependency_scanning',
    'container_scanning',
    'cluster_image_scanning',
    'dast',
    'api_fuzzing',
  ],
} as const

export type ReportSwitch = keyof typeof reportTypes
export const reportSwitches = Object.keys(reportTypes) as ReportSwitch[]

/** A report artifact type that the daemon can read. */
export type ReportType = (typeof reportTypes)[ReportSwitch][number]
export const allReportTypes: readonly ReportType[] = Object.values(reportTypes).flat()

/** One report of a job. Exactly one field is set, because a chunk contains one report. */
export interface JobReport {
  readonly metrics?: readonly ReportedMetric[] | undefined
  /** The variables of a dotenv report by name, redacted. */
  readonly dotenv?: Readonly<Record<string, string>> | undefined
  readonly coverage?: CoverageTotals | undefined
  readonly findings?: readonly Findings[] | undefined
}

export interface ReportedMetric {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The line and branch coverage, percent. Undefined if there was nothing to cover. */
export interface CoverageTotals {
  readonly lines?: number | undefined
  readonly branches?: number | undefined
}

/** The number of findings of one severity in a report. */
export interface Findings {
  readonly type: ReportType
  /** The severity in lower case; `unknown` if the report does not contain it. */
  readonly severity: string
  readonly count: number
}

export function isReportType(what: string): what is ReportType {
  return (allReportTypes as readonly string[]).includes(what)
}

/** The configuration switch that enables a report artifact type. */
export function switchOf(type: ReportType): ReportSwitch {
  return reportSwitches.find(one => (reportTypes[one] as readonly string[]).includes(type)) ?? 'findings'
}
