// Reads single runs, with all their jobs or with one, for both databases.
import { hasSnapshot, headOf, jobsOf, keyOf, known, revived, storedRun } from './run-rows.ts'
import { number, record, type Row } from './columns.ts'
import { revive } from '../../model/tombstone.ts'
import { selectTombstone, tombstoneOf } from './tombstone-text.ts'
import { storedChunk } from './stored-json.ts'
import type { Run } from '../../model/run.ts'
import type { RunKey } from '../../model/observation.ts'
import type { Runs } from '../ports/runs.ts'
import type { Statements } from './statements.ts'

const selectRun = 'SELECT * FROM runs WHERE instance = ?1 AND pipeline_id = ?2'

/** Jobs with ids from `?2` to `?3`, and the chunks that have such jobs. */
const selectJobs = 'SELECT * FROM jobs WHERE run_id = ?1 AND job_id >= ?2 AND job_id <= ?3 ORDER BY job_id'
const selectChunks =
  'SELECT id, content FROM chunks WHERE run_id = ?1 AND first_job <= ?3 AND last_job >= ?2 ORDER BY id'

/** Searches only the next 1,000 pipelines of the instance: a quiet project may have none for weeks. */
const selectNewer = `
  SELECT r.* FROM runs r
  JOIN (SELECT id, project_id FROM runs WHERE instance = ?1 AND pipeline_id > ?2 ORDER BY pipeline_id LIMIT 1000) AS n
    ON n.id = r.id
  WHERE n.project_id = ?3 ORDER BY r.pipeline_id`

const countRuns = `
  SELECT count(*) AS runs, count(*) FILTER (WHERE pipeline IS NULL) AS only_jobs,
         count(*) FILTER (WHERE due_at IS NOT NULL) AS open FROM runs`

const id = number('id')
const counts = record({ runs: number('runs'), onlyJobs: number('only_jobs'), open: number('open') })

export function runReads(sql: Statements): Pick<Runs, 'get' | 'ancestor' | 'newer' | 'count'> {
  async function find(key: RunKey): Promise<{ readonly run?: Row | undefined; readonly tombstone?: Row | undefined }> {
    const values = [key.instance, key.pipelineId]
    const [run] = await sql.all(selectRun, values)
    if (run !== undefined) return { run }
    const [tombstone] = await sql.all(selectTombstone, values)
    return { tombstone }
  }

  /** Decoding comes later, in the function that is returned; it throws DataError if something is damaged. */
  async function jobs(run: Row, first: number, last: number): Promise<() => Run['jobs']> {
    const rows = await sql.all(selectJobs, [id(run), first, last])
    const chunks = hasSnapshot(run) ? await sql.all(selectChunks, [id(run), first, last]) : []
    return () =>
      jobsOf(
        rows,
        chunks.map(({ content }) => storedChunk(content)),
        job => job >= first && job <= last,
      )
  }

  return {
    get: async key => {
      const { run, tombstone } = await find(key)
      const read = run && (await jobs(run, 0, Number.MAX_SAFE_INTEGER))
      return known(sql.damaged, key, () => {
        if (run !== undefined && read !== undefined) return storedRun(run, read())
        return tombstone && revived(tombstoneOf(tombstone))
      })
    },
    ancestor: async (key, trigger) => {
      const { run, tombstone } = await find(key)
      const read = run && trigger !== undefined ? await jobs(run, trigger, trigger) : undefined
      return known(sql.damaged, key, () => {
        if (run !== undefined) return { head: headOf(run), trigger: read?.().get(trigger ?? 0) }
        if (tombstone === undefined) return undefined
        const { jobs: all, ...head } = revive(tombstoneOf(tombstone))
        return { head, trigger: all.get(trigger ?? 0) }
      })
    },
    newer: async (key, projectId) => {
      const rows = await sql.all(selectNewer, [key.instance, key.pipelineId, projectId])
      return rows.flatMap(row => known(sql.damaged, keyOf(row), () => headOf(row)) ?? [])
    },
    count: async () => {
      const [row = {}] = await sql.all(countRuns)
      return counts(row)
    },
  }
}
