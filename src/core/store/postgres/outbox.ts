// The outbox on PostgreSQL: each replica skips rows that another replica has locked (SKIP LOCKED).
import { randomUUID } from 'node:crypto'
import { bothEnds, headsOf, isInOrder, selectInOrder } from '../sql/in-order.ts'
import { deadLetters, entryColumns, entryOf, settle } from '../sql/outbox.ts'
import { placed, postgresStatements } from './statements.ts'
import { number, type Row } from '../sql/columns.ts'
import type { Database, Session } from './database.ts'
import type { OutboxLease, Outbox, ExportQueue } from '../ports/outbox.ts'

export function postgresOutbox(db: Database): Outbox {
  const sql = postgresStatements(db)
  return {
    lease: async (queue, limit, leaseMs, maxBytes = Infinity) => {
      const token = randomUUID()
      return {
        token,
        ...(await db.transaction(async (session, now) =>
          lease(session, now, queue, token, { limit, maxBytes, leaseMs }),
        )),
      }
    },
    settle: async (token, settlements) => {
      if (settlements.length === 0) return { lost: 0, at: await db.now() }
      return sql.transaction(function* (within) {
        const settled = yield* settle(settlements, token, within)
        return { lost: settlements.length - settled, at: within.now }
      })
    },
    dueIn: async queue => {
      const { destination, signal } = queue
      if (isInOrder(queue)) {
        const heads = headsOf(await db.query(placed(selectInOrder), [destination, signal]))
        const now = await db.now()
        return heads.length === 0 ? undefined : Math.max(0, Math.min(...heads.map(({ dueAt }) => dueAt)) - now)
      }
      return db.dueIn(
        `SELECT min(due_at) AS due FROM outbox WHERE state = 'pending' AND destination = $1 AND signal = $2`,
        [destination, signal],
      )
    },
    ...deadLetters(sql),
  }
}

const idOf = number('id')
const sizeOf = number('size')

async function lease(
  session: Session,
  now: number,
  queue: ExportQueue,
  token: string,
  { limit, maxBytes, leaseMs }: { limit: number; maxBytes: number; leaseMs: number },
): Promise<Omit<OutboxLease, 'token'>> {
  const due = async (order: 'ASC' | 'DESC'): Promise<Row[]> =>
    session.query(
      `SELECT e.id, octet_length(m.body) AS size, e.lease IS NOT NULL AS is_again FROM outbox e JOIN messages m ON m.id = e.message_id
       WHERE e.state = 'pending' AND e.destination = $1 AND e.signal = $2 AND e.due_at <= $3::bigint
       ORDER BY e.due_at ${order}, e.id ${order} LIMIT $4 FOR UPDATE OF e SKIP LOCKED`,
      [queue.destination, queue.signal, now, limit],
    )
  const oldest = isInOrder(queue) ? await dueHeads(session, now, queue, limit) : await due('ASC')
  const newest = isInOrder(queue) || oldest.length < limit ? oldest.toReversed() : await due('DESC')
  const sizes = new Map([...oldest, ...newest].map(row => [idOf(row), sizeOf(row)]))
  // These entries were leased before, and their leases have expired: settling an entry would have cleared its lease.
  const again = new Set([...oldest, ...newest].filter(({ is_again: isAgain }) => isAgain === true).map(idOf))
  const chosen: number[] = []
  let bytes = 0
  for (const id of bothEnds(oldest.map(idOf), newest.map(idOf), limit)) {
    if (bytes >= maxBytes) break
    bytes += sizes.get(id) ?? 0
    chosen.push(id)
  }
  if (chosen.length === 0) return { items: [], repeated: 0 }
  // A lease is a due time in the future, so it expires by itself if the replica dies.
  const rows = await session.query(
    `UPDATE outbox o SET lease = $1, due_at = $2::bigint FROM messages m
     WHERE o.id = ANY ($3::bigint[]) AND m.id = o.message_id RETURNING o.id, o.tries, o.pending_since, ${entryColumns}`,
    [token, now + leaseMs, chosen],
  )
  const items = rows.map(entryOf)
  return { items, repeated: items.filter(({ id }) => again.has(id)).length }
}

/**
 * Reads the first due messages. If another replica is leasing at the same time, this waits for it: skipping its locked rows would make the rows after
 * them seem to be first.
 */
async function dueHeads(session: Session, now: number, queue: ExportQueue, limit: number): Promise<Row[]> {
  const rows = await session.query(placed(`${selectInOrder} FOR UPDATE OF o`), [queue.destination, queue.signal])
  return headsOf(rows)
    .filter(({ dueAt }) => dueAt <= now)
    .slice(0, limit)
    .map(({ row }) => row)
}
