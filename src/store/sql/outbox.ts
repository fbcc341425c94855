// The SQL of the outbox that both databases share: settling, queues and dead letters.
import { number, optional, record, text, word, type Row } from './columns.ts'
import { signals } from '../ports/runs.ts'
import { maxPutOff } from './too-far-ahead.ts'
import { everything, textWithin, type Scope } from '../ports/scope.ts'
import { places, type Statements, type Value } from './statements.ts'
import { readings } from './reading.ts'
import { plainText } from './plain-text.ts'
import { storedAny, type DamagedRows } from './stored-json.ts'
import type { AnyChunk } from '../../model/event.ts'
import type { DeadLetter, DeadLetters, ExportQueueState, Outbox, Settlement } from '../ports/outbox.ts'

/** `countQueues`: as `selectQueues` returns them. */
export function deadLetters(
  sql: Statements,
  countQueues: () => Promise<readonly Row[]>,
): Pick<Outbox, 'makeDue' | 'move' | 'queues' | 'within' | keyof DeadLetters> {
  let counted: { readonly queues: readonly ExportQueueState[]; readonly until: number } | undefined
  /** Set while a large backlog is counted: all callers meanwhile share that count. */
  let counting: Promise<readonly ExportQueueState[]> | undefined
  let wasLarge = false
  let changes = 0
  const forget = (): void => {
    changes += 1
    counted = undefined
    counting = undefined
  }
  const count = async (): Promise<readonly ExportQueueState[]> => {
    const before = changes
    const queues = (await countQueues()).map(queue)
    const pending = queues.reduce((sum, one) => sum + one.pending, 0)
    wasLarge = pending >= large
    if (wasLarge && changes === before) counted = { queues, until: performance.now() + pending * believedMs }
    return queues
  }
  const reading = readings(sql)
  const within = (scope: Scope): DeadLetters => {
    const { ask, scoped } = reading(scope)
    // The backend's answer is about a batch of several projects.
    const letter = (row: Row): DeadLetter => {
      const found = letterOf(row)
      return { ...found, error: textWithin(scope, found.error) }
    }
    const change = async (set: string, ids: readonly number[] | 'all'): Promise<number> => {
      if (ids.length === 0) return 0
      forget()
      const which = ids === 'all' ? '' : `AND o.id IN (${places(ids, 1)})`
      const dead = `SELECT o.id ${fromDead} ${which}` as const
      const values: Value[] = [await sql.now(), ...(ids === 'all' ? [] : ids)]
      return sql.change(...(await scoped(`UPDATE outbox SET ${set} WHERE state = 'dead' AND id IN (${dead})`, values)))
    }
    return {
      deadLetters: async limit => (await ask(`${selectDead} ORDER BY o.id DESC LIMIT ?1`, [limit])).map(letter),
      deadLetter: async id => {
        const [row] = await ask(`${selectDead} AND o.id = ?1`, [id])
        return row && { letter: letter(row), chunk: chunkOf(sql.damaged, id, row.content) }
      },
      retryDead: async ids => change(`state = 'pending', due_at = ?1, lease = NULL, tries = 0, settled_at = NULL`, ids),
      dropDead: async ids => change(`state = 'dropped', settled_at = ?1`, ids),
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
      if (counting !== undefined) return counting
      const own = count().finally(() => {
        if (counting === own) counting = undefined
      })
      if (wasLarge) counting = own
      return own
    },
    within,
    ...within(everything),
  }
}

/** A backlog of more exports than this is not counted for every page and scrape, but at most once per this many ms for each export: every 5 s for a million. */
const large = 20_000
const believedMs = 0.005

/** Leased entries are left out: on PostgreSQL a lease is a due time in the future. */
const makeDue = `
  UPDATE outbox SET due_at = ?1
  WHERE state = 'pending' AND destination = ?2 AND signal = ?3 AND due_at > ?1 AND lease IS NULL`

const move = (skipLocked: string): string => `
  UPDATE outbox SET destination = ?3 WHERE id IN
    (SELECT id FROM outbox WHERE state = 'pending' AND destination = ?1 AND signal = ?2 LIMIT ?4 ${skipLocked})`

/** A condition may follow with AND. */
const fromDead = `
  FROM outbox o JOIN chunks c ON c.id = o.chunk_id
    LEFT JOIN runs r ON r.id = c.run_id LEFT JOIN events e ON e.chunk_id = c.id
  WHERE o.state = 'dead' AND ({visible r} OR {visible event e})` as const

/** With the chunk's content. */
const selectDead = `
  SELECT o.id, o.destination, o.signal, o.answer_status, o.error, o.tries, o.pending_since, o.settled_at,
         coalesce(r.instance, e.instance) AS instance, r.pipeline_id, e.kind AS event, c.attempt, c.number, c.content
  ${fromDead}` as const

const letterOf = record({
  id: number('id'),
  destination: text('destination'),
  signal: word('signal', signals),
  instance: text('instance'),
  pipelineId: optional(number, 'pipeline_id'),
  event: optional(text, 'event'),
  attempt: number('attempt'),
  chunk: number('number'),
  status: number('answer_status'),
  error: text('error'),
  tries: number('tries'),
  pendingSince: number('pending_since'),
  settledAt: number('settled_at'),
})

/** Reads pending and dead entries from indexes only, except the row of the oldest of each queue; never the delivered ones. */
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
  signal: word('signal', signals),
  pending: number('pending'),
  oldest: optional(number, 'oldest'),
  dead: number('dead'),
  lastError: optional(text, 'error'),
  putOff: number('put_off'),
})

/** A leased entry without its chunk. */
export const entryOf = record({ tries: number('tries'), pendingSince: number('pending_since') })

/** The chunk of an outbox entry; undefined if it is damaged. */
export function chunkOf(damaged: DamagedRows, entry: number, content: unknown): AnyChunk | undefined {
  return damaged.orNothing({ export: entry }, 'it cannot be sent and is now a dead letter', () => storedAny(content))
}

/** The new state, due time (null: as before), error, number of further tries, answer status and time of settlement; then the entry's id. */
export function settledValues(one: Settlement, now: number): Value[] {
  switch (one.as) {
    case 'delivered':
      return ['delivered', null, null, 0, null, now, one.id]
    case 'later': {
      const dueAt = now + Math.min(maxPutOff, one.forMs)
      return ['pending', dueAt, plainText(one.error), one.counted ? 1 : 0, null, null, one.id]
    }
    case 'unsent':
      return ['pending', now, null, 0, null, null, one.id]
    case 'rejected':
      return ['dead', null, plainText(one.error), 0, one.status, now, one.id]
  }
}
