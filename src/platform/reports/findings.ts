// Counts the findings of a code quality or security report by severity. It reads the report as a stream and keeps no finding.
import { createJsonValues, each, type JsonPath } from './json-values.ts'
import { createSarifLevels } from './sarif.ts'
import { faultOf, ReportFault } from './report-fault.ts'
import { reportCaps, type ReportCaps } from './caps.ts'
import { textOf } from './unpack.ts'
import type { ReportRead } from '../port/inside.ts'
import type { ReportType } from '../../model/job-reports.ts'

/** The path of the findings. All but SARIF have their severity in the key `severity`. */
const scan: readonly string[] = ['vulnerabilities', each]
const paths: Readonly<Partial<Record<ReportType, readonly string[]>>> = { codequality: [each] }
const withoutSeverity = 'unknown'

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
  const counts = new Map<string, number>()
  const add = (severity: string, findings: number): void => {
    const name = severity.toLowerCase()
    const word = severities.has(name) ? name : other
    counts.set(word, (counts.get(word) ?? 0) + findings)
  }
  const levels = type === 'sarif' ? createSarifLevels(add) : undefined
  const values = createJsonValues({
    paths: levels?.paths ?? [severityOf(paths[type] ?? scan, add)],
    ...{ maxDepth: caps.depth, maxValues, isLenient: true },
  })
  const fault = await faultOf(async () => {
    for await (const text of textOf(source, caps)) values.write(text)
    values.end()
    levels?.end()
    if (!values.sawList) throw new ReportFault('foreign', 'The report has no list of findings.')
  })
  const findings = [...counts].map(([of, n]) => ({ type, severity: of, count: n }))
  // The counts of a report that could not be read to its end would be too low.
  return { report: fault === undefined && findings.length > 0 ? { findings } : undefined, dropped: 0, fault }
}

function severityOf(path: readonly string[], add: (severity: string, findings: number) => void): JsonPath {
  const onValue = (finding: unknown): void => {
    if (typeof finding !== 'object' || finding === null || Array.isArray(finding)) return
    const { severity } = finding as { readonly severity?: unknown }
    add(typeof severity === 'string' ? severity : withoutSeverity, 1)
  }
  return { path, onValue }
}
