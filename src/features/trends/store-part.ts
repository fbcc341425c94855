// The tables for trends and costs, the retention of their rows, and how a search for runs that contain a job uses them.
import { countedName } from './counting/counted-chunk.ts'
import { day, hour, hoursStoredFor } from './counting/figures.ts'
import { isInScope } from '../../core/store/ports/project-scope.ts'
import { lockNames, type Steps, type Within } from '../../core/store/sql/steps.ts'
import { number, text } from '../../core/store/sql/columns.ts'
import type { Dialect, StorePart } from '../../core/store/ports/store-part.ts'
import type { Kept } from '../../core/store/maintenance/steps.ts'
import type { Millis } from '../../model/instant.ts'

/** The maximum number of projects to which a job search is narrowed. If more projects have the job, all projects are searched. */
const maxProjects = 200
/** The assumed maximum age of a pipeline when one of its jobs ends, ms. Few pipelines are older than that. */
const maxPipelineAge = 7 * day

export const trendTables: StorePart = {
  name: 'trends',
  schema: [schema],
  kept: (on, { keepFigures }, steps) => {
    const kept = (kind: string, keep: number, old: string): Kept => ({
      ...{ kind, keep: Math.min(keep, keepFigures) },
      sweep: () => async (before, isEnough) =>
        steps.repeat(async () => on(sql => sql.transaction(within => deleteOld(old, before, within))), isEnough),
    })
    return [
      kept('hourly_figures', hoursStoredFor, `trends WHERE step = ${hour} AND`),
      kept('daily_figures', Infinity, `trends WHERE step = ${day} AND`),
      kept('costs', Infinity, 'costs WHERE'),
    ]
  },
  // Searching for a job takes a single scan of an index on the `trends` table.
  findJob: async ({ ask }, job, { project, since = 0 }) => {
    const rows = await ask(
      `SELECT project_id + 0 AS project_id, project, min(bucket) AS first FROM trends
       WHERE step = ?1 AND job = ?2 AND bucket >= ?3 AND {visible} GROUP BY project_id + 0, project LIMIT ${maxProjects + 1}`,
      // The day of `since` is included, because a job ends on the day its pipeline was created, or later.
      [day, countedName(job), since - (since % day)],
    )
    // A project that was renamed, or whose ID is used by several platforms, has a row for each path. One path in scope is enough.
    const its = rows.filter(row => isInScope(projectOf(row), project))
    if (its.length === 0 || rows.length > maxProjects) return undefined
    const projects = new Set(its.map(idOf))
    const [one, ...others] = rows.filter(row => projects.has(idOf(row)))
    const only = one === undefined || others.length > 0 ? '' : projectOf(one)
    return {
      projects: [...projects],
      only: only === '' ? undefined : only,
      since: Math.min(...its.map(number('first'))) - maxPipelineAge,
    }
  },
}

/**
 * The maximum number of rows that one transaction deletes, not counting the rest of the last bucket. It is limited because folding has to wait for
 * the transaction.
 */
const maxPruned = 1_000

function* deleteOld(old: string, before: Millis, within: Within): Steps<number> {
  // The deletion takes the lock that folding takes. Folding writes the same rows in another order, so without the lock the two could deadlock.
  yield* lockNames(['trends'], within)
  const oldest = `SELECT bucket FROM ${old} bucket < ?1 ORDER BY bucket LIMIT ${maxPruned}`
  const last = `SELECT max(bucket) FROM (${oldest}) AS oldest`
  return (yield [`DELETE FROM ${old} bucket <= (${last}) RETURNING 1`, [before]]).length
}

const projectOf = text('project')
const idOf = number('project_id')

function schema({ id, byKey }: Dialect): string {
  return `
  -- Each row contains the figures of a job, of a project's pipelines (job ''), or of all pipelines (project 0), for one hour or day and one
  -- branch class. Figures of pipelines are also separate by source and pipeline name. For jobs, both are '', because there would be too many rows.
  CREATE TABLE trends (
    step       bigint NOT NULL,
    instance   text   NOT NULL,
    project_id bigint NOT NULL,
    job        text   NOT NULL,
    bucket     bigint NOT NULL,
    branch     text   NOT NULL,
    source     text   NOT NULL,
    pipeline_name text NOT NULL,
    project    text   NOT NULL,
    runs       bigint NOT NULL,
    failed     bigint NOT NULL,
    flaky      bigint NOT NULL,
    total_ms   bigint NOT NULL,
    durations  text   NOT NULL,
    queues     text   NOT NULL,
    PRIMARY KEY (step, project_id, job, bucket, instance, branch, source, pipeline_name)
  );
  CREATE INDEX trends_of_pipelines ON trends (step, job, bucket);
  CREATE INDEX trends_by_time ON trends (step, bucket, project_id, job, branch, runs, failed, flaky, total_ms);

  -- Runner time and costs by day. Rows for all jobs of a project (job '') are separate by branch class and runner type ('worker'). Rows for one
  -- job are not, because there would be too many rows.
  CREATE TABLE costs (
    bucket     bigint NOT NULL,
    project_id bigint NOT NULL,
    job        text   NOT NULL,
    instance   text   NOT NULL,
    branch     text   NOT NULL,
    worker     text   NOT NULL,
    project    text   NOT NULL,
    runs       bigint NOT NULL,
    total_ms   bigint NOT NULL,
    cost       double precision NOT NULL,
    -- The runner time that was wasted, and its cost, by kind of waste. The two flaky_ columns are no longer used.
    retried_ms      bigint           NOT NULL,
    retried_cost    double precision NOT NULL,
    superseded_ms   bigint           NOT NULL,
    superseded_cost double precision NOT NULL,
    failed_ms       bigint           NOT NULL,
    failed_cost     double precision NOT NULL,
    flaky_ms        bigint           NOT NULL,
    flaky_cost      double precision NOT NULL,
    PRIMARY KEY (bucket, project_id, job, instance, branch, worker)
  ) ${byKey};
  CREATE INDEX costs_of_projects ON costs (bucket, project_id) WHERE job = '';

  -- Rows appended by snapshots. A few seconds later they are added to the figures above and deleted (counting/fold.ts).
  CREATE TABLE figures_added (
    id         ${id},
    project_id bigint NOT NULL,
    content    text   NOT NULL
  );
  CREATE INDEX figures_added_of_projects ON figures_added (project_id, id);
  `
}
