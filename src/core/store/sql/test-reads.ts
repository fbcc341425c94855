// Reads test results for pages: rankings of tests, what flaky tests cost, and how many were found on each day.
import { number, record, text } from './columns.ts'
import { inScope } from './project-scope.ts'
import type { Row } from './columns.ts'
import type { FlakyDay, FlakyTime, TestFigures, TestMemory, TestQuestion } from '../ports/test-memory.ts'
import type { ProjectScope } from '../ports/project-scope.ts'
import type { Reading, ScopedSql } from './reading.ts'
import type { Value } from './statements.ts'

/** The maximum of results that a ranking reads, the newest: some 50 ms, however many are stored. */
const lookedAt = 20_000
const day = 24 * 3_600_000

export function testReads({ ask }: Reading): Pick<TestMemory, 'figures' | 'flakyTime' | 'flakyDays'> {
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

/** A further condition, whose values are added to `values`. */
function scopeOf(project: ProjectScope | undefined, values: Value[]): string {
  return project === undefined ? '' : `AND ${inScope('project', project, path => `?${values.push(path)}`)}`
}

/** Values: since when, the limit, until when, and those of `of`, a further condition. */
function figuresSql(question: TestQuestion, of: string): ScopedSql {
  const grouped = (rows: ScopedSql, cost: string): ScopedSql => `
    SELECT instance, project_id, max(project) AS project, job, max(suite) AS suite, max(name) AS name, count(*) AS times, max(at) AS last_at,
           max(job_id) AS job_id, max(pipeline_id) AS pipeline_id, CAST(${cost} AS bigint) AS cost_ms
    FROM (${rows}) AS found GROUP BY instance, project_id, job, test ORDER BY cost_ms DESC, times DESC, name LIMIT ?2`
  if (question === 'flaky') {
    const rows =
      `SELECT instance, project_id, project, job, test, suite, name, job_id, pipeline_id, found_at AS at, lost_ms AS ms
      FROM flaky_tests WHERE found_at >= ?1 AND found_at < ?3 AND {visible} ${of} ORDER BY found_at DESC LIMIT ${lookedAt}` as const
    return grouped(rows, 'sum(ms)')
  }
  const rows =
    `SELECT r.instance, r.project_id, r.project, r.job, c.test, c.suite, c.name, r.job_id, r.pipeline_id, r.reported_at AS at,
      ${question === 'slow' ? 'c.ms' : 'r.lost_ms AS ms'}
    FROM test_reports r JOIN test_cases c ON c.report_id = r.id AND c.kind = '${question}' WHERE r.reported_at >= ?1 AND r.reported_at < ?3 AND {visible r} ${of}
    ORDER BY r.reported_at DESC LIMIT ${lookedAt}` as const
  return grouped(rows, 'sum(ms)')
}

/** Values: since when, and those of `of`, a further condition. */
function timeSql(of: string): ScopedSql {
  return `SELECT project, count(*) AS jobs, CAST(sum(lost_ms) AS bigint) AS lost_ms FROM flaky_jobs WHERE found_at >= ?1 AND {visible} ${of}
    GROUP BY project ORDER BY lost_ms DESC, project`
}

/** Values: since when, and those of `of`, a further condition. */
function daysSql(of: string): ScopedSql {
  return `SELECT found_at / ${day} * ${day} AS at, CAST(sum(CASE WHEN within_what = 'revision' THEN 1 ELSE 0 END) AS bigint) AS retried,
      CAST(sum(CASE WHEN within_what = 'report' THEN 1 ELSE 0 END) AS bigint) AS repeated
    FROM (SELECT found_at, within_what FROM flaky_tests WHERE found_at >= ?1 AND {visible} ${of}
      ORDER BY found_at DESC LIMIT ${lookedAt}) AS found
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
