// Counts the findings of a code quality or security report by severity. The report is read as a stream, and no finding is kept.
import { createJsonTokens, type JsonSink } from './json-tokens.ts'
import { faultOf, ReportFault } from './report-fault.ts'
import { reportCaps, type ReportCaps } from './caps.ts'
import { textOf } from './unpack.ts'
import type { Findings, ReportType } from '../../model/job-reports.ts'

export interface ReadFindings {
  /** Absent if the report could not be read to its end: the counts would be too low. */
  readonly findings?: readonly Findings[] | undefined
  readonly fault?: ReportFault | undefined
}

/** Where findings are: the keys that lead to their list (`[]`: each element of a list), the key of the severity, and the severity of those without. */
interface Format {
  readonly list: readonly string[]
  readonly severity: string
  readonly without: string
}

const each = '[]'
/** All security scans share one schema. */
const scan: Format = { list: ['vulnerabilities'], severity: 'severity', without: 'unknown' }
const formats: Readonly<Partial<Record<ReportType, Format>>> = {
  codequality: { list: [], severity: 'severity', without: 'unknown' },
  // SARIF 2.1.0, 3.27.10: "warning" if it is absent.
  sarif: { list: ['runs', each, 'results'], severity: 'level', without: 'warning' },
}

/** Severities with a series of their own. */
const severities: ReadonlySet<string> = new Set([
  ...['info', 'minor', 'major', 'critical', 'blocker'],
  ...['none', 'note', 'warning', 'error'],
  ...['unknown', 'low', 'medium', 'high'],
])
const other = 'other'

/** `source`: the artifact's bytes. Rejects only with what the source itself throws. */
export async function readFindings(
  source: AsyncIterable<Uint8Array>,
  type: ReportType,
  caps: ReportCaps = reportCaps,
): Promise<ReadFindings> {
  const counts = createCounts(formats[type] ?? scan)
  const tokens = createJsonTokens(counts, caps.depth)
  const fault = await faultOf(async () => {
    for await (const text of textOf(source, caps)) tokens.write(text)
    tokens.end()
    if (!counts.sawList) throw new ReportFault('foreign', 'The report has no list of findings.')
  })
  if (fault !== undefined) return { fault }
  return { findings: [...counts.bySeverity].map(([severity, count]) => ({ type, severity, count })) }
}

interface Counts extends JsonSink {
  readonly bySeverity: ReadonlyMap<string, number>
  /** Whether the list was found, even if empty. */
  readonly sawList: boolean
}

function createCounts({ list, severity, without }: Format): Counts {
  const bySeverity = new Map<string, number>()
  /** The keys that lead to the current position; `[]` within a list. */
  const way: string[] = []
  let key = ''
  let sawList = false
  let found: string | undefined
  /** The depth of the list, counting the root. */
  const listDepth = list.length + 1
  const isFinding = (): boolean =>
    way.length === listDepth + 1 && way.at(-1) === each && list.every((step, n) => way[n + 1] === step)
  /** True for the list itself, or for SARIF's list of runs. */
  const isList = (): boolean =>
    way.length === Math.min(2, listDepth) && list.slice(0, 1).every((step, n) => way[n + 1] === step)
  return {
    bySeverity,
    get sawList() {
      return sawList
    },
    open: kind => {
      way.push(way.length === 0 ? '' : key)
      if (kind === 'list' && isList()) sawList = true
      if (kind === 'object' && isFinding()) found = without
      key = kind === 'list' ? each : ''
    },
    close: () => {
      if (found !== undefined && isFinding()) {
        const word = severities.has(found) ? found : other
        bySeverity.set(word, (bySeverity.get(word) ?? 0) + 1)
        found = undefined
      }
      const closed = way.pop()
      key = closed === each ? each : ''
    },
    key: text => {
      key = text
    },
    text: text => {
      if (found !== undefined && key === severity && way.length === listDepth + 1) found = text.toLowerCase()
    },
  }
}
