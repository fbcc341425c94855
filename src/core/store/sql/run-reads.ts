// Reads single runs, with all their jobs or with one job, for both databases.
import { jobCount, maxJobs, selectPages } from './job-pages.ts'
import { storedRun } from './run-rows.ts'
import { number, record, type Row } from './columns.ts'
import { revivedRun, selectTombstone } from './tombstone-text.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { DamagedRows } from './damaged-rows.ts'
import type { Runs, StoredRun } from '../ports/runs.ts'
import { placeholders, type Ask, type Statements } from './statements.ts'

const selectRun = 'SELECT * FROM runs WHERE instance = ?1 AND pipeline_id = ?2'
const selectAllPages = `${selectPages} WHERE run_id = ?1 ORDER BY first_job`
const selectPage = `${selectPages} WHERE run_id = ?1 AND first_job <= ?2 ORDER BY first_job DESC LIMIT 1`

/** Searches only the next 1,000 pipelines of the instance, because a quiet project may have no pipeline for weeks. */
const selectNewer = `
  SELECT r.* FROM runs r
  JOIN (SELECT id, project_id FROM runs WHERE instance = ?1 AND pipeline_id > ?2 ORDER BY pipeline_id LIMIT 1000) AS n
    ON n.id = r.id
  WHERE n.project_id = ?3 ORDER BY r.pipeline_id`

const countRuns = `
  SELECT count(*) AS runs, count(*) FILTER (WHERE status IS NULL) AS only_jobs,
         count(*) FILTER (WHERE due_at IS NOT NULL) AS open FROM runs`

const idOf = number('id')
const counts = record({ runs: number('runs'), onlyJobs: number('only_jobs'), open: number('open') })

export function runReads(sql: Statements): Pick<Runs, 'get' | 'ancestor' | 'newer' | 'count'> {
  /** Reads the pages of a run's jobs. `job`: the only job that is needed, or undefined if none is needed. */
  async function pages(run: Row, job: number | 'all' | undefined): Promise<readonly Row[]> {
    if (job === undefined || jobCount(run) <= maxJobs) return []
    return job === 'all' ? sql.all(selectAllPages, [idOf(run)]) : sql.all(selectPage, [idOf(run), job])
  }
  async function find(key: RunKey, job: number | 'all' | undefined): Promise<StoredRun | undefined> {
    const values = [key.instance, key.pipelineId]
    const [run] = await sql.all(selectRun, values)
    if (run !== undefined) return storedRun(sql.damaged, run, await pages(run, job))
    const [tombstone] = await sql.all(selectTombstone, values)
    return revivedRun(sql.damaged, tombstone)
  }
  return {
    get: async key => find(key, 'all'),
    ancestor: async (key, trigger) => {
      const found = await find(key, trigger)
      return found && { head: found.run, trigger: found.run.jobs.get(trigger ?? 0) }
    },
    newer: async (key, projectId) => {
      const rows = await sql.all(selectNewer, [key.instance, key.pipelineId, projectId])
      return rows.flatMap(row => storedRun(sql.damaged, row, [])?.run ?? [])
    },
    count: async () => {
      const [row = {}] = await sql.all(countRuns)
      return counts(row)
    },
  }
}

/** Loads runs with their jobs, by the ids of their rows. */
export async function loadRuns(
  ask: Ask,
  damaged: DamagedRows,
  ids: readonly number[],
): Promise<ReadonlyMap<number, StoredRun>> {
  if (ids.length === 0) return new Map()
  const these = placeholders(ids)
  const [rows, pages] = await Promise.all([
    ask(`SELECT * FROM runs WHERE id IN (${these})`, ids),
    ask(`${selectPages} WHERE run_id IN (${these}) ORDER BY first_job`, ids),
  ])
  const pagesOf = Map.groupBy(pages, number('run_id'))
  const byId = new Map(rows.map(row => [idOf(row), row]))
  const found = new Map<number, StoredRun>()
  for (const id of ids) {
    const row = byId.get(id)
    const run = storedRun(damaged, row, pagesOf.get(id) ?? [])
    if (run !== undefined) found.set(id, run)
  }
  return found
}
