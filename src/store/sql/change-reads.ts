// Leases, prunes and lists changes (merge requests), for both databases.
import { countedOf } from './changes.ts'
import { countingQueue } from './leased-queue.ts'
import { json, number, record, text, word, type Row } from './columns.ts'
import { changeStates, viewChange, type Change } from '../../model/change.ts'
import type { Statements } from './statements.ts'
import type { Changes, ProjectChanges, ShownChange } from '../ports/changes.ts'

export function changeStatements(
  sql: Statements,
): Pick<Changes, 'take' | 'extend' | 'prune' | 'list' | 'states' | 'open'> {
  const { damaged } = sql
  const queue = countingQueue(sql, 'changes', 'change', record({ id: idOf, change: content }))
  const changeOf = (row: Row): Change | undefined =>
    damaged.orNothing({ change: row.id }, 'it is counted by its state alone', () => content(row))
  return {
    take: async (limit, leaseMs) => queue.take(limit, leaseMs),
    extend: async (ids, leaseMs) => queue.extend(ids, leaseMs),
    prune: async (before, limit) =>
      sql.change(
        'DELETE FROM changes WHERE id IN (SELECT id FROM changes WHERE happened_at < ?1 AND known_at < ?1 ORDER BY happened_at LIMIT ?2)',
        [before, limit],
      ),
    list: async ({ project, since, until, limit }) => {
      const rows = await sql.all(
        `SELECT * FROM changes WHERE happened_at >= ?1 AND happened_at < ?2 AND state IS NOT NULL
           ${project === undefined ? '' : 'AND project = ?4'} ORDER BY happened_at DESC, id DESC LIMIT ?3`,
        [since, until, limit, ...(project === undefined ? [] : [project])],
      )
      return rows.flatMap(row => {
        const read = (): ShownChange | undefined => shownOf(row, sql)
        return damaged.orNothing({ change: row.id }, 'it is not shown', read) ?? []
      })
    },
    states: async () => {
      const counts = (await sql.all(selectStates)).map(stateCount)
      const byProject = Map.groupBy(counts, ({ instance, projectId }) => JSON.stringify([instance, projectId]))
      const found: ProjectChanges[] = []
      for (const states of byProject.values()) {
        const [any] = states
        if (any === undefined) continue
        const { instance, projectId } = any
        const [newest] = await sql.all(selectNewest, [instance, projectId])
        found.push({
          instance,
          project: (newest && changeOf(newest)?.project) ?? { id: projectId },
          since: Math.min(...states.map(({ since }) => since)),
          states: Object.fromEntries(states.map(({ state, count }) => [state, count])),
        })
      }
      return found
    },
    open: async ({ instance, projectId }, limit) =>
      (await sql.all(selectOpen, [instance, projectId, limit])).flatMap(row => {
        const change = changeOf(row)
        return (change && viewChange(change)) ?? []
      }),
  }
}

const idOf = number('id')
const content = json<Change>('content')
const selectStates = `SELECT instance, project_id, state, count(*) AS changes, min(known_at) AS since FROM changes
  WHERE state IS NOT NULL GROUP BY instance, project_id, state`
const stateCount = record({
  instance: text('instance'),
  projectId: number('project_id'),
  state: word('state', changeStates),
  count: number('changes'),
  since: number('since'),
})
const own = 'instance = ?1 AND project_id = ?2'
const selectNewest = `SELECT id, content FROM changes WHERE ${own} AND state IS NOT NULL ORDER BY iid DESC LIMIT 1`
const selectOpen = `SELECT id, content FROM changes WHERE ${own} AND state IN ('open', 'wip') ORDER BY iid LIMIT ?3`

function shownOf(row: Row, { damaged }: Statements): ShownChange | undefined {
  const change = content(row)
  const view = viewChange(change)
  if (view === undefined) return undefined
  return { id: idOf(row), change, view, at: number('happened_at')(row), counted: countedOf(row, damaged) }
}
