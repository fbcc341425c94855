// How many findings of which severity a report of code quality or of a security scan has: read as a stream, of which no finding is kept.
import { createJsonTokens, type JsonSink } from './json-tokens.ts'
import { faultOf, ReportFault } from './report-fault.ts'
import { reportCaps, type ReportCaps } from './caps.ts'
import { textOf } from './unpack.ts'
import type { Findings, ReportType } from '../../model/job-reports.ts'

export interface ReadFindings {
  /** Absent where the report could not be read to its end: half of them would pass for fewer. */
  readonly findings?: readonly Findings[] | undefined
  readonly fault?: ReportFault | undefined
}

/** Where findings are: the keys that lead to their list (`[]`: each of a list), their severity's key, and what one without is. */
interface Format {
  readonly list: readonly string[]
  readonly severity: string
  readonly without: string
}

const each = '[]'
/** Security scans share one schema of reports, whatever they scan. */
const scan: Format = { list: ['vulnerabilities'], severity: 'severity', without: 'unknown' }
const formats: Readonly<Partial<Record<ReportType, Format>>> = {
  codequality: { list: [], severity: 'severity', without: 'unknown' },
  // SARIF 2.1.0, 3.27.10: "warning" where it is absent.
  sarif: { list: ['runs', each, 'results'], severity: 'level', without: 'warning' },
}

/** Words that make a series each. */
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
  /** Whether the list was there, empty or not. */
  readonly sawList: boolean
}

function createCounts({ list, severity, without }: Format): Counts {
  const bySeverity = new Map<string, number>()
  /** The keys that lead to where it is read now; `[]` within a list. */
  const way: string[] = []
  let key = ''
  let sawList = false
  let found: string | undefined
  /** Of the list: the root, and what leads to it. */
  const listDepth = list.length + 1
  const isFinding = (): boolean =>
    way.length === listDepth + 1 && way.at(-1) === each && list.every((step, n) => way[n + 1] === step)
  /** The list itself, or that of the runs that have one each. */
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
      // Within a list the next value is another one of it; in an object a key comes before the next value.
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
