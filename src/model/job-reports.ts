// The reports of a job other than that of its tests: metrics, dotenv, coverage, findings. Pure.

/** Each switch of the configuration, with the types of artifacts that it lets the daemon read, as the platform names them. */
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

/** A type of artifact that is read. */
export type ReportType = (typeof reportTypes)[ReportSwitch][number]
export const allReportTypes: readonly ReportType[] = Object.values(reportTypes).flat()

/** One of these: a chunk has one report. */
export interface JobReport {
  readonly metrics?: readonly ReportedMetric[] | undefined
  /** By key; redacted. */
  readonly dotenv?: Readonly<Record<string, string>> | undefined
  readonly coverage?: CoverageTotals | undefined
  readonly findings?: readonly Findings[] | undefined
}

export interface ReportedMetric {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Percent; undefined where there was nothing to cover. */
export interface CoverageTotals {
  readonly lines?: number | undefined
  readonly branches?: number | undefined
}

/** The number of a report's findings of one severity. */
export interface Findings {
  readonly type: ReportType
  /** In lower case; `unknown` where the report has none. */
  readonly severity: string
  readonly count: number
}

export function isReportType(what: string): what is ReportType {
  return (allReportTypes as readonly string[]).includes(what)
}

/** Which switch a type of artifact belongs to. */
export function switchOf(type: ReportType): ReportSwitch {
  return reportSwitches.find(one => (reportTypes[one] as readonly string[]).includes(type)) ?? 'findings'
}
