// Reads test results for pages: rankings of tests, the time that flaky tests cost, and how many flaky tests were found on each day.
import { number, record, text, type Row } from '../../core/store/sql/columns.ts'
import type { Millis } from '../../model/instant.ts'
import { inScope, type ProjectScope } from '../../core/store/ports/project-scope.ts'
import type { Reading, ScopedSql } from '../../core/store/sql/reading.ts'
import type { Reads } from '../../core/store/ports/reads.ts'
import type { TestName } from '../../model/test-report.ts'
import type { Value } from '../../core/store/sql/statements.ts'

/** The figures of one test over all of its reports. */
export interface TestFigures extends TestName {
  readonly instance: string
  readonly projectId: number
  readonly project: string
  readonly job: string
  /** How often the test was flaky, how often it failed, or how often it was among the slowest tests of its report. */
  readonly times: number
  readonly lastAt: Millis
  /** The latest job in which the test was flaky, failed or slow, and its pipeline. */
  readonly jobId: number
  readonly pipelineId: number
  /**
   * The time that the test costs, ms. For flaky and failed tests, it is the time of the jobs that failed with them; for slow tests, it is their own
   * time.
   */
  readonly costMs: number
}

/** The jobs of one project that failed with flaky tests. Each job counts once, however many of its tests are flaky. */
export interface FlakyTime {
  /** The full path of the project. */
  readonly project: string
  readonly jobs: number
  /** The sum of the durations of the jobs that failed with flaky tests, ms. */
  readonly lostMs: number
}

/** How many flaky tests were found on one day. */
export interface FlakyDay {
  /** The beginning of the day (UTC). */
  readonly at: Millis
  /** The number of tests that failed and passed on the same revision. */
  readonly retried: number
  /** The number of tests that were repeated within one report until they passed. */
  readonly repeated: number
}

export type TestQuestion = 'flaky' | 'failed' | 'slow'

/** `project` is the full path of a project; if undefined, all projects are read. */
interface Since {
  readonly project?: ProjectScope | undefined
  readonly since: Millis
}

export interface TestReads {
  /** Returns the most expensive tests, among the newest results from `since` until before `until`. */
  figures(
    question: TestQuestion,
    of: Since & { readonly until?: Millis | undefined; readonly limit: number },
  ): Promise<readonly TestFigures[]>
  /**
   * Returns the time that flaky tests cost, by project: the durations of the jobs that failed with flaky tests since `since`. The most expensive
   * project is first.
   */
  flakyTime(of: Since): Promise<readonly FlakyTime[]>
  /**
   * Returns how many flaky tests were found on each day (UTC), among the newest findings since `since`. The oldest day is first. Days without
   * findings are left out.
   */
  flakyDays(of: Since): Promise<readonly FlakyDay[]>
}

/** Removes the number of a parallel job: `rspec 2/3` becomes `rspec`, because a test may run in a different parallel job in the next pipeline. */
export function testedName(name: string): string {
  return name.replace(/ \d+\/\d+$/, '')
}

/** Reads test results of the projects that the user may see. */
export function testsIn(reads: Pick<Reads, 'on'>): TestReads {
  return reads.on(testReads)
}

/** The maximum number of test results that a ranking reads, newest first. With this limit a ranking takes about 50 ms, however many are stored. */
const maxResults = 20_000
const day = 24 * 3_600_000

export function testReads({ ask }: Reading): TestReads {
  return {
    figures: async (question, { project, since, until = Number.MAX_SAFE_INTEGER, limit }) => {
      const values: Value[] = [since, limit, until]
      return (await ask(figuresSql(question, scopeOf(project, values)), values)).map(figuresRow)
    },
    flakyTime: async ({ project, since }) => {
      const values: Value[] = [since]
      return (await ask(timeSql(scopeOf(project, values)), values)).map(timeRow)
    },
    flakyDays: async ({ project, since }) => {
      const values: Value[] = [since]
      return (await ask(daysSql(scopeOf(project, values)), values)).map(dayRow)
    },
  }
}

/** Returns an SQL condition for the project, and adds the condition's values to `values`. */
function scopeOf(project: ProjectScope | undefined, values: Value[]): string {
  return project === undefined ? '' : `AND ${inScope('project', project, path => `?${values.push(path)}`)}`
}

/** Returns a ranking of tests. Its placeholders are the start of the period, the limit, the end of the period, and those in the condition `of`. */
function figuresSql(question: TestQuestion, of: string): ScopedSql {
  const grouped = (rows: ScopedSql, cost: string): ScopedSql => `
    SELECT instance, project_id, max(project) AS project, job, max(suite) AS suite, max(name) AS name, count(*) AS times, max(at) AS last_at,
           max(job_id) AS job_id, max(CASE WHEN newest = 1 THEN pipeline_id END) AS pipeline_id, CAST(${cost} AS bigint) AS cost_ms
    FROM (SELECT found.*, row_number() OVER (PARTITION BY instance, project_id, job, test ORDER BY job_id DESC) AS newest
      FROM (${rows}) AS found) AS numbered
    GROUP BY instance, project_id, job, test ORDER BY cost_ms DESC, times DESC, name LIMIT ?2`
  if (question === 'flaky') {
    const rows =
      `SELECT instance, project_id, project, job, test, suite, name, job_id, pipeline_id, found_at AS at, lost_ms AS ms
      FROM flaky_tests WHERE found_at >= ?1 AND found_at < ?3 AND {visible} ${of} ORDER BY found_at DESC LIMIT ${maxResults}` as const
    return grouped(rows, 'sum(ms)')
  }
  const rows =
    `SELECT r.instance, r.project_id, r.project, r.job, c.test, c.suite, c.name, r.job_id, r.pipeline_id, r.reported_at AS at,
      ${question === 'slow' ? 'c.ms' : 'r.lost_ms AS ms'}
    FROM test_reports r JOIN test_cases c ON c.report_id = r.id AND c.kind = '${question}' WHERE r.reported_at >= ?1 AND r.reported_at < ?3 AND {visible r} ${of}
    ORDER BY r.reported_at DESC LIMIT ${maxResults}` as const
  return grouped(rows, 'sum(ms)')
}

/** Returns the time lost by project. Its placeholders are the start of the period and those in the condition `of`. */
function timeSql(of: string): ScopedSql {
  return `SELECT project, count(*) AS jobs, CAST(sum(lost_ms) AS bigint) AS lost_ms FROM flaky_jobs WHERE found_at >= ?1 AND {visible} ${of}
    GROUP BY project ORDER BY lost_ms DESC, project`
}

/** Returns the number of flaky tests by day. Its placeholders are the start of the period and those in the condition `of`. */
function daysSql(of: string): ScopedSql {
  return `SELECT found_at / ${day} * ${day} AS at, CAST(sum(CASE WHEN within_what = 'revision' THEN 1 ELSE 0 END) AS bigint) AS retried,
      CAST(sum(CASE WHEN within_what = 'report' THEN 1 ELSE 0 END) AS bigint) AS repeated
    FROM (SELECT found_at, within_what FROM flaky_tests WHERE found_at >= ?1 AND {visible} ${of}
      ORDER BY found_at DESC LIMIT ${maxResults}) AS found
    GROUP BY 1 ORDER BY 1`
}

const dayRow: (row: Row) => FlakyDay = record({
  at: number('at'),
  retried: number('retried'),
  repeated: number('repeated'),
})

const timeRow: (row: Row) => FlakyTime = record({
  project: text('project'),
  jobs: number('jobs'),
  lostMs: number('lost_ms'),
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
