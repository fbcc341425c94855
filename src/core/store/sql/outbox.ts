// The outbox SQL that both databases share: settling entries, counting queues and handling dead letters.
import { bytes, number, optional, record, text, oneOf, type Row, plainText } from './columns.ts'
import {
  signals,
  type DeadLetter,
  type DeadLetters,
  type ExportQueueState,
  type Outbox,
  type OutboxEntry,
  type Settlement,
} from '../ports/outbox.ts'
import { everything, textWithin, type Scope } from '../ports/scope.ts'
import { placeholders, type Statements, type Value } from './statements.ts'
import { readings } from './reading.ts'
import { deleteUnused } from './messages.ts'
import { each, forRows, type Steps, type StepValue, type Within } from './steps.ts'

/** The maximum time in ms by which the store defers an export. The export queue handles a longer `Retry-After`. */
const maxPutOff = 600_000

export function deadLetters(
  sql: Statements,
): Pick<Outbox, 'makeDue' | 'move' | 'queues' | 'within' | keyof DeadLetters> {
  let counted: { readonly queues: readonly ExportQueueState[]; readonly until: number } | undefined
  let changes = 0
  const forget = (): void => {
    changes += 1
    counted = undefined
  }
  const reading = readings(sql)
  const within = (scope: Scope): DeadLetters => {
    const { ask, scoped } = reading(scope)
    // The backend's response is hidden from people with a limited scope, because it is about a batch from several projects.
    const letter = (row: Row): DeadLetter => {
      const found = letterOf(row)
      return { ...found, error: textWithin(scope, found.error) }
    }
    const chosen = async (ids: readonly number[] | 'all', before: readonly Value[]): Promise<[string, Value[]]> => {
      const which = ids === 'all' ? '' : `AND o.id IN (${placeholders(ids, before.length)})`
      const dead = `SELECT o.id ${fromDead} ${which}` as const
      return scoped(dead, [...before, ...(ids === 'all' ? [] : ids)])
    }
    return {
      deadLetters: async limit => (await ask(`${selectDead} ORDER BY o.id DESC LIMIT ?1`, [limit])).map(letter),
      deadLetter: async id => {
        const [row] = await ask(`${selectDead} AND o.id = ?1`, [id])
        return row && { letter: letter(row), body: bodyOf(row) }
      },
      retryDead: async ids => {
        if (ids.length === 0) return 0
        forget()
        const [dead, values] = await chosen(ids, [await sql.now()])
        return sql.change(`UPDATE outbox SET ${retried} WHERE id IN (${dead})`, values)
      },
      dropDead: async ids => {
        if (ids.length === 0) return 0
        forget()
        const [dead, values] = await chosen(ids, [])
        return sql.transaction(within => drop([dead, values], within))
      },
    }
  }
  return {
    makeDue: async ({ destination, signal }) => {
      forget()
      return sql.change(makeDue, [await sql.now(), destination, signal])
    },
    move: async ({ destination, signal }, to, limit) => {
      forget()
      return sql.change(move(sql.skipLocked), [destination, signal, to, limit])
    },
    queues: async () => {
      if (counted !== undefined && performance.now() < counted.until) return counted.queues
      const before = changes
      const queues = (await sql.all(selectQueues)).map(queue)
      const pending = queues.reduce((sum, one) => sum + one.pending, 0)
      if (pending >= large && changes === before)
        counted = { queues, until: performance.now() + pending * cacheMsPerExport }
      return queues
    },
    within,
    ...within(everything),
  }
}

/**
 * A backlog of `large` exports or more is not counted for every page and scrape. Its count is cached for a time that grows with the backlog: 20 s for
 * a million exports, which SQLite counts in half a second.
 */
const large = 20_000
const cacheMsPerExport = 0.02

/** Makes pending entries due. Leased entries are excluded, because on PostgreSQL a lease is a due time in the future. */
const makeDue = `
  UPDATE outbox SET due_at = ?1
  WHERE state = 'pending' AND destination = ?2 AND signal = ?3 AND due_at > ?1 AND lease IS NULL`

const move = (skipLocked: string): string => `
  UPDATE outbox SET destination = ?3 WHERE id IN
    (SELECT id FROM outbox WHERE state = 'pending' AND destination = ?1 AND signal = ?2 LIMIT ?4 ${skipLocked})`

/** Deletes the chosen entries, and messages with no entries left. Returns the number of deleted entries. */
export function* drop([ids, values]: readonly [string, readonly StepValue[]], within: Within): Steps<number> {
  const rows = yield [`DELETE FROM outbox WHERE id IN (${ids}) RETURNING message_id`, values]
  yield* deleteUnused(rows.map(messageOf), within)
  return rows.length
}

const messageOf = number('message_id')
const bodyOf = bytes('body')
/** Resets a dead entry for another attempt. `?1` is the current time. */
const retried = `state = 'pending', due_at = ?1, lease = NULL, tries = 0, settled_at = NULL`

/** Joins dead entries with their messages. A further condition may follow with AND. */
const fromDead = `
  FROM outbox o JOIN messages m ON m.id = o.message_id WHERE o.state = 'dead' AND {visible event m}` as const

const selectDead = `
  SELECT o.id, o.destination, o.signal, o.answer_status, o.error, o.tries, o.pending_since, o.settled_at,
         m.instance, m.pipeline_id, m.project_id, m.kind, m.attempt, m.number, m.body
  ${fromDead}` as const

const letterOf = record({
  id: number('id'),
  destination: text('destination'),
  signal: oneOf('signal', signals),
  instance: text('instance'),
  pipelineId: optional(number, 'pipeline_id'),
  projectId: optional(number, 'project_id'),
  event: optional(text, 'kind'),
  attempt: number('attempt'),
  chunk: number('number'),
  status: number('answer_status'),
  error: text('error'),
  tries: number('tries'),
  pendingSince: number('pending_since'),
  settledAt: number('settled_at'),
})

/** Reads pending and dead entries from indexes only, except for the row of each queue's oldest entry. */
export const selectQueues = `
  SELECT destination, signal, pending, (SELECT o.pending_since FROM outbox o WHERE o.id = queues.first) AS oldest, dead, error, put_off
  FROM (
    SELECT destination, signal, sum(pending) AS pending, min(first) AS first, sum(dead) AS dead, max(error) AS error,
           sum(put_off) AS put_off
    FROM (
      SELECT destination, signal, count(*) AS pending, min(id) AS first, 0 AS dead, NULL AS error, 0 AS put_off
      FROM outbox WHERE state = 'pending' GROUP BY destination, signal
      UNION ALL
      SELECT destination, signal, 0, NULL, 0, max(error), count(*)
      FROM outbox WHERE state = 'pending' AND error IS NOT NULL GROUP BY destination, signal
      UNION ALL
      SELECT destination, signal, 0, NULL, count(*), NULL, 0
      FROM outbox WHERE state = 'dead' GROUP BY destination, signal
    ) AS queues GROUP BY destination, signal
  ) AS queues ORDER BY destination, signal`

const queue = record({
  destination: text('destination'),
  signal: oneOf('signal', signals),
  pending: number('pending'),
  oldest: optional(number, 'oldest'),
  dead: number('dead'),
  lastError: optional(text, 'error'),
  putOff: number('put_off'),
})

/** The message columns that a leased entry includes. */
export const entryColumns = `m.body, m.instance, m.project_id, m.project, m.group_path, m.pipeline_id, m.event_key, m.observed_at`

const entry = record({
  id: number('id'),
  tries: number('tries'),
  pendingSince: number('pending_since'),
  body: bodyOf,
  instance: text('instance'),
  projectId: optional(number, 'project_id'),
  project: optional(text, 'project'),
  group: text('group_path'),
  pipelineId: optional(number, 'pipeline_id'),
  key: optional(text, 'event_key'),
  observedAt: optional(number, 'observed_at'),
})

export function entryOf(row: Row): OutboxEntry {
  const { instance, projectId, project, group, ...rest } = entry(row)
  const path = project ?? (group === '' ? undefined : group)
  return { ...rest, subject: { instance, path, projectId } }
}

/** Settles entries, and deletes messages with no entries left. Returns how many of the entries were still leased by the caller. */
export function* settle(settlements: readonly Settlement[], token: string, within: Within): Steps<number> {
  const { now } = within
  const of = <As extends Settlement['as']>(as: As): Extract<Settlement, { as: As }>[] =>
    settlements.filter((one): one is Extract<Settlement, { as: As }> => one.as === as)
  const delivered = yield each(
    deleteEntries,
    of('delivered').map(({ id }) => [id, token]),
  )
  yield* deleteUnused(delivered.map(messageOf), within)
  const later = yield each(
    putOff,
    of('later').map(({ id, forMs, error, counted }) => {
      const dueAt = now + Math.min(maxPutOff, forMs)
      return [id, token, dueAt, plainText(error), counted ? 1 : 0]
    }),
  )
  const unsent = yield each(
    putBack,
    of('unsent').map(({ id }) => [id, token, now]),
  )
  const rejected = yield each(
    reject,
    of('rejected').map(({ id, status, error }) => [id, token, now, plainText(error), status]),
  )
  return delivered.length + later.length + unsent.length + rejected.length
}

/**
 * On PostgreSQL, this condition matches only entries that are leased with the token. On SQLite, leases are in memory, and the caller has checked
 * them.
 */
const own = `outbox.id = s.id AND outbox.lease = s.token AND state = 'pending'`
const ofOne = `id = ?1 AND (?2 IS NOT NULL) AND state = 'pending'`

const deleteEntries = forRows(
  ['bigint', 'text'],
  ({ rows }) => `DELETE FROM outbox USING (${rows}) AS s (id, token) WHERE ${own} RETURNING outbox.message_id`,
  `DELETE FROM outbox WHERE ${ofOne} RETURNING message_id`,
)
const putOff = forRows(
  ['bigint', 'text', 'bigint', 'text', 'int'],
  ({ rows }) => `UPDATE outbox SET lease = NULL, due_at = s.due_at, error = s.error, tries = outbox.tries + s.tries
    FROM (${rows}) AS s (id, token, due_at, error, tries) WHERE ${own} RETURNING outbox.id`,
  `UPDATE outbox SET due_at = ?3, error = ?4, tries = tries + ?5 WHERE ${ofOne} RETURNING id`,
)
const putBack = forRows(
  ['bigint', 'text', 'bigint'],
  ({ rows }) =>
    `UPDATE outbox SET lease = NULL, due_at = s.due_at FROM (${rows}) AS s (id, token, due_at) WHERE ${own} RETURNING outbox.id`,
  // On SQLite, leases are in memory, so the entry's row is not changed.
  `SELECT id FROM outbox WHERE ${ofOne} AND ?3 IS NOT NULL`,
)
const reject = forRows(
  ['bigint', 'text', 'bigint', 'text', 'int'],
  ({
    rows,
  }) => `UPDATE outbox SET state = 'dead', lease = NULL, settled_at = s.at, error = s.error, answer_status = s.status
    FROM (${rows}) AS s (id, token, at, error, status) WHERE ${own} RETURNING outbox.id`,
  `UPDATE outbox SET state = 'dead', settled_at = ?3, error = ?4, answer_status = ?5 WHERE ${ofOne} RETURNING id`,
)
