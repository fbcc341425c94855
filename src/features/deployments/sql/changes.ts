// Stores changes (merge requests) in SQLite and PostgreSQL.
import { countable, listed, lockOfNumber, ownByNumber, writeReported } from './counted.ts'
import type { CountedTable, Reported } from './counted.ts'
import { changeStates, mergeChange, viewChange, uncounted } from '../model/change.ts'
import type { Change, ChangeState, ChangeView, CountedTimes } from '../model/change.ts'
import { json, number, optional, plainText, record, text, oneOf, type Row } from '../../../core/store/sql/columns.ts'
import { latest, type Millis } from '../../../model/instant.ts'
import { ownerOfReport } from '../../../core/store/sql/owners.ts'
import type { PeriodFilter } from '../../../core/store/ports/project-scope.ts'
import type { ProjectFacts } from '../../../model/observation.ts'
import type { DamagedRows } from '../../../core/store/sql/damaged-rows.ts'
import { unbounded, type Reading } from '../../../core/store/sql/reading.ts'
import type { Reporter } from '../../../core/store/ports/runs.ts'
import type { Statements } from '../../../core/store/sql/statements.ts'

const changeTable: CountedTable<Change, CountedTimes> = {
  table: 'changes',
  content: json<Change>('content'),
  merge: mergeChange,
  own: ownByNumber('changes'),
  columns: ['instance', 'project_id', 'iid', 'project', 'state', 'happened_at'],
  values: (change, now) => {
    const { instance, iid, project, event, createdAt, stateAt, approvedAt, mergedAt, pipeline } = change
    const at = latest([createdAt, stateAt, approvedAt, mergedAt, pipeline?.createdAt])
    const state = event === undefined ? null : (viewChange(change)?.state ?? null)
    const path = project.path === undefined ? null : plainText(project.path)
    return [instance, project.id, iid, path, state, Math.round(at ?? now)]
  },
  uncounted: (change, row, damaged) => uncounted(change, row === undefined ? {} : countedOf(row, damaged)),
  state: (row, damaged) => countedOf(row, damaged),
  setCounted: 'counted = ?2',
  countedValues: times => [JSON.stringify(times ?? {})],
  pruned: { where: 'd.happened_at < ?1 AND d.known_at < ?1', by: 'happened_at' },
}

/** Returns which times of a change were counted. If that column is damaged, all times are treated as counted, so that none is counted twice. */
function countedOf(row: Row, damaged: DamagedRows): CountedTimes {
  const all = { at: 0, took: 0 }
  const lost: CountedTimes = { pipeline: all, approval: all, merge: all, train: all }
  return damaged.row('changes', row, one => counted(one) ?? {}) ?? lost
}

export const changeReporter: Reporter<Reported<Change>> = {
  order: 20,
  locks: ({ report }) => [lockOfNumber('changes', report)],
  write: (reports, within) => writeReported(changeTable, reports, within),
  owner: ({ report }) => ownerOfReport(report, report.event),
}

export interface ShownChange {
  readonly id: number
  readonly change: Change
  readonly view: ChangeView
  /** The time of the last event about this change. */
  readonly at: Millis
  readonly counted: CountedTimes
}

/** How many changes of a project are in each state. */
export interface ProjectChanges {
  readonly instance: string
  readonly project: ProjectFacts
  /** The start of this count: when the first of the project's changes was reported. */
  readonly since: Millis
  readonly states: Readonly<Partial<Record<ChangeState, number>>>
}

/** `prune` deletes changes that have had no event since the given time. */
export function changes(sql: Statements) {
  return { ...countable(sql, changeTable), ...changeReads(unbounded(sql)) }
}

export function changeReads(reading: Reading) {
  const { ask, damaged } = reading
  const changeOf = (row: Row | undefined): Change | undefined => damaged.row('changes', row, content)
  return {
    /** Returns the changes with an event within a period, latest first. */
    list: async ({ since, until, ...filter }: PeriodFilter) => {
      const where = 'happened_at >= ?1 AND happened_at < ?2 AND state IS NOT NULL'
      return listed(
        reading,
        'changes',
        { ...filter, where, values: [since, until], by: 'happened_at' },
        (row): ShownChange | undefined => {
          const change = content(row)
          const view = viewChange(change)
          return view && { id: number('id')(row), change, view, at: happenedAt(row), counted: countedOf(row, damaged) }
        },
      )
    },
    states: async (): Promise<readonly ProjectChanges[]> => {
      const counts = (await ask(selectStates)).map(stateCount)
      const byProject = Map.groupBy(counts, ({ instance, projectId }) => JSON.stringify([instance, projectId]))
      const found: ProjectChanges[] = []
      for (const states of byProject.values()) {
        const [any] = states
        if (any === undefined) continue
        const { instance, projectId } = any
        const [newest] = await ask(selectNewest, [instance, projectId])
        found.push({
          instance,
          project: (newest && changeOf(newest)?.project) ?? { id: projectId },
          since: Math.min(...states.map(({ since }) => since)),
          states: Object.fromEntries(states.map(({ state, count }) => [state, count])),
        })
      }
      return found
    },
    /** Returns the open changes of a project, including drafts, oldest first. */
    open: async ({ instance, projectId }: { readonly instance: string; readonly projectId: number }, limit: number) =>
      (await ask(selectOpen, [instance, projectId, limit])).flatMap(row => {
        const change = changeOf(row)
        return (change && viewChange(change)) ?? []
      }),
  }
}

const { content } = changeTable
const counted = optional(json<CountedTimes>, 'counted')
const happenedAt = number('happened_at')
const selectStates = `SELECT instance, project_id, state, count(*) AS changes, min(known_at) AS since FROM changes
  WHERE state IS NOT NULL AND {visible} GROUP BY instance, project_id, state`
const stateCount = record({
  instance: text('instance'),
  projectId: number('project_id'),
  state: oneOf('state', changeStates),
  count: number('changes'),
  since: number('since'),
})
const selectNewest = `SELECT id, content FROM changes
  WHERE instance = ?1 AND project_id = ?2 AND {visible} AND state IS NOT NULL ORDER BY iid DESC LIMIT 1`
const selectOpen = `SELECT id, content FROM changes
  WHERE instance = ?1 AND project_id = ?2 AND {visible} AND state IN ('open', 'wip') ORDER BY iid LIMIT ?3`
