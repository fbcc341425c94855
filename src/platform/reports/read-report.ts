// Reads a job's reports of all types except test reports, with one request per report.
import { readCoverage } from './coverage.ts'
import { readMetrics, createLineReader } from './open-metrics.ts'
import { reportCaps, type ReportCaps } from './report-fault.ts'
import { ReportFault, faultOf } from './report-fault.ts'
import { PlatformError } from '../port.ts'
import { switchOf, type ReportSwitch, type ReportType } from '../../model/job-reports.ts'
import { redactedValue, type RedactText } from '../../lib/text-redaction.ts'
import { looksLikePlainText, textOf } from './unpack.ts'
import { levelsOf } from './sarif.ts'
import { listOf, objectOf, readDocuments } from './json-documents.ts'
import type { InsideRules, ReadReport, ReportRead } from '../port/inside.ts'
import type { JobCalls } from '../rest/jobs.ts'

// Counts the findings of a code quality or security report by severity.

/** Severities that have their own series. All other severities are counted as `other`. */
const severities: ReadonlySet<string> = new Set([
  ...['info', 'minor', 'major', 'critical', 'blocker'],
  ...['none', 'note', 'warning', 'error'],
  ...['unknown', 'low', 'medium', 'high'],
])

/** Reads a findings report. `source`: the artifact's bytes. Rejects only with an error from `source` itself. */
export async function readFindings(
  source: AsyncIterable<Uint8Array>,
  type: ReportType,
  caps: ReportCaps = reportCaps,
): Promise<ReportRead> {
  const counts = new Map<string, number>()
  const fault = await faultOf(async () => {
    const lists = (await readDocuments(source, caps)).map(document => findingsIn(document, type))
    if (!lists.some(Array.isArray)) throw new ReportFault('foreign', 'The report has no list of findings.')
    for (const finding of lists.flatMap(listOf)) {
      for (const severity of type === 'sarif' ? levelsOf(finding) : severityOf(finding)) {
        const word = severities.has(severity.toLowerCase()) ? severity.toLowerCase() : 'other'
        counts.set(word, (counts.get(word) ?? 0) + 1)
      }
    }
  })
  // The counts of a report that could not be read to its end would be too low, so they are dropped.
  const findings = [...counts].map(([severity, count]) => ({ type, severity, count }))
  return { report: fault === undefined && findings.length > 0 ? { findings } : undefined, dropped: 0, fault }
}

/** Returns the list of findings in a document (for SARIF, the list of runs). */
function findingsIn(document: unknown, type: ReportType): unknown {
  if (type === 'codequality') return document
  return objectOf(document)[type === 'sarif' ? 'runs' : 'vulnerabilities']
}

function severityOf(finding: unknown): string[] {
  if (typeof finding !== 'object' || finding === null || Array.isArray(finding)) return []
  const { severity } = objectOf(finding)
  return [typeof severity === 'string' ? severity : 'unknown']
}

// Reads a job's dotenv report as the platform does: lines of `KEY=value`, without quoting or line continuation. Values are often secrets, so only the
// values of allowed keys are kept.

/** Size limits for a dotenv report, bytes. They are well above the platform's own limit, which is 5 KB by default. */
const caps = { packed: 1024 * 1024, unpacked: 1024 * 1024 }
const limits = { keys: 100, texts: 128 * 1024 } as const

const assignment = /^\s*([A-Za-z_]\w{0,254})\s*=(.*)$/

/**
 * Reads a dotenv report. `source`: the artifact's bytes. `dropped` counts allowed keys beyond the limits. Rejects only with an error from `source`
 * itself.
 */
export async function readDotenv(
  source: AsyncIterable<Uint8Array>,
  isAllowed: (key: string) => boolean,
  redactText: RedactText,
): Promise<ReportRead> {
  const values = new Map<string, string>()
  let texts = 0
  let dropped = 0
  const lines = createLineReader(line => {
    const [, key = '', value = ''] = assignment.exec(line) ?? []
    if (key === '' || !isAllowed(key)) return
    if (!values.has(key) && (values.size >= limits.keys || texts + value.length > limits.texts)) {
      dropped += 1
      return
    }
    texts += value.length
    values.set(key, value.trim())
  })
  const fault = await faultOf(async () => {
    for await (const text of textOf(source, caps, looksLikePlainText)) lines.write(text)
    lines.end()
  })
  const clean = [...values].flatMap(([key, value]) =>
    redactText(key) === key ? [[key, redactedValue(key, value, redactText)] as const] : [],
  )
  return { report: clean.length === 0 ? undefined : { dotenv: Object.fromEntries(clean) }, dropped, fault }
}

type Read = (body: AsyncIterable<Uint8Array>, type: ReportType) => Promise<ReportRead>

export function createReadReport(
  client: Pick<JobCalls, 'jobArtifact'>,
  { isAllowed, redactText }: Pick<InsideRules, 'isAllowed' | 'redactText'>,
): ReadReport {
  const readers: Readonly<Record<ReportSwitch, Read>> = {
    metrics: async body => readMetrics(body, redactText),
    dotenv: async body => readDotenv(body, isAllowed, redactText),
    coverage: async body => readCoverage(body),
    findings: async (body, type) => readFindings(body, type),
  }
  return async (projectId, job, type, call) => {
    if ((job.artifactSizes?.[type] ?? 0) > reportCaps.packed) {
      return { dropped: 0, fault: new ReportFault('too_large', `The report has more than ${reportCaps.packed} bytes.`) }
    }
    const read = await client.jobArtifact(projectId, job.id, { type }, call, async body =>
      readers[switchOf(type)](body, type),
    )
    if (read.fault?.reason === 'archive') throw archiveError(type)
    return read
  }
}

function archiveError(type: ReportType): PlatformError {
  return new PlatformError({
    kind: 'not-found',
    affectsAllRequests: true,
    what: `The platform responded with an archive instead of a report of type ${type}.`,
    remedy: 'The platform is too old to serve reports by type: remove this type from PIPESPAN_REPORTS.',
  })
}
