// Counts deployments within a transaction, for both databases: what is due, what is beside it in its environment, what is decided and written.
import { number, optional, record, text, type Row } from './columns.ts'
import { viewDeployment, type Deployment } from '../../model/deployment.ts'
import { writeEvent } from './events.ts'
import type { CountedHow, Decide, Decided, Deployments } from '../ports/deployments.ts'
import { storedDeployment, type DamagedRows } from './stored-json.ts'
import type { Listing } from './deployments.ts'
import type { Millis } from '../../model/instant.ts'
import type { Neighbours } from '../../model/deployment-figures.ts'
import type { ProjectIncrements } from '../../model/totals.ts'
import type { Statements } from './statements.ts'
import type { StepOf, Steps } from './steps.ts'
import type { WrittenEvent } from './waiting-events.ts'

/** Mostly nothing is due, and a SELECT needs no transaction. */
export async function isAnyDue(sql: Statements, how: CountedHow, now: Millis): Promise<boolean> {
  return (await sql.all(`SELECT 1 FROM deployments WHERE due_at <= ?1 AND ${is[how]} LIMIT 1`, [now])).length > 0
}

/** Those that are counted together, the longest due first. Locked, so that another replica counts others. */
export function selectDue(now: Millis, limit: number, skipLocked: Statements['skipLocked']): StepOf {
  return [
    `SELECT * FROM deployments WHERE due_at <= ?1 AND ${is.together} AND counted_at IS NULL ORDER BY due_at, id LIMIT ?2 ${skipLocked}`,
    [now, limit],
  ]
}

/** One, unless it is counted already, or not to be. */
export function selectOne(id: number, lock: '' | 'FOR UPDATE' = ''): StepOf {
  return [`SELECT * FROM deployments WHERE id = ?1 AND due_at IS NOT NULL AND counted_at IS NULL ${lock}`, [id]]
}

/** The lock of its environment: two deployments counted at the same time would not see each other. */
export function lockOf(row: Row): string {
  return `environment ${String(row.project_id)} ${String(row.environment)} ${String(row.instance)}`
}

/** Undefined if it is counted already, or not to be. */
export function* around(id: number, damaged: DamagedRows): Steps<Neighbours | undefined> {
  const [own] = yield selectOne(id)
  return own && (yield* neighbours(own, damaged))
}

/** The others of its environment. */
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

/** A deployment that is due, and what was decided. */
export interface DecidedDeployment {
  readonly id: number
  readonly decision: ReturnType<Decide> | 'damaged'
}

/** In the order of `rows`, each with its neighbours; without those of which nothing was decided. */
export function decideAll(
  rows: readonly Row[],
  around: readonly Neighbours[],
  damaged: DamagedRows,
  decide: Parameters<Deployments['count']>[1],
): DecidedDeployment[] {
  return rows.flatMap((row, at) => {
    const id = idOf(row)
    const beside = around[at]
    const deployment = damaged.orNothing({ deployment: id }, 'it is not counted', () => content(row))
    if (deployment === undefined) return { id, decision: 'damaged' }
    const decision = beside && decide({ id, deployment }, beside)
    return decision === undefined ? [] : { id, decision }
  })
}

/** Returns the events that were written. */
export function* writeDecided(
  { id, decision }: DecidedDeployment,
  now: Millis,
  damaged: DamagedRows,
  listing: Listing,
): Steps<readonly WrittenEvent[]> {
  if (decision === 'damaged') yield [neverDue, [id]]
  else if (decision === 'apart') {
    yield ['UPDATE deployments SET apart = 1, leased = 0, due_at = ?1 WHERE id = ?2', [now, id]]
  } else {
    const figures = decision === 'nothing' ? null : JSON.stringify(decision.figures)
    yield [
      `UPDATE deployments SET due_at = NULL, leased = 0, counted_at = ?1, figures = ?2${later[listing]} WHERE id = ?3`,
      [now, figures, id],
    ]
    if (decision !== 'nothing' && decision.sent !== undefined)
      return yield* writeEvent(decision.sent, now, 'last', damaged)
  }
  return []
}

export function decidedAs({ decision }: DecidedDeployment): Decided {
  return typeof decision === 'object' ? 'counted' : decision
}

export function totalsOf(decided: readonly DecidedDeployment[]): ProjectIncrements[] {
  return decided.flatMap(({ decision }) => (typeof decision === 'object' ? (decision.totals ?? []) : []))
}

export const is: Readonly<Record<CountedHow, string>> = { together: 'apart = 0', apart: 'apart = 1' }
const neverDue = 'UPDATE deployments SET due_at = NULL, leased = 0 WHERE id = ?1'
/** What is to be listed later is in the small index until then. */
const later: Readonly<Record<Listing, string>> = { 'at once': '', later: ', recent = 1' }

/** What a large index and the small one find: no deployment is missing, and one that is not listed anew yet may be in both. */
function fromBoth(large: string, select: (index: string) => string): string {
  return `SELECT * FROM (${select(large)}) AS of_many UNION ALL SELECT * FROM (${select('recent = 1')}) AS of_few`
}

/**
 * Before or after (?4, ?5) by end and id, in two parts: if both are compared at once, neither database finds the place by an index among many that
 * ended at the same time.
 */
function withoutTies(select: (ended: string) => string, compared: '<' | '>'): string {
  const [tied, others] = [`finished_at = ?4 AND id ${compared} ?5`, `finished_at ${compared} ?4`]
  return `SELECT * FROM (${select(tied)}) AS of_same_time UNION ALL SELECT * FROM (${select(others)}) AS of_others`
}

const sameEnvironment = 'instance = ?1 AND project_id = ?2 AND environment = ?3'
const newestFirst = 'ORDER BY finished_at DESC, id DESC LIMIT 1'
const previous = fromBoth('listed = 1', index =>
  withoutTies(
    ended => `SELECT id, finished_at FROM deployments
      WHERE ${sameEnvironment} AND ${index} AND outcome = 'succeeded' AND ${ended} ${newestFirst}`,
    '<',
  ),
)
/** Its row is read only once it is found: what it is found by is in the indexes. */
const selectPrevious = `
  SELECT id, finished_at, content FROM deployments WHERE id = (SELECT id FROM (${previous} ${newestFirst}) AS newest)`
const failed = fromBoth(
  'listed = 1',
  index => `SELECT min(finished_at) AS failed_at FROM deployments
    WHERE ${sameEnvironment} AND ${index} AND outcome = 'failed' AND finished_at <= ?4 AND finished_at > ?5`,
)
const selectFailed = `SELECT min(failed_at) AS failed_at FROM (${failed}) AS failed`
const selectKnown = fromBoth(
  'listed = 1',
  index => `SELECT 1 FROM deployments
    WHERE ${sameEnvironment} AND ${index} AND outcome = 'succeeded' AND (finished_at, id) < (?4, ?5) AND revision = ?6 LIMIT 1`,
)
const selectLater = fromBoth('recent = 0', index =>
  withoutTies(
    ended => `SELECT 1 FROM deployments
      WHERE ${sameEnvironment} AND ${index} AND outcome IS NOT NULL AND ${ended} AND counted_at <= ?6 LIMIT 1`,
    '>',
  ),
)

const idOf = number('id')
const content = (row: Row): Deployment => storedDeployment(row.content)
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
