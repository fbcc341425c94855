// Reads the totals of a job's coverage report. Cobertura stores the totals as attributes of the root element; JaCoCo stores them as counters in the
// root's child elements. If a report consists of several documents, their totals are summed.
import { readElements, type Attributes, type ElementSink } from './xml-elements.ts'
import { ReportFault } from './report-fault.ts'
import { reportCaps, type ReportCaps } from './report-fault.ts'
import type { ReportRead } from '../port/inside.ts'

type Measure = 'lines' | 'branches'

/** The totals of one coverage document. A document without counts has a `rate` from 0 to 1 instead. */
interface Part {
  readonly covered?: number
  readonly valid?: number
  readonly rate?: number
}

/** The totals of all documents in a coverage report. Only sums are kept, because a report may contain millions of documents. */
interface Sum {
  covered: number
  valid: number
  /** Sum of the coverage rates of all documents. */
  rates: number
  documents: number
  /** True if at least one document has a rate but no counts. */
  isRated: boolean
}

/** Reads a coverage report. `source`: the artifact's bytes. Rejects only with an error of `source` itself. */
export async function readCoverage(
  source: AsyncIterable<Uint8Array>,
  caps: ReportCaps = reportCaps,
): Promise<ReportRead> {
  const sums: Record<Measure, Sum> = { lines: { ...nothing }, branches: { ...nothing } }
  let isKnownFormat = false
  let root = ''
  let depth = 0
  const sink: ElementSink = {
    document: () => {
      depth = 0
    },
    open: (name, attributes) => {
      if (depth >= caps.depth) {
        throw new ReportFault('too_deep', `The report has more than ${caps.depth} nested elements.`)
      }
      depth += 1
      const local = name.slice(name.indexOf(':') + 1)
      if (depth === 1) {
        root = local
        isKnownFormat ||= root === 'coverage' || root === 'report'
        if (root === 'coverage') {
          add(sums.lines, cobertura(attributes, 'lines', 'line-rate'))
          add(sums.branches, cobertura(attributes, 'branches', 'branch-rate'))
        }
      }
      const measure = depth === 2 && root === 'report' && local === 'counter' && ofCounter[attributes.type ?? '']
      if (measure) add(sums[measure], jacoco(attributes))
    },
    text: () => undefined,
    close: () => {
      depth = Math.max(0, depth - 1)
    },
  }
  const fault = await readElements(source, caps, sink, () =>
    isKnownFormat ? undefined : new ReportFault('foreign', 'The report is neither a Cobertura nor a JaCoCo report.'),
  )
  const coverage = { lines: percentOf(sums.lines), branches: percentOf(sums.branches) }
  const isKnown = coverage.lines !== undefined || coverage.branches !== undefined
  // The totals of a report that could not be read to its end would be wrong, so they are dropped.
  return { report: fault === undefined && isKnown ? { coverage } : undefined, dropped: 0, fault }
}

const ofCounter: Readonly<Record<string, Measure>> = { LINE: 'lines', BRANCH: 'branches' }

function cobertura(attributes: Attributes, measure: Measure, rate: string): Part {
  const covered = countOf(attributes[`${measure}-covered`])
  const valid = countOf(attributes[`${measure}-valid`])
  if (covered !== undefined && valid !== undefined) return { covered, valid }
  const known = Number(attributes[rate] ?? NaN)
  return known >= 0 && known <= 1 ? { rate: known } : {}
}

function jacoco({ missed, covered }: Attributes): Part {
  const hit = countOf(covered)
  const left = countOf(missed)
  return hit === undefined || left === undefined ? {} : { covered: hit, valid: hit + left }
}

function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

const nothing: Sum = { covered: 0, valid: 0, rates: 0, documents: 0, isRated: false }

function add(to: Sum, { covered = 0, valid = 0, rate }: Part): void {
  if (rate === undefined && valid === 0) return
  to.covered += covered
  to.valid += valid
  to.rates += rate ?? Math.min(1, covered / valid)
  to.documents += 1
  to.isRated ||= rate !== undefined
}

/** Returns the coverage in percent. If any document has no counts, the result is the mean of all documents' rates. */
function percentOf({ covered, valid, rates, documents, isRated }: Sum): number | undefined {
  if (documents === 0) return undefined
  return isRated ? (rates / documents) * 100 : Math.min(100, (covered / valid) * 100)
}
