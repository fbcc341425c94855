// What is pending for destinations, on SQLite: leases are in memory, so that leasing writes nothing.
import { randomUUID } from 'node:crypto'
import { bothEnds } from '../sql/both-ends.ts'
import { chunkOf, deadLetters, entryOf, settledValues } from '../sql/outbox.ts'
import { createLeases, type Leases } from './leases.ts'
import { number, record, text } from '../sql/columns.ts'
import { sqliteStatements } from './statements.ts'
import type { Database } from './database.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { DamagedItem, OutboxEntry, OutboxLease, Outbox, ExportQueue } from '../ports/outbox.ts'

export function sqliteOutbox(db: Database, recent: RecentChunks): Outbox {
  const leases = createLeases()
  return {
    lease: async (queue, limit, leaseMs, maxBytes = Infinity) => {
      const token = randomUUID()
      const { items, damaged } = freeItems(db, recent, leases, queue, { now: db.now(), limit, maxBytes })
      for (const { id } of [...items, ...damaged]) leases.lease(id, db.elapsed() + leaseMs, token)
      return { token, items, damaged }
    },
    settle: async (token, settlements) => {
      const own = settlements.filter(({ id }) => leases.isOf(id, token))
      // One time for all: what goes off together is due together again.
      const now = db.now()
      const settled = db.transaction(() => {
        const settle = db.prepare(settleEntry)
        // What was not sent was due, and is: nothing is written of it.
        return own.filter(one => one.as === 'unsent' || settle.run(...settledValues(one, now)).changes === 1).length
      })
      // Not before it is committed: what could not be written is settled by the same lease once more.
      for (const { id } of own) leases.forget(id)
      return { lost: settlements.length - settled, at: now }
    },
    dueIn: async queue => {
      const rows = db
        .prepare(
          `SELECT id, due_at FROM outbox WHERE state = 'pending' AND destination = ? AND signal = ?
           ORDER BY due_at, id LIMIT ?`,
        )
        // What is leased was due before and comes first: the first that nobody has leased is still among these.
        .all(queue.destination, queue.signal, leases.size + 1)
      const [now, at] = [db.now(), db.elapsed()]
      const pauses = rows.map(due).map(entry => Math.max(entry.at - now, leases.until(entry.id) - at))
      return pauses.length === 0 ? undefined : Math.max(0, Math.min(...pauses))
    },
    ...deadLetters(sqliteStatements(db)),
  }
}

/** Nothing of an entry that is no longer pending. */
const settleEntry = `
  UPDATE outbox SET state = ?, due_at = coalesce(?, due_at), error = ?, tries = tries + ?, answer_status = ?, settled_at = ?
  WHERE id = ? AND state = 'pending'`

const idOf = number('id')
const chunkId = number('chunk_id')
const contentOf = text('content')
const due = record({ id: idOf, at: number('due_at') })

/** Only reads. */
function freeItems(
  db: Database,
  recent: RecentChunks,
  leases: Leases,
  queue: ExportQueue,
  { now, limit, maxBytes }: { now: number; limit: number; maxBytes: number },
): Omit<OutboxLease, 'token'> {
  const at = db.elapsed()
  const ids = (order: 'ASC' | 'DESC'): number[] =>
    db
      .prepare(
        `SELECT id FROM outbox WHERE state = 'pending' AND destination = ? AND signal = ? AND due_at <= ?
         ORDER BY due_at ${order}, id ${order} LIMIT ?`,
      )
      // What is leased stays among them in the table.
      .all(queue.destination, queue.signal, now, limit + leases.size)
      .map(idOf)
      .filter(id => leases.until(id) <= at)
      .slice(0, limit)
  const oldest = ids('ASC')
  const newest = oldest.length < limit ? oldest.toReversed() : ids('DESC')
  const rowOf = db.prepare('SELECT chunk_id, tries, pending_since FROM outbox WHERE id = ?')
  const content = db.prepare('SELECT content FROM chunks WHERE id = ?')
  const items: OutboxEntry[] = []
  const damaged: DamagedItem[] = []
  let bytes = 0
  for (const id of bothEnds(oldest, newest, limit)) {
    if (bytes >= maxBytes) break
    const row = rowOf.get(id) ?? {}
    const known = recent.recall(chunkId(row))
    const stored = known === undefined ? contentOf(content.get(chunkId(row)) ?? {}) : ''
    const chunk = known?.chunk ?? chunkOf(db.damaged, id, stored)
    bytes += known?.size ?? stored.length
    if (chunk === undefined) damaged.push({ id })
    else items.push({ id, chunk, ...entryOf(row) })
  }
  return { items, damaged }
}
