// Stores test reports, and finds flaky tests: tests that both failed and passed on the same revision.
import { bytes, number, record, text, oneOf } from '../../core/store/sql/columns.ts'
import { each, forRows, lockNames, type Steps, type Within } from '../../core/store/sql/steps.ts'
import { placeholders, type Statements } from '../../core/store/sql/statements.ts'
import type { FlakyTest } from '../../model/job-tests.ts'
import type { Millis } from '../../model/instant.ts'
import type { TestName, TestOutcomes } from '../../model/test-report.ts'

/** The test report of one job. */
export interface RememberedReport extends TestOutcomes {
  readonly instance: string
  readonly projectId: number
  /** The full path of the project. */
  readonly project: string
  /** The name of the job without the number of a parallel job. */
  readonly job: string
  readonly jobId: number
  readonly pipelineId: number
  readonly revision: string
  /** When the job ended. Its tests get this time, because the report may be read much later. */
  readonly endedAt: Millis
  /** The duration of the job in ms if the job failed, otherwise 0. */
  readonly lostMs: number
}

export interface TestMemory {
  /**
   * Stores a report and returns the tests that this report shows to be flaky. Each test is returned once for each revision. A repeated call for the
   * same job returns the same tests.
   */
  record(report: RememberedReport): Promise<Recorded>
  /** Deletes rows of jobs that ended before `before`. Returns the number of deleted rows, which is at most three times `limit`. */
  prune(before: Millis, limit: number): Promise<number>
}

export interface Recorded {
  readonly flaky: readonly FlakyTest[]
  /** How many of the project's oldest reports were deleted to make room. */
  readonly forgotten: number
}

/** The maximum number of bytes of test reports stored for each project. */
const maxBytesOfProject = 64 * 1024 * 1024

// A set of 48-bit hashes is stored as sorted bytes, six for each hash. Random bits cannot be compressed further.
const width = 6

export function packHashes(hashes: ReadonlySet<number>): Uint8Array {
  const sorted = Float64Array.from(hashes).sort()
  const packed = Buffer.alloc(sorted.length * width)
  sorted.forEach((hash, index) => packed.writeUIntBE(hash, index * width, width))
  return packed
}

/** Whether the set has this hash, by a binary search. */
export function hasHash(packed: Uint8Array, hash: number): boolean {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  let [from, to] = [0, Math.floor(bytes.length / width)]
  while (from < to) {
    const middle = (from + to) >> 1
    const found = bytes.readUIntBE(middle * width, width)
    if (found === hash) return true
    if (found < hash) from = middle + 1
    else to = middle
  }
  return false
}

/** The maximum number of earlier reports of the same revision that a report is compared with; the latest ones are used. */
const maxReports = 20
/** The approximate number of bytes that a row takes in addition to its strings. */
const bytesOfRow = 100

/** `limit` is the maximum number of bytes per project. */
function* recordReport(report: RememberedReport, limit: number, { now, damaged }: Within): Steps<Recorded> {
  const { instance, projectId, project, job, revision, jobId, pipelineId, lostMs } = report
  // A job's end is limited to the current time, because the platform's clock may be ahead.
  const endedAt = Math.min(report.endedAt, now)
  const known = yield ['SELECT id FROM test_reports WHERE instance = ?1 AND job_id = ?2', [instance, jobId]]
  if (known.length > 0) return { flaky: yield* foundBy(report), forgotten: 0 }
  const code = [instance, projectId, job, revision]
  const earlier = damaged.rows('test_reports', yield [selectEarlier, [...code, maxReports]], earlierReport)
  const failures =
    earlier.length === 0
      ? []
      : (yield [
          `SELECT report_id, test, suite, name FROM test_cases WHERE kind = 'failed' AND report_id IN (${placeholders(earlier)})`,
          earlier.map(({ id }) => id),
        ]).map(failureRow)
  const found = new Set((yield [selectFound, code]).map(row => row.test))
  const flaky = compared(report, earlier, failures).filter(({ hash }) => !found.has(hash))
  const again = [...report.failed.keys()].filter(hash => found.has(hash))
  const rows = [...rowsOf(report)]
  const passed = packHashes(report.passed)
  const size = rows.reduce((sum, row) => sum + bytesOfRow + 2 * (row.suite.length + row.name.length), passed.length)
  const [written] = yield [
    insertReport,
    [instance, projectId, project, job, revision, jobId, pipelineId, lostMs, endedAt, size + bytesOfRow, passed],
  ]
  const reportId = written === undefined ? 0 : reportKey(written).id
  yield each(
    insertCases,
    rows.map(({ hash, kind, suite, name, ms }) => [reportId, hash, kind, suite, name, ms]),
  )
  yield each(
    insertFlaky,
    flaky.map(({ hash, suite, name, within, jobs }) => [
      ...code,
      ...[hash, project, suite, name, within, jobId, pipelineId, endedAt, lostOf(jobs)],
    ]),
  )
  // If a test is already known to be flaky, its lost time grows with each further job that fails because of it.
  if (lostMs > 0 && again.length > 0) {
    yield each(
      addLost,
      again.map(hash => [...code, hash, lostMs]),
    )
  }
  const failedJobs = new Map(
    [...flaky.flatMap(({ jobs }) => jobs), ...(again.length > 0 ? [report] : [])].map(one => [one.jobId, one]),
  )
  yield each(
    insertFlakyJobs,
    [...failedJobs.values()]
      .filter(one => one.lostMs > 0)
      .map(one => [instance, one.jobId, projectId, project, endedAt, one.lostMs]),
  )
  return { flaky: flaky.map(shown), forgotten: yield* forgetBeyond(instance, projectId, limit) }
}

interface FailedJob {
  readonly jobId: number
  /** The duration of the job in ms if the job failed, otherwise 0. */
  readonly lostMs: number
}
interface Earlier extends FailedJob {
  readonly id: number
  readonly passed: Uint8Array
}
interface FailureRow extends TestName {
  readonly reportId: number
  readonly hash: number
}
interface Found extends FlakyTest {
  readonly hash: number
  readonly jobs: readonly FailedJob[]
}

/** Returns the tests that both failed and passed across this report and the earlier ones. */
function compared(report: RememberedReport, earlier: readonly Earlier[], failures: readonly FailureRow[]): Found[] {
  const flaky = new Map<number, Found>()
  for (const [hash, test] of report.flaky) {
    flaky.set(hash, { hash, ...test, within: 'report', jobs: report.failed.has(hash) ? [report] : [] })
  }
  for (const [hash, test] of report.failed) {
    if (!earlier.some(({ passed }) => hasHash(passed, hash))) continue
    flaky.set(hash, { hash, ...test, within: 'revision', jobs: [report] })
  }
  const byId = new Map(earlier.map(one => [one.id, one]))
  for (const { hash, reportId, suite, name } of failures) {
    if (!report.passed.has(hash)) continue
    const jobs = [...(flaky.get(hash)?.jobs ?? []), byId.get(reportId) ?? []].flat()
    flaky.set(hash, { hash, suite, name, within: 'revision', jobs })
  }
  return [...flaky.values()]
}

function lostOf(jobs: readonly FailedJob[]): number {
  return jobs.reduce((sum, { lostMs }) => sum + lostMs, 0)
}

function* foundBy({ instance, projectId, jobId }: RememberedReport): Steps<FlakyTest[]> {
  const rows = yield [
    'SELECT suite, name, within_what FROM flaky_tests WHERE instance = ?1 AND project_id = ?2 AND job_id = ?3 ORDER BY test',
    [instance, projectId, jobId],
  ]
  return rows.map(flakyRow)
}

function* forgetBeyond(instance: string, projectId: number, limit: number): Steps<number> {
  let forgotten = 0
  for (;;) {
    const [sum] = yield [
      'SELECT CAST(coalesce(sum(size), 0) AS bigint) AS size FROM test_reports WHERE instance = ?1 AND project_id = ?2',
      [instance, projectId],
    ]
    if (sum === undefined || sizeRow(sum).size <= limit) return forgotten
    const gone = yield [
      `DELETE FROM test_reports WHERE id IN (SELECT id FROM test_reports WHERE instance = ?1 AND project_id = ?2
         ORDER BY reported_at, id LIMIT 10) RETURNING id`,
      [instance, projectId],
    ]
    if (gone.length === 0) return forgotten
    forgotten += gone.length
  }
}

function* rowsOf({ failed, flaky, slowest }: RememberedReport) {
  for (const [hash, { suite, name }] of failed) yield { hash, kind: 'failed', suite, name, ms: 0 }
  for (const [hash, { suite, name }] of flaky) yield { hash, kind: 'flaky', suite, name, ms: 0 }
  for (const { hash, suite, name, seconds } of slowest) {
    yield { hash, kind: 'slow', suite, name, ms: Math.round(seconds * 1_000) }
  }
}

function shown({ suite, name, within }: Found): FlakyTest {
  return { suite, name, within }
}

const selectEarlier = `SELECT id, job_id, lost_ms, passed FROM test_reports
  WHERE instance = ?1 AND project_id = ?2 AND job = ?3 AND revision = ?4 ORDER BY id DESC LIMIT ?5`
const selectFound =
  'SELECT test FROM flaky_tests WHERE instance = ?1 AND project_id = ?2 AND job = ?3 AND revision = ?4'
const insertReport = `INSERT INTO test_reports
  (instance, project_id, project, job, revision, job_id, pipeline_id, lost_ms, reported_at, size, passed)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) RETURNING id`
const insertCases = forRows(
  ['bigint', 'bigint', 'text', 'text', 'text', 'bigint'],
  ({ rows }) => `INSERT INTO test_cases (report_id, test, kind, suite, name, ms) ${rows}`,
)
const insertFlaky = forRows(
  [
    ...(['text', 'bigint', 'text', 'text', 'bigint', 'text', 'text', 'text', 'text'] as const),
    ...(['bigint', 'bigint', 'bigint', 'bigint'] as const),
  ],
  ({ rows }) => `
  INSERT INTO flaky_tests (instance, project_id, job, revision, test, project, suite, name, within_what, job_id, pipeline_id, found_at, lost_ms)
  ${rows}`,
)
const addLost = forRows(
  ['text', 'bigint', 'text', 'text', 'bigint', 'bigint'],
  ({ rows }) => `
  WITH v (instance, project_id, job, revision, test, lost) AS (${rows})
  UPDATE flaky_tests SET lost_ms = lost_ms + v.lost FROM v
  WHERE flaky_tests.instance = v.instance AND flaky_tests.project_id = v.project_id AND flaky_tests.job = v.job
    AND flaky_tests.revision = v.revision AND flaky_tests.test = v.test`,
  `UPDATE flaky_tests SET lost_ms = lost_ms + ?6
   WHERE instance = ?1 AND project_id = ?2 AND job = ?3 AND revision = ?4 AND test = ?5`,
)
const insertFlakyJobs = forRows(
  ['text', 'bigint', 'bigint', 'text', 'bigint', 'bigint'],
  ({ rows }) => `
  INSERT INTO flaky_jobs (instance, job_id, project_id, project, found_at, lost_ms) ${rows}
  ON CONFLICT (instance, job_id) DO UPDATE SET
    found_at = CASE WHEN excluded.found_at > flaky_jobs.found_at THEN excluded.found_at ELSE flaky_jobs.found_at END`,
)

const reportKey = record({ id: number('id') })
const sizeRow = record({ size: number('size') })
const earlierReport = record({
  id: number('id'),
  jobId: number('job_id'),
  lostMs: number('lost_ms'),
  passed: bytes('passed'),
})
const failureRow = record({
  reportId: number('report_id'),
  hash: number('test'),
  suite: text('suite'),
  name: text('name'),
})
const flakyRow = record({
  suite: text('suite'),
  name: text('name'),
  within: oneOf('within_what', ['report', 'revision']),
})

/** `maxBytes` is the maximum number of bytes per project. */
export function testMemory(sql: Statements, maxBytes = maxBytesOfProject): TestMemory {
  return {
    record: async report =>
      sql.transaction(function* (within) {
        // The lock serialises the reports of a project: two reports that are written concurrently would not see each other.
        yield* lockNames([`tests ${report.instance} ${report.projectId}`], within)
        return yield* recordReport(report, maxBytes, within)
      }),
    prune: async (before, limit) => {
      const reports = await sql.change(
        `DELETE FROM test_reports WHERE id IN
           (SELECT id FROM test_reports WHERE reported_at < ?1 ORDER BY reported_at LIMIT ?2)`,
        [before, limit],
      )
      const found = await sql.change(
        `DELETE FROM flaky_tests WHERE (instance, project_id, job, revision, test) IN
           (SELECT instance, project_id, job, revision, test FROM flaky_tests WHERE found_at < ?1 ORDER BY found_at LIMIT ?2)`,
        [before, limit],
      )
      const jobs = await sql.change(
        `DELETE FROM flaky_jobs WHERE (instance, job_id) IN
           (SELECT instance, job_id FROM flaky_jobs WHERE found_at < ?1 ORDER BY found_at LIMIT ?2)`,
        [before, limit],
      )
      return reports + found + jobs
    },
  }
}
