// Stores test reports and finds flaky tests, as steps of a transaction; ranks tests for pages.
import { bytes, number, record, text, word } from './columns.ts'
import { hasHash, packHashes } from './hash-set.ts'
import { inScope } from './project-scope.ts'
import { places, type Statements, type Value } from './statements.ts'
import { testMemoryBytes } from '../ports/test-memory.ts'
import type { FlakyDay, RememberedReport, TestFigures, TestMemory, TestQuestion } from '../ports/test-memory.ts'
import type { ProjectScope } from '../ports/project-scope.ts'
import type { FlakyTest } from '../../model/job-tests.ts'
import type { Row } from './columns.ts'
import { each, forRows, lockNames, type Steps, type Within } from './steps.ts'
import type { TestName } from '../../model/test-report.ts'

export interface Recorded {
  readonly flaky: readonly FlakyTest[]
  readonly forgotten: number
}

/** The maximum of earlier reports of its revision that a report is compared with, the latest. */
const maxReports = 20
/** The maximum of results that a ranking reads, the newest: some 50 ms, however many are stored. */
const lookedAt = 20_000
const day = 24 * 3_600_000
/** Bytes of a row besides its texts. */
const bytesOfRow = 100

/** `limit`: bytes of one project. */
function* recordReport(report: RememberedReport, limit: number, { now, damaged }: Within): Steps<Recorded> {
  const { instance, projectId, project, job, revision, jobId, pipelineId, lostMs } = report
  // A platform's clock may be ahead.
  const endedAt = Math.min(report.endedAt, now)
  const known = yield ['SELECT id FROM test_reports WHERE instance = ?1 AND job_id = ?2', [instance, jobId]]
  if (known.length > 0) return { flaky: yield* foundBy(report), forgotten: 0 }
  const code = [instance, projectId, job, revision]
  const earlier = (yield [selectEarlier, [...code, maxReports]]).flatMap(
    row => damaged.orNothing({ tests: row.id }, 'no report is compared with it', () => earlierReport(row)) ?? [],
  )
  const failures =
    earlier.length === 0
      ? []
      : (yield [
          `SELECT report_id, test, suite, name FROM test_cases WHERE kind = 'failed' AND report_id IN (${places(earlier)})`,
          earlier.map(({ id }) => id),
        ]).map(failureRow)
  const found = new Set((yield [selectFound, code]).map(row => row.test))
  const flaky = compared(report, earlier, failures).filter(({ hash }) => !found.has(hash))
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
    flaky.map(({ hash, suite, name, within, lost }) => [
      ...code,
      ...[hash, project, suite, name, within, jobId, pipelineId, endedAt, lost],
    ]),
  )
  return { flaky: flaky.map(shown), forgotten: yield* forgetBeyond(instance, projectId, limit) }
}

interface Earlier {
  readonly id: number
  readonly lostMs: number
  readonly passed: Uint8Array
}
interface FailureRow extends TestName {
  readonly reportId: number
  readonly hash: number
}
interface Found extends FlakyTest {
  readonly hash: number
  /** Time of the jobs that failed with it, ms. */
  readonly lost: number
}

/** The tests that failed and passed, in this report and the earlier ones together. */
function compared(report: RememberedReport, earlier: readonly Earlier[], failures: readonly FailureRow[]): Found[] {
  const flaky = new Map<number, Found>()
  for (const [hash, test] of report.flaky) flaky.set(hash, { hash, ...test, within: 'report', lost: 0 })
  for (const [hash, test] of report.failed) {
    if (!earlier.some(({ passed }) => hasHash(passed, hash))) continue
    flaky.set(hash, { hash, ...test, within: 'revision', lost: report.lostMs })
  }
  for (const { hash, reportId, suite, name } of failures) {
    if (!report.passed.has(hash)) continue
    const lost = (flaky.get(hash)?.lost ?? 0) + (earlier.find(({ id }) => id === reportId)?.lostMs ?? 0)
    flaky.set(hash, { hash, suite, name, within: 'revision', lost })
  }
  return [...flaky.values()]
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

const selectEarlier = `SELECT id, lost_ms, passed FROM test_reports
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

const reportKey = record({ id: number('id') })
const sizeRow = record({ size: number('size') })
const earlierReport = record({ id: number('id'), lostMs: number('lost_ms'), passed: bytes('passed') })
const failureRow = record({
  reportId: number('report_id'),
  hash: number('test'),
  suite: text('suite'),
  name: text('name'),
})
const flakyRow = record({
  suite: text('suite'),
  name: text('name'),
  within: word('within_what', ['report', 'revision']),
})

/** `maxBytes`: of one project. */
export function testMemory(sql: Statements, maxBytes = testMemoryBytes): TestMemory {
  return {
    record: async report =>
      sql.transaction(function* (within) {
        // Two reports that are written at the same time would not see each other.
        yield* lockNames([`tests ${report.instance} ${report.projectId}`], within)
        return yield* recordReport(report, maxBytes, within)
      }),
    figures: async (question, { project, since, until = Number.MAX_SAFE_INTEGER, limit }) => {
      const values: Value[] = [since, limit, until]
      return (await sql.all(figuresSql(question, scopeOf(project, values)), values)).map(figuresRow)
    },
    flakyDays: async ({ project, isCounted, since }) => {
      const values: Value[] = [since]
      const rows = await sql.all(daysSql(scopeOf(project, values)), values)
      const days = new Map<number, FlakyDay>()
      for (const row of rows) {
        if (isCounted?.(projectOf(row)) === false) continue
        const { at, retried, repeated } = dayRow(row)
        const day = days.get(at)
        days.set(at, { at, retried: (day?.retried ?? 0) + retried, repeated: (day?.repeated ?? 0) + repeated })
      }
      return [...days.values()]
    },
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
      return reports + found
    },
  }
}

/** A further condition, whose values are added to `values`. */
function scopeOf(project: ProjectScope | undefined, values: Value[]): string {
  return project === undefined ? '' : `AND ${inScope('project', project, path => `?${values.push(path)}`)}`
}

/** Values: since when, the limit, until when, and those of `of`, a further condition. */
function figuresSql(question: TestQuestion, of: string): string {
  const grouped = (rows: string, cost: string) => `
    SELECT instance, project_id, max(project) AS project, job, max(suite) AS suite, max(name) AS name, count(*) AS times, max(at) AS last_at,
           max(job_id) AS job_id, max(pipeline_id) AS pipeline_id, CAST(${cost} AS bigint) AS cost_ms
    FROM (${rows}) AS found GROUP BY instance, project_id, job, test ORDER BY cost_ms DESC, times DESC, name LIMIT ?2`
  if (question === 'flaky') {
    const rows = `SELECT instance, project_id, project, job, test, suite, name, job_id, pipeline_id, found_at AS at, lost_ms AS ms
      FROM flaky_tests WHERE found_at >= ?1 AND found_at < ?3 ${of} ORDER BY found_at DESC LIMIT ${lookedAt}`
    return grouped(rows, 'sum(ms)')
  }
  const rows = `SELECT r.instance, r.project_id, r.project, r.job, c.test, c.suite, c.name, r.job_id, r.pipeline_id, r.reported_at AS at,
      ${question === 'slow' ? 'c.ms' : 'r.lost_ms AS ms'}
    FROM test_reports r JOIN test_cases c ON c.report_id = r.id AND c.kind = '${question}' WHERE r.reported_at >= ?1 AND r.reported_at < ?3 ${of}
    ORDER BY r.reported_at DESC LIMIT ${lookedAt}`
  return grouped(rows, 'sum(ms)')
}

/** Values: since when, and those of `of`, a further condition. */
function daysSql(of: string): string {
  return `SELECT found_at / ${day} * ${day} AS at, project, CAST(sum(CASE WHEN within_what = 'revision' THEN 1 ELSE 0 END) AS bigint) AS retried,
      CAST(sum(CASE WHEN within_what = 'report' THEN 1 ELSE 0 END) AS bigint) AS repeated
    FROM (SELECT found_at, project, within_what FROM flaky_tests WHERE found_at >= ?1 ${of}
      ORDER BY found_at DESC LIMIT ${lookedAt}) AS found
    GROUP BY 1, 2 ORDER BY 1`
}

const projectOf = text('project')
const dayRow: (row: Row) => FlakyDay = record({
  at: number('at'),
  retried: number('retried'),
  repeated: number('repeated'),
})

const figuresRow: (row: Row) => TestFigures = record({
  instance: text('instance'),
  projectId: number('project_id'),
  project: text('project'),
  job: text('job'),
  suite: text('suite'),
  name: text('name'),
  times: number('times'),
  lastAt: number('last_at'),
  jobId: number('job_id'),
  pipelineId: number('pipeline_id'),
  costMs: number('cost_ms'),
})
