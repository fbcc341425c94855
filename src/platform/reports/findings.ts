// Counts the findings of a code quality or security report by severity. It reads the report as a stream and keeps no finding.
import { createJsonValues, each } from './json-values.ts'
import { faultOf, ReportFault } from './report-fault.ts'
import { reportCaps, type ReportCaps } from './caps.ts'
import { textOf } from './unpack.ts'
import type { ReportRead } from '../port/inside.ts'
import type { ReportType } from '../../model/job-reports.ts'

/** The path of the findings, the key of the severity, and the severity of a finding without that key. */
interface Format {
  readonly path: readonly string[]
  readonly severity: string
  readonly without: string
}

/** The format of all security scans, which share one schema. */
const scan: Format = { path: ['vulnerabilities', each], severity: 'severity', without: 'unknown' }
const formats: Readonly<Partial<Record<ReportType, Format>>> = {
  codequality: { path: [each], severity: 'severity', without: 'unknown' },
  // SARIF 2.1.0, 3.27.10: an absent level means "warning".
  sarif: { path: ['runs', each, 'results', each], severity: 'level', without: 'warning' },
}

/** Severities that have a series of their own. All others are counted as `other`. */
const severities: ReadonlySet<string> = new Set([
  ...['info', 'minor', 'major', 'critical', 'blocker'],
  ...['none', 'note', 'warning', 'error'],
  ...['unknown', 'low', 'medium', 'high'],
])
const other = 'other'
/** Maximum number of values that are read of one finding. */
const maxValues = 10_000

/** `source`: the artifact's bytes. Rejects only with an error of the source itself. */
export async function readFindings(
  source: AsyncIterable<Uint8Array>,
  type: ReportType,
  caps: ReportCaps = reportCaps,
): Promise<ReportRead> {
  const { path, severity, without } = formats[type] ?? scan
  const counts = new Map<string, number>()
  const count = (finding: unknown): void => {
    if (typeof finding !== 'object' || finding === null || Array.isArray(finding)) return
    const given = (finding as Readonly<Record<string, unknown>>)[severity]
    const name = typeof given === 'string' ? given.toLowerCase() : without
    const word = severities.has(name) ? name : other
    counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  const values = createJsonValues({ path, onValue: count, maxDepth: caps.depth, maxValues, isLenient: true })
  const fault = await faultOf(async () => {
    for await (const text of textOf(source, caps)) values.write(text)
    values.end()
    if (!values.sawList) throw new ReportFault('foreign', 'The report has no list of findings.')
  })
  const findings = [...counts].map(([of, n]) => ({ type, severity: of, count: n }))
  // The counts of a report that could not be read to its end would be too low.
  return { report: fault === undefined && findings.length > 0 ? { findings } : undefined, dropped: 0, fault }
}
