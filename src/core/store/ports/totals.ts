// Running totals of every project's metrics, and the active runs, for both databases. Damaged rows are skipped.
//
// 1. A transaction that adds to the totals, for example by taking snapshots, appends one row with the sum of its increments (`addTotals`). It neither
//    reads nor locks any total.
// 2. Every few seconds, and before totals are read, these rows are folded: one transaction deletes some rows and adds them to the totals. Each row is
//    deleted exactly once, even if a process is killed and however many replicas fold. So a total is always the sum of the deleted rows, and no
//    position has to be stored.
//
// No transaction updates a total for its own increments. So a series is written only once every few seconds, even if a busy daemon adds to it
// thousands of times.
import type {
  ActiveJob,
  ActiveRuns,
  Amount,
  ProjectTotals,
  SeriesTotal,
  ProjectIncrements,
} from '../../../model/totals.ts'
import type { Millis } from '../../../model/instant.ts'
import { json, number, optional, record, text, bytes, type Row } from '../sql/columns.ts'
import { lockNames, type Steps, type Within } from '../sql/steps.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { projectKey, projectOfSeries, seriesOf, summedByProject, addToTotals } from '../sql/fold-totals.ts'
import { documentBytes, documentOf, storedJson, storedList } from '../sql/stored-json.ts'
import type { DamagedRows } from '../sql/damaged-rows.ts'
import type { Statements } from '../sql/statements.ts'
import { isPending, isRunning } from '../../../model/status.ts'
import { loadRuns } from '../sql/run-reads.ts'
import { viewJob, type Job } from '../../../model/job.ts'
import type { StoredRun } from './runs.ts'

export interface TotalsPage {
  /** The time at which the totals were read, by the store's clock. */
  readonly now: Millis
  readonly projects: readonly ProjectTotals[]
  /** The start of the next page. Undefined on the last page. */
  readonly next?: number | undefined
}

export type Totals = ReturnType<typeof totals>

/** How many rows one transaction folds. On a busy daemon this takes some tens of milliseconds. */
const rowsAtOnce = 32

/**
 * Appends increments that are later added to the totals. Must run in the transaction that produces the increments, such as one that takes snapshots.
 */
export function* addTotals(increments: readonly ProjectIncrements[], { now }: Within): Steps<void> {
  if (increments.length > 0)
    yield [
      'INSERT INTO totals_added (added_at, content) VALUES (?1, ?2)',
      [now, documentBytes(summedByProject(increments))],
    ]
}

const isAnyAdded = 'SELECT 1 FROM totals_added LIMIT 1'
const takeAdded = `
  DELETE FROM totals_added WHERE id IN (SELECT id FROM totals_added ORDER BY id LIMIT ${rowsAtOnce})
  RETURNING id, added_at, content`
const added = record({ at: number('added_at'), content: bytes('content') })

function* foldSome(within: Within): Steps<number> {
  // The lock keeps two replicas that fold at the same time from blocking each other on row locks.
  yield* lockNames(['totals'], within)
  const taken = (yield [takeAdded, []]).toSorted((a, b) => id(a) - id(b))
  const rows = within.damaged.rows('totals_added', taken, row => {
    const { at, content } = added(row)
    return { at, increments: storedList(documentOf(content), areIncrements) }
  })
  const increments = rows.flatMap(row => row.increments)
  // A new series starts just before the time at which the first of the folded rows was added.
  const at = Math.min(...rows.map(row => row.at))
  if (increments.length > 0) yield* addToTotals(increments, { ...within, now: at })
  return taken.length
}

/** Whether stored increments have every field that is needed to add them to the totals. Throws if they are not objects. */
function areIncrements({ key, project, profile, maxSeries, increments }: ProjectIncrements): boolean {
  return (
    typeof key.instance === 'string' &&
    typeof key.projectId === 'number' &&
    typeof project.id === 'number' &&
    typeof profile === 'string' &&
    typeof maxSeries === 'number' &&
    increments.every(
      ({ metric, attributes, amount }) =>
        typeof metric === 'string' && typeof attributes === 'string' && isAmount(amount),
    )
  )
}

function isAmount(amount: Amount): boolean {
  switch (amount.kind) {
    case 'sum':
      return typeof amount.by === 'number'
    case 'last':
      return typeof amount.value === 'number' && typeof amount.at === 'number'
    case 'histogram':
      return amount.counts.length === amount.bounds.length + 1 && typeof amount.sum === 'number'
    default:
      return false
  }
}

export function totals(sql: Statements) {
  /** Folds all appended increments, a few rows at a time, so that other work can run in between. */
  async function fold(): Promise<void> {
    // Check first: usually there is nothing to fold, and a SELECT needs no transaction.
    if ((await sql.all(isAnyAdded)).length === 0) return
    while ((await sql.transaction(foldSome)) === rowsAtOnce) await nextTurn()
  }
  return {
    fold,
    /**
     * Reads the totals of at most `limit` projects. For the first page, pending increments are folded first; later pages start at `next` of the
     * previous page.
     */
    read: async (limit: number, from = 0): Promise<TotalsPage> => {
      if (from === 0) await fold()
      const rows = await sql.all(selectProjects, [from, limit])
      const series = Map.groupBy(await sql.all(selectSeries, [from, limit]), projectOfSeries)
      const last = rows.length < limit ? undefined : rows.at(-1)
      return {
        // The time is read last, so that no series has a start after the time at which it is sent.
        now: await sql.now(),
        projects: sql.damaged.rows('totals_projects', rows, row =>
          projectTotals(row, series.get(id(row)) ?? [], sql.damaged),
        ),
        ...(last === undefined ? {} : { next: id(last) }),
      }
    },
    /** Folds pending increments, then returns the names of all metrics that have totals. */
    metrics: async (): Promise<readonly string[]> => {
      await fold()
      return (await sql.all(selectMetrics)).map(row => text('metric')(row))
    },
    /** Reads the project-wide totals of one metric: about `limit` series, from the first project or from `next` of the previous page. */
    ofMetric: async (metric: string, limit: number, from = 0): Promise<TotalsPage> => {
      const counts = await sql.all(selectCounts, [metric, from, limit])
      const { last, isWhole } = pageWithin(limit, counts)
      const rows = await sql.all(selectOfMetric, [metric, from, last])
      const now = await sql.now()
      const series = Map.groupBy(rows, projectOfSeries)
      const firsts = [...series.values()].map(([first = {}]) => first)
      const projects = sql.damaged.rows('totals_projects', firsts, row =>
        projectTotals(row, series.get(projectOfSeries(row)) ?? [], sql.damaged),
      )
      return { now, projects, ...(isWhole && counts.length < limit ? {} : { next: last }) }
    },
    /** Counts the runs whose open attempt has no snapshot yet, by project, name and status. */
    active: async (): Promise<readonly ActiveRuns[]> =>
      sql.damaged.rows('runs', await sql.all(selectActive), activeRuns),
    /** Calls `take` with the jobs of active runs that wait for a runner or occupy one, a page at a time. */
    activeJobs: async (take: (page: readonly ActiveJob[]) => void): Promise<void> => {
      const ids = (await sql.all(selectActiveIds)).map(id)
      for (let at = 0; at < ids.length; at += runsPerPage) {
        // Lets other work run between two pages, because SQLite blocks the event loop.
        await nextTurn()
        const runs = await loadRuns(sql.all, sql.damaged, ids.slice(at, at + runsPerPage))
        take([...runs.values()].flatMap(one => [...one.run.jobs.values()].flatMap(job => activeJob(one, job) ?? [])))
      }
    },
  }
}

const page = 'SELECT id FROM totals_projects WHERE id > ?1 ORDER BY id LIMIT ?2'
const selectProjects = `SELECT * FROM totals_projects WHERE id IN (${page}) ORDER BY id`
const selectSeries = `SELECT * FROM totals WHERE project IN (${page}) ORDER BY project, metric, attributes`

/** Each metric name is looked up in the index separately, because the index may have millions of entries. */
const selectMetrics = `
  WITH RECURSIVE names (metric) AS (
    SELECT min(metric) FROM totals
    UNION ALL SELECT (SELECT min(metric) FROM totals WHERE metric > names.metric) FROM names WHERE names.metric IS NOT NULL
  ) SELECT metric FROM names WHERE metric IS NOT NULL`
const selectCounts = `
  SELECT project, count(*) AS series FROM totals WHERE metric = ?1 AND project > ?2
  GROUP BY project ORDER BY project LIMIT ?3`
const selectOfMetric = `
  SELECT t.*, p.instance, p.project_id, p.profile, p.facts FROM totals t JOIN totals_projects p ON p.id = t.project
  WHERE t.metric = ?1 AND t.project > ?2 AND t.project <= ?3 ORDER BY t.project, t.attributes`

/** Returns the last project of a page of about `limit` series, and whether the page includes all counted projects. */
function pageWithin(limit: number, counts: readonly Row[]): { readonly last: number; readonly isWhole: boolean } {
  let sum = 0
  const at = counts.findIndex(row => (sum += countOf(row)) >= limit)
  return { last: projectOfSeries(counts.at(at) ?? { project: 0 }), isWhole: at === -1 }
}

const whereActive = `WHERE due_at IS NOT NULL AND status NOT IN ('success', 'failed', 'canceled', 'skipped')`
/** Counts runs by project, name and status. The project is read from the newest run, which has the project's current name. */
const selectActive = `
  SELECT instance, project_id, name, status, project, runs FROM (
    SELECT instance, project_id, name, status, project, count(*) OVER alike AS runs,
           row_number() OVER (alike ORDER BY changed_at DESC) AS place
    FROM runs ${whereActive}
    WINDOW alike AS (PARTITION BY instance, project_id, name, status)
  ) AS active WHERE place = 1 ORDER BY instance, project_id, name, status`

const id = number('id')
const countOf = number('series')
const facts = json<ProjectTotals['project']>('facts')
const profile = text('profile')

function projectTotals(row: Row, series: readonly Row[], damaged: DamagedRows): ProjectTotals {
  return {
    ...{ key: projectKey(row), project: facts(row), profile: profile(row) },
    series: damaged.rows('totals', series, sentSeries),
  }
}

function sentSeries(row: Row): SeriesTotal {
  storedJson(row.attributes)
  return seriesOf(row)
}

const active = record({ name: optional(text, 'name'), status: text('status'), count: number('runs') })
const activeProject = json<{ facts: ActiveRuns['project'] }>('project')

function activeRuns(row: Row): ActiveRuns {
  return { key: projectKey(row), project: activeProject(row).facts, ...active(row) }
}

/** How many runs are loaded at a time to read their jobs: some milliseconds of work. */
const runsPerPage = 50
const selectActiveIds = `SELECT id FROM runs ${whereActive} ORDER BY id`

/** Returns the job if it is active; otherwise undefined. */
function activeJob({ run, timing }: StoredRun, known: Job): ActiveJob | undefined {
  const job = viewJob(known)
  const isWaiting = isPending(job.status)
  if (job.kind === 'bridge' || (!isWaiting && !isRunning(job.status))) return undefined
  const waited = Math.max(0, job.queuedDuration ?? 0) * 1000
  return {
    key: { instance: run.key.instance, projectId: run.project.facts.id },
    project: run.project.facts,
    id: job.id,
    state: isWaiting ? 'pending' : 'running',
    workerType: job.runner?.type,
    tags: job.runner?.tags ?? job.tags,
    pendingSince: isWaiting ? Math.max(timing.changedAt - waited, job.createdAt ?? 0) : undefined,
  }
}
