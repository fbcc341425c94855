// Leases, counts, prunes and lists deployments, for both databases.
import { json, number, optional, record, text, type Row } from './columns.ts'
import { places, type Statements } from './statements.ts'
import { viewDeployment, type Deployment } from '../../model/deployment.ts'
import { writeEvent } from './events.ts'
import type { CountedDeployment, Deployments, DueDeployment, ShownDeployment } from '../ports/deployments.ts'
import type { DamagedRows } from './stored-json.ts'
import type { DeploymentFigures, Neighbours } from '../../model/deployment-figures.ts'
import type { Millis } from '../../model/instant.ts'
import type { Steps } from './steps.ts'
import type { WrittenEvent } from './waiting-events.ts'

export function deploymentStatements(
  sql: Statements,
): Pick<Deployments, 'take' | 'extend' | 'defer' | 'prune' | 'list' | 'current'> {
  const shown = (rows: readonly Row[]): ShownDeployment[] =>
    rows.flatMap(row => sql.damaged.orNothing({ deployment: row.id }, 'it is not shown', () => shownOf(row)) ?? [])
  return {
    take: async (limit, leaseMs) => {
      const now = await sql.now()
      // Mostly nothing is due, and a SELECT needs no transaction.
      if ((await sql.all('SELECT 1 FROM deployments WHERE due_at <= ?1 LIMIT 1', [now])).length === 0) return []
      const rows = await sql.changed(
        `UPDATE deployments SET due_at = ?1, leased = 1
         WHERE id IN (SELECT id FROM deployments WHERE due_at <= ?2 ORDER BY due_at, id LIMIT ?3 ${sql.skipLocked})
         RETURNING id, content, tries`,
        [now + leaseMs, now, limit],
      )
      const due: DueDeployment[] = []
      for (const row of rows) {
        const read = (): DueDeployment => ({ ...dueOf(row), deployment: content(row) })
        const one = sql.damaged.orNothing({ deployment: row.id }, 'it is not counted', read)
        if (one === undefined)
          await sql.change('UPDATE deployments SET due_at = NULL, leased = 0 WHERE id = ?1', [idOf(row)])
        else due.push(one)
      }
      return due.sort((a, b) => a.id - b.id)
    },
    extend: async (ids, leaseMs) => {
      if (ids.length === 0) return
      await sql.change(
        `UPDATE deployments SET due_at = ?1, leased = ?2 WHERE due_at IS NOT NULL AND id IN (${places(ids, 2)})`,
        [(await sql.now()) + leaseMs, leaseMs > 0 ? 1 : 0, ...ids],
      )
    },
    defer: async (id, ms, counted) => {
      const values = [(await sql.now()) + ms, counted ? 1 : 0, id]
      await sql.change(
        'UPDATE deployments SET due_at = ?1, leased = 0, tries = tries + ?2 WHERE id = ?3 AND due_at IS NOT NULL',
        values,
      )
    },
    prune: async (before, limit) =>
      sql.change(
        `DELETE FROM deployments WHERE id IN
           (SELECT d.id FROM deployments d WHERE d.happened_at < ?1 AND (d.outcome IS NULL OR d.outcome <> 'succeeded' OR EXISTS
              (SELECT 1 FROM deployments l WHERE l.instance = d.instance AND l.project_id = d.project_id AND l.environment = d.environment
               AND l.outcome = 'succeeded' AND l.finished_at > d.finished_at))
            ORDER BY d.happened_at LIMIT ?2)`,
        [before, limit],
      ),
    list: async ({ project, since, until, limit }) =>
      shown(
        await sql.all(
          `SELECT * FROM deployments WHERE happened_at >= ?1 AND happened_at < ?2 AND environment IS NOT NULL
             ${project === undefined ? '' : 'AND project = ?4'} ORDER BY happened_at DESC, id DESC LIMIT ?3`,
          [since, until, limit, ...(project === undefined ? [] : [project])],
        ),
      ),
    current: async ({ project, limit }) =>
      shown(
        await sql.all(
          `SELECT d.* FROM deployments d WHERE d.outcome = 'succeeded' AND d.environment IS NOT NULL ${project === undefined ? '' : 'AND d.project = ?2'}
             AND NOT EXISTS (SELECT 1 FROM deployments l WHERE l.instance = d.instance AND l.project_id = d.project_id
               AND l.environment = d.environment AND l.outcome = 'succeeded' AND (l.finished_at, l.id) > (d.finished_at, d.id))
           ORDER BY d.finished_at DESC, d.id DESC LIMIT ?1`,
          [limit, ...(project === undefined ? [] : [project])],
        ),
      ),
  }
}

/** The lock of its environment: two deployments counted at the same time would not see each other. */
export function* environmentOf(id: number): Steps<string | undefined> {
  const [row] = yield [`SELECT instance, project_id, environment FROM deployments WHERE id = ?1 AND ${isDue}`, [id]]
  return row && `environment ${String(row.project_id)} ${String(row.environment)} ${String(row.instance)}`
}

/** Undefined if it is counted already, or not to be. */
export function* around(id: number, damaged: DamagedRows): Steps<Neighbours | undefined> {
  const [own] = yield [`SELECT * FROM deployments WHERE id = ?1 AND ${isDue}`, [id]]
  if (own === undefined) return undefined
  const { instance, projectId, environment, finishedAt, knownAt, revision } = place(own)
  const env = [instance, projectId, environment ?? null] as const
  const at = finishedAt ?? 0
  const [last] = yield [selectPrevious, [...env, at, id]]
  const previous = last && previousOf(last, damaged)
  const since = previous?.finishedAt ?? 0
  const [failed] = yield [selectFailed, [...env, at, since]]
  const failedAt = failed && failedOf(failed)
  const known = previous === undefined ? [] : yield [selectKnown, [...env, since, previous.id, revision ?? null]]
  const later = yield [selectLater, [...env, at, id, knownAt ?? 0]]
  return {
    ...(previous !== undefined && { previous }),
    ...(failedAt !== undefined && { failedAt }),
    isKnownRevision: known.length > 0,
    isLate: later.length > 0,
  }
}

/** Returns the totals to add and the events that were written; undefined if it was not counted. */
export function* countDeployment(
  id: number,
  now: Millis,
  damaged: DamagedRows,
  decide: Parameters<Deployments['count']>[1],
): Steps<{ readonly counted: CountedDeployment | 'nothing'; readonly written: readonly WrittenEvent[] } | undefined> {
  const beside = yield* around(id, damaged)
  const [row] = yield [`SELECT id, content FROM deployments WHERE id = ?1 AND ${isDue}`, [id]]
  if (row === undefined || beside === undefined) return undefined
  const counted = decide(content(row), beside)
  if (counted === undefined) return undefined
  const figures = counted === 'nothing' ? null : JSON.stringify(counted.figures)
  yield [
    'UPDATE deployments SET due_at = NULL, leased = 0, counted_at = ?1, figures = ?2 WHERE id = ?3',
    [now, figures, id],
  ]
  const sent = counted === 'nothing' ? undefined : counted.sent
  const written = sent === undefined ? [] : yield* writeEvent(sent, now, 'last', damaged)
  return { counted, written }
}

const isDue = 'due_at IS NOT NULL AND counted_at IS NULL'
const sameEnvironment = 'instance = ?1 AND project_id = ?2 AND environment = ?3'
const selectPrevious = `SELECT id, finished_at, revision, content FROM deployments
  WHERE ${sameEnvironment} AND outcome = 'succeeded' AND (finished_at, id) < (?4, ?5) ORDER BY finished_at DESC, id DESC LIMIT 1`
const selectFailed = `SELECT min(finished_at) AS failed_at FROM deployments
  WHERE ${sameEnvironment} AND outcome = 'failed' AND finished_at <= ?4 AND finished_at > ?5`
const selectKnown = `SELECT 1 FROM deployments
  WHERE ${sameEnvironment} AND outcome = 'succeeded' AND (finished_at, id) < (?4, ?5) AND revision = ?6 LIMIT 1`
const selectLater = `SELECT 1 FROM deployments
  WHERE ${sameEnvironment} AND outcome IS NOT NULL AND (finished_at, id) > (?4, ?5) AND counted_at <= ?6 LIMIT 1`

const idOf = number('id')
const content = json<Deployment>('content')
const dueOf = record({ id: idOf, tries: number('tries') })
const failedOf = optional(number, 'failed_at')
const place = record({
  instance: text('instance'),
  projectId: number('project_id'),
  environment: optional(text, 'environment'),
  finishedAt: optional(number, 'finished_at'),
  knownAt: optional(number, 'known_at'),
  revision: optional(text, 'revision'),
})

function previousOf(row: Row, damaged: DamagedRows): NonNullable<Neighbours['previous']> {
  const view = damaged.orNothing({ deployment: row.id }, 'of what it deployed its end is known alone', () =>
    viewDeployment(content(row)),
  )
  return {
    id: idOf(row),
    finishedAt: number('finished_at')(row),
    revision: view?.revision,
    committedAt: view?.committedAt,
  }
}

const figuresColumn = optional(json<DeploymentFigures>, 'figures')

function shownOf(row: Row): ShownDeployment | undefined {
  const deployment = content(row)
  const view = viewDeployment(deployment)
  if (view === undefined) return undefined
  return { id: idOf(row), deployment, view, at: number('happened_at')(row), figures: figuresColumn(row) }
}
