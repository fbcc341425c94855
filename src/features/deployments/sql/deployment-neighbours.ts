// Selects the deployments to the same environment that a deployment is compared with. The queries are steps of a transaction.
import { number, optional, record, text, type Row } from '../../../core/store/sql/columns.ts'
import { deploymentOf } from './deployment-reads.ts'
import type { DamagedRows } from '../../../core/store/sql/damaged-rows.ts'
import { viewDeployment } from '../model/deployment.ts'
import type { Neighbours } from '../model/deployment-figures.ts'
import type { Steps } from '../../../core/store/sql/steps.ts'

/** Returns the name of the environment's lock. Without it, two deployments that are counted concurrently would not see each other. */
export function lockOf(row: Row): string {
  return `environment ${String(row.project_id)} ${String(row.environment)} ${String(row.instance)}`
}

/** Returns the facts known about the other deployments to the same environment as the given one. */
export function* neighbours(own: Row, damaged: DamagedRows): Steps<Neighbours> {
  const { id, instance, projectId, environment, finishedAt, knownAt, revision } = place(own)
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

/**
 * Selects the deployments before or after the given end (`?4`) and id (`?5`), in two parts. If both columns were compared at once, neither database
 * would use an index to find the position among many deployments with the same end.
 */
function withoutTies(select: (ended: string) => string, compared: '<' | '>'): string {
  const [tied, others] = [`finished_at = ?4 AND id ${compared} ?5`, `finished_at ${compared} ?4`]
  return `SELECT * FROM (${select(tied)}) AS of_same_time UNION ALL SELECT * FROM (${select(others)}) AS of_others`
}

const sameEnvironment = 'instance = ?1 AND project_id = ?2 AND environment = ?3'
const newestFirst = (limit: number): string => `ORDER BY finished_at DESC, id DESC LIMIT ${limit}`
const previous = withoutTies(
  ended => `SELECT id, finished_at FROM deployments
    WHERE ${sameEnvironment} AND outcome = 'succeeded' AND ${ended} ${newestFirst(1)}`,
  '<',
)
/** The inner query uses only indexed columns, so a single row is read from the table. */
const selectPrevious = `
  SELECT id, finished_at, content FROM deployments WHERE id = (SELECT id FROM (${previous} ${newestFirst(1)}) AS newest)`
const selectFailed = `SELECT min(finished_at) AS failed_at FROM deployments
  WHERE ${sameEnvironment} AND outcome = 'failed' AND finished_at <= ?4 AND finished_at > ?5`
/**
 * The maximum number of successful deployments before the previous one that are searched for the same revision. If the revision is among them, the
 * deployment is a rollback.
 */
const maxRolledBack = 100
const selectKnown = `SELECT 1 FROM (
  SELECT revision FROM deployments
  WHERE ${sameEnvironment} AND outcome = 'succeeded' AND (finished_at, id) < (?4, ?5) ${newestFirst(maxRolledBack)}
) AS recent WHERE revision = ?6 LIMIT 1`
const selectLater = withoutTies(
  ended => `SELECT 1 FROM deployments
    WHERE ${sameEnvironment} AND outcome IS NOT NULL AND ${ended} AND counted_at <= ?6 LIMIT 1`,
  '>',
)

const idOf = number('id')
const failedOf = optional(number, 'failed_at')
const place = record({
  id: idOf,
  instance: text('instance'),
  projectId: number('project_id'),
  environment: optional(text, 'environment'),
  finishedAt: optional(number, 'finished_at'),
  knownAt: optional(number, 'known_at'),
  revision: optional(text, 'revision'),
})

function previousOf(row: Row, damaged: DamagedRows): NonNullable<Neighbours['previous']> {
  const view = damaged.row('deployments', row, one => viewDeployment(deploymentOf(one)))
  return {
    id: idOf(row),
    finishedAt: number('finished_at')(row),
    revision: view?.revision,
    committedAt: view?.committedAt,
  }
}
