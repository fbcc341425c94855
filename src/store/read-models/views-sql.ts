// The views' SQL, one for both databases: they differ in how a value's place is written, and in nothing else here.
import { jobsOf, keyOf, storedRun } from '../sql/run-rows.ts'
import { storedPart, type DamagedRows } from '../sql/stored-json.ts'
import type { StoredRun } from '../ports/runs.ts'
import type { ExportState, RunCursor, RunPage, RunQuery, Views } from '../ports/views.ts'

export type Row = Record<string, unknown>
export type Value = string | number | null

/** Asks the database. Values stand as `?1`, `?2` in the text. */
export type Ask = (sql: string, values: readonly Value[]) => Promise<Row[]>

/** So many rows of the narrow list are looked at for one page: some milliseconds. */
const lookedAt = 5_000
/** A family is shown up to here. */
const mostChildren = 100

export function viewsOn(ask: Ask, damaged: DamagedRows): Omit<Views, 'trends'> {
  const load = async (ids: readonly number[]): Promise<StoredRun[]> => loadRuns(ask, damaged, ids)
  return {
    inStatus: async (statuses, limit) => {
      const lists = await Promise.all(
        statuses.map(async status =>
          ask(
            'SELECT run_id, created_at FROM listed_runs WHERE status = ?1 ORDER BY created_at DESC, run_id DESC LIMIT ?2',
            [status, limit],
          ),
        ),
      )
      const newest = lists.flat().sort((a, b) => (b.created_at as number) - (a.created_at as number))
      return load(idsOf(newest.slice(0, limit)))
    },
    countInStatus: async (statuses, isCounted) => {
      const sql =
        isCounted === undefined
          ? 'SELECT count(*) AS count FROM listed_runs WHERE status = ?1'
          : 'SELECT project, count(*) AS count FROM listed_runs WHERE status = ?1 GROUP BY project'
      const counts = await Promise.all(statuses.map(async status => ask(sql, [status])))
      return counts
        .flat()
        .filter(row => isCounted?.(row.project as string) ?? true)
        .reduce((sum, row) => sum + Number(row.count), 0)
    },
    lastFinished: async limit => {
      const rows = await ask(
        'SELECT run_id FROM listed_runs WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT ?1',
        [limit],
      )
      return load(idsOf(rows))
    },
    search: async query => search(ask, load, query),
    projects: async limit => {
      // Jumps from one path to the next in the index, however many runs each has.
      const rows = await ask(
        `WITH RECURSIVE known (project) AS (
           SELECT min(project) FROM listed_runs
           UNION ALL
           SELECT (SELECT min(l.project) FROM listed_runs l WHERE l.project > known.project)
           FROM known WHERE known.project IS NOT NULL
         )
         SELECT project FROM known WHERE project IS NOT NULL LIMIT ?1`,
        [limit],
      )
      return rows.map(row => row.project as string).filter(path => path !== '')
    },
    find: async (projectId, pipelineId, instance) => {
      const one = instance === undefined ? '' : 'AND instance = ?3'
      const rows = await ask(
        `SELECT run_id FROM listed_runs WHERE pipeline_id = ?1 AND project_id = ?2 ${one} ORDER BY created_at DESC LIMIT 1`,
        [pipelineId, projectId, ...(instance === undefined ? [] : [instance])],
      )
      return (await load(idsOf(rows)))[0]
    },
    children: async ({ instance, pipelineId }) => {
      const rows = await ask(
        'SELECT run_id FROM listed_runs WHERE parent_id = ?1 AND instance = ?2 ORDER BY created_at, run_id LIMIT ?3',
        [pipelineId, instance, mostChildren],
      )
      return load(idsOf(rows))
    },
    chunks: async key => {
      const rows = await ask(
        `SELECT p.id, p.content FROM runs r JOIN chunks p ON p.run_id = r.id
         WHERE r.instance = ?1 AND r.pipeline_id = ?2 ORDER BY p.attempt, p.number`,
        [key.instance, key.pipelineId],
      )
      return rows.flatMap(
        row => damaged.orNothing({ part: row.id }, 'it is not shown', () => storedPart(row.content)) ?? [],
      )
    },
    outboxOf: async key => {
      const rows = await ask(
        `SELECT e.id, e.signal, e.destination, e.state, e.pending_since, e.settled_at, e.tries, e.error, p.attempt, p.number
         FROM runs r JOIN chunks p ON p.run_id = r.id JOIN outbox e ON e.chunk_id = p.id
         WHERE r.instance = ?1 AND r.pipeline_id = ?2 ORDER BY p.attempt, p.number, e.destination, e.signal`,
        [key.instance, key.pipelineId],
      )
      return rows.map(exportOf)
    },
  }
}

async function search(ask: Ask, load: Load, query: RunQuery): Promise<RunPage> {
  const values: Value[] = []
  const place = (value: Value): string => `?${values.push(value)}`
  const { driver, others } = conditions(query, place)
  const { after, since, until } = query
  if (since !== undefined) driver.push(`created_at >= ${place(since)}`)
  if (until !== undefined) driver.push(`created_at < ${place(until)}`)
  if (after !== undefined) driver.push(`(created_at, run_id) < (${place(after.createdAt)}, ${place(after.id)})`)
  const walk = `FROM listed_runs ${whereOf(driver)} ORDER BY created_at DESC, run_id DESC LIMIT ${lookedAt}`
  const walked = values.length
  const rows = await ask(
    `SELECT run_id, created_at FROM (SELECT run_id, created_at, project, ref, status, source, text ${walk}) AS walked
     ${whereOf(others(place))} ORDER BY created_at DESC, run_id DESC LIMIT ${place(query.limit + 1)}`,
    values,
  )
  const runs = await load(idsOf(rows.slice(0, query.limit)))
  if (rows.length > query.limit) return { runs, next: cursorOf(rows[query.limit - 1]) }
  // Fewer than asked for: at the end, or at the end of what is looked at for one page?
  const [end] = await ask(`SELECT run_id, created_at ${walk} OFFSET ${lookedAt - 1}`, values.slice(0, walked))
  const next = cursorOf(end)
  return next === undefined ? { runs } : { runs, next, searchedBackTo: next.createdAt }
}

type Place = (value: Value) => string

/** One filter leads through an index of its own in order of time; the others are asked of each row found there. */
function conditions(query: RunQuery, place: Place): { driver: string[]; others: (place: Place) => string[] } {
  const equal = (['project', 'ref', 'status', 'source'] as const).filter(column => query[column] !== undefined)
  const [leading, ...rest] = equal
  const driver = leading === undefined ? [] : [`${leading} = ${place(query[leading] ?? '')}`]
  const words = (query.text ?? '').toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8)
  return {
    driver,
    others: next => [
      ...rest.map(column => `${column} = ${next(query[column] ?? '')}`),
      ...words.map(word => `text LIKE ${next(`%${word.replace(/[%_\\]/g, '\\$&')}%`)} ESCAPE '\\'`),
    ],
  }
}

function whereOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
}

function cursorOf(row: Row | undefined): RunCursor | undefined {
  return row === undefined ? undefined : { createdAt: row.created_at as number, id: row.run_id as number }
}

function idsOf(rows: readonly Row[]): number[] {
  return rows.map(row => row.run_id as number)
}

type Load = (ids: readonly number[]) => Promise<StoredRun[]>

/** Runs with their jobs, in the order of the ids. */
async function loadRuns(ask: Ask, damaged: DamagedRows, ids: readonly number[]): Promise<StoredRun[]> {
  if (ids.length === 0) return []
  const places = ids.map((_, index) => `?${index + 1}`).join(', ')
  const [runs, jobs, parts] = await Promise.all([
    ask(`SELECT * FROM runs WHERE id IN (${places})`, ids),
    ask(`SELECT * FROM jobs WHERE run_id IN (${places}) ORDER BY run_id, job_id`, ids),
    ask(`SELECT run_id, content FROM chunks WHERE run_id IN (${places}) AND first_job IS NOT NULL ORDER BY id`, ids),
  ])
  const rowsOf = Map.groupBy(jobs, row => row.run_id as number)
  const partsOf = Map.groupBy(parts, row => row.run_id as number)
  const byId = new Map(runs.map(row => [row.id as number, row]))
  return ids.flatMap(id => {
    const row = byId.get(id)
    if (row === undefined) return []
    const read = (): StoredRun => {
      const told = (partsOf.get(id) ?? []).map(part => storedPart(part.content))
      return storedRun(row, jobsOf(rowsOf.get(id) ?? [], told))
    }
    return damaged.orNothing({ ...keyOf(row) }, 'it is not shown', read) ?? []
  })
}

function exportOf(row: Row): ExportState {
  return {
    id: row.id as number,
    attempt: row.attempt as number,
    chunk: row.number as number,
    signal: row.signal as ExportState['signal'],
    destination: row.destination as string,
    state: row.state as ExportState['state'],
    pendingSince: row.pending_since as number,
    settledAt: optional(row.settled_at),
    tries: row.tries as number,
    error: (row.error ?? undefined) as string | undefined,
  }
}

function optional(value: unknown): number | undefined {
  return (value ?? undefined) as number | undefined
}
