// The SQL that reads run lists, single runs, and their exports.
import { loadRuns } from '../sql/run-reads.ts'
import { storedChunk } from '../sql/stored-json.ts'
import { number, optional, record, text, oneOf, type Row, keyOf } from '../sql/columns.ts'
import { placeholders, type Value } from '../sql/statements.ts'
import { and, conditions, rowAt, searchRuns } from './run-search.ts'
import type { StoredRun } from '../ports/runs.ts'
import type { StorePart } from '../ports/store-part.ts'
import { signals } from '../ports/outbox.ts'
import type { Reading, ScopedSql } from '../sql/reading.ts'
import { chunksOf } from '../../../model/run-chunks.ts'
import type { JobInside } from '../../../model/inside.ts'
import type { RunKey } from '../../../model/observation.ts'
import { textWithin } from '../ports/scope.ts'
import { isSearch, maxCounted, type ExportState, type ListedKey, type Views } from '../ports/views.ts'

const maxChildren = 100
/** The maximum number of a project's runs whose durations are compared. */
const maxAbout = 2_000

export function viewsOn(reading: Reading, parts: readonly StorePart[]): Omit<Views, 'audit' | 'shownEvents'> {
  const { ask, byRow, damaged, scope } = reading
  const load = async (ids: readonly number[]): Promise<StoredRun[]> => {
    const runs = await loadRuns(byRow, damaged, ids)
    return ids.flatMap(id => runs.get(id) ?? [])
  }
  /**
   * Reads the chunks with job internals that contain `part`, the beginning of a JSON field such as `"sections":[`. `LIKE` skips other chunks, such as
   * large chunks of log lines. It never matches within a JSON string, because quotes are escaped there.
   */
  const insides = async (
    { instance, pipelineId }: RunKey,
    part: string,
    { limit, jobId, order }: { readonly limit: number; readonly jobId: number | undefined; readonly order: string },
  ): Promise<JobInside[]> => {
    const one = jobId === undefined ? '' : 'AND c.inside = ?4'
    const rows = await ask(
      `SELECT c.id, c.content FROM runs r JOIN chunks c ON c.run_id = r.id
       WHERE r.instance = ?1 AND r.pipeline_id = ?2 AND {visible r} AND c.inside IS NOT NULL ${one} AND c.content LIKE '%,${part}%'
       ORDER BY c.attempt ${order}, c.number ${order} LIMIT ?3`,
      [instance, pipelineId, limit, ...(jobId === undefined ? [] : [jobId])],
    )
    return damaged.rows('chunks', rows, row => storedChunk(row.content).inside)
  }
  return {
    inStatus: async (statuses, limit) => {
      // Reads the newest runs of each status through the index. One statement reads them all, because each statement is a round trip on PostgreSQL.
      const lists = statuses.map(
        (_, index): ScopedSql =>
          `SELECT * FROM (SELECT run_id, created_at FROM listed_runs WHERE status = ?${index + 2} AND {visible}
             ORDER BY created_at DESC, run_id DESC LIMIT ?1) AS newest_${index}`,
      )
      const newest = (await ask(unionOf(lists), [limit, ...statuses])).sort((a, b) => createdAt(b) - createdAt(a))
      return load(idsOf(newest.slice(0, limit)))
    },
    countInStatus: async statuses =>
      countIn(
        await ask(
          `SELECT count(*) AS count FROM listed_runs WHERE status IN (${placeholders(statuses)}) AND {visible}`,
          statuses,
        ),
      ),
    silentInStatus: async (statuses, since, limit) => {
      const rows = await ask(
        `SELECT l.run_id, r.changed_at FROM listed_runs l JOIN runs r ON r.id = l.run_id
         WHERE l.status IN (${placeholders(statuses, 1)}) AND r.changed_at < ?1 AND {visible l}`,
        [since, ...statuses],
      )
      const silent = rows.sort((a, b) => changedAt(a) - changedAt(b) || runId(a) - runId(b))
      return { runs: await load(idsOf(silent.slice(0, limit))), count: silent.length }
    },
    countFinished: async since =>
      countIn(await ask('SELECT count(*) AS count FROM listed_runs WHERE finished_at >= ?1 AND {visible}', [since])),
    lastFinished: async limit => {
      const rows = await ask(
        'SELECT run_id FROM listed_runs WHERE finished_at IS NOT NULL AND {visible} ORDER BY finished_at DESC LIMIT ?1',
        [limit],
      )
      return load(idsOf(rows))
    },
    search: async query => searchRuns(reading, async ids => loadRuns(byRow, damaged, ids), query, parts),
    tookAbout: async ({ instance, pipelineId, projectId, project, ref = '', source = '', tookMs, since }, limit) => {
      const rows = await ask(
        `SELECT instance, pipeline_id FROM (
           SELECT instance, pipeline_id, project_id, ref, source, abs(finished_at - created_at - ?4) AS distance
           FROM listed_runs WHERE project = ?1 AND created_at >= ?2 AND status = 'success' AND {visible}
           ORDER BY created_at DESC, run_id DESC LIMIT ${maxAbout}) AS recent
         WHERE instance = ?3 AND project_id = ?5 AND pipeline_id <> ?6 AND distance <= ?7
         ORDER BY (CASE WHEN ref = ?8 THEN 0 ELSE 1 END) + (CASE WHEN source = ?9 THEN 0 ELSE 1 END), distance, pipeline_id
         LIMIT ${limit}`,
        [project, since, instance, tookMs, projectId, pipelineId, tookMs / 10, ref, source].map(value =>
          typeof value === 'number' ? Math.round(value) : value,
        ),
      )
      return rows.map(keyOf)
    },
    listedKeys: async (limit, before) => {
      const values: Value[] = []
      const place = (value: Value): string => `?${values.push(value)}`
      const rows = await ask(
        `SELECT run_id, instance, pipeline_id, parent_id, created_at FROM listed_runs
         WHERE run_id < ${before === undefined ? place(Number.MAX_SAFE_INTEGER) : rowAt(before, place)} AND {visible}
         ORDER BY run_id DESC LIMIT ${place(limit)}`,
        values,
      )
      return rows.map(listedKey)
    },
    countRuns: async ({ since, until, ...query }) => {
      if (isSearch(query)) return undefined
      const values: Value[] = []
      const place = (value: Value): string => `?${values.push(value)}`
      const { driver, others } = conditions(query, place)
      if (since !== undefined) driver.push(`created_at >= ${place(since)}`)
      if (until !== undefined) driver.push(`created_at < ${place(until)}`)
      const rows = await ask(
        `SELECT count(*) AS count FROM
           (SELECT run_id FROM listed_runs WHERE {visible} ${and([...driver, ...others(place)])} LIMIT ${maxCounted + 1}) AS walked`,
        values,
      )
      const found = countIn(rows)
      return found > maxCounted ? undefined : found
    },
    latestPaths: async limit => {
      const rows = await ask(
        `SELECT path FROM owners WHERE project_id > 0 AND path <> '' AND {visible owners} LIMIT ?1`,
        [limit],
      )
      return rows.map(text('path'))
    },
    projects: async limit => {
      // A loose index scan jumps from one path to the next, however many runs each project has. A scope condition may change the order, so the result
      // is then sorted.
      const order = scope.bounds === 'none' ? '' : 'ORDER BY project'
      const rows = await ask(
        `WITH RECURSIVE known (project) AS (
           SELECT min(project) FROM listed_runs
           UNION ALL
           SELECT (SELECT min(l.project) FROM listed_runs l WHERE l.project > known.project)
           FROM known WHERE known.project IS NOT NULL
         )
         SELECT project FROM known WHERE project IS NOT NULL AND {visible path known.project} ${order} LIMIT ?1`,
        [limit],
      )
      return rows.map(project).filter(path => path !== '')
    },
    find: async (projectId, pipelineId, instance) => {
      const one = instance === undefined ? '' : 'AND instance = ?3'
      const rows = await ask(
        `SELECT run_id FROM listed_runs WHERE pipeline_id = ?1 AND project_id = ?2 ${one} AND {visible} ORDER BY created_at DESC LIMIT 1`,
        [pipelineId, projectId, ...(instance === undefined ? [] : [instance])],
      )
      return (await load(idsOf(rows)))[0]
    },
    children: async ({ instance, pipelineId }) => {
      const rows = await ask(
        'SELECT run_id FROM listed_runs WHERE parent_id = ?1 AND instance = ?2 AND {visible} ORDER BY created_at, run_id LIMIT ?3',
        [pipelineId, instance, maxChildren],
      )
      return load(idsOf(rows))
    },
    chunks: async key => {
      const rows = await ask(
        'SELECT r.id AS run_id FROM runs r WHERE r.instance = ?1 AND r.pipeline_id = ?2 AND {visible r}',
        [key.instance, key.pipelineId],
      )
      return (await load(idsOf(rows))).flatMap(({ run }) => chunksOf(run))
    },
    chunksOf: async keys => {
      if (keys.length === 0) return new Map()
      const rows = await ask(
        `SELECT r.id AS run_id FROM runs r WHERE r.id IN (${placeholders(keys)}) AND {visible r}`,
        keys.map(({ id }) => id),
      )
      const runs = await loadRuns(byRow, damaged, idsOf(rows))
      return new Map([...runs].map(([id, { run }]) => [id, chunksOf(run)]))
    },
    sections: async (key, limit, jobId) => insides(key, '"sections":[', { limit, jobId, order: 'ASC' }),
    tests: async (key, limit, jobId) => (await insides(key, '"tests":{', { limit, jobId, order: 'DESC' })).toReversed(),
    outboxOf: async key => {
      const rows = await ask(
        `SELECT o.id, o.signal, o.destination, o.state, o.pending_since, o.settled_at, o.tries, o.error, m.attempt, m.number
         FROM messages m JOIN outbox o ON o.message_id = m.id
         WHERE m.pipeline_id = ?2 AND m.instance = ?1 AND {visible m} ORDER BY m.attempt, m.number, o.destination, o.signal`,
        [key.instance, key.pipelineId],
      )
      // The backend's response is hidden from people with a limited scope, because it is about a batch from several projects.
      return rows
        .map(exportOf)
        .map(one => (one.error === undefined ? one : { ...one, error: textWithin(scope, one.error) }))
    },
  }
}

function countIn([row]: readonly Row[]): number {
  return row === undefined ? 0 : count(row)
}

function unionOf(lists: readonly ScopedSql[]): ScopedSql {
  return lists.join(' UNION ALL ') as ScopedSql
}

function idsOf(rows: readonly Row[]): number[] {
  return rows.map(runId)
}

const rowId = number('id')
const runId = number('run_id')
const createdAt = number('created_at')
const changedAt = number('changed_at')
const project = text('project')
const count = number('count')

const listedKey: (row: Row) => ListedKey = record({
  id: runId,
  instance: text('instance'),
  pipelineId: number('pipeline_id'),
  parentId: optional(number, 'parent_id'),
  createdAt,
})

const exportOf: (row: Row) => ExportState = record({
  id: rowId,
  attempt: number('attempt'),
  chunk: number('number'),
  signal: oneOf('signal', signals),
  destination: text('destination'),
  state: oneOf('state', ['pending', 'dead']),
  pendingSince: number('pending_since'),
  settledAt: optional(number, 'settled_at'),
  tries: number('tries'),
  error: optional(text, 'error'),
})
