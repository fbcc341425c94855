// The outbox on SQLite. Leases are in memory, so that leasing commits nothing. Leased entries are noted in a small file, so that the next process
// can count repeated exports.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { bothEnds } from '../sql/both-ends.ts'
import { countBacklog } from './backlog.ts'
import { headsOf, isInOrder, selectInOrder } from '../sql/in-order.ts'
import { chunkOf, deadLetters, entryOf, settledValues } from '../sql/outbox.ts'
import { createLeases, type Leases } from './leases.ts'
import { number, record, text } from '../sql/columns.ts'
import { openReadingNote, type ReadingNote } from './reading-note.ts'
import { sqliteStatements } from './statements.ts'
import type { Database } from './database.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { DamagedItem, OutboxEntry, OutboxLease, Outbox, ExportQueue } from '../ports/outbox.ts'

/** `noteFile`: undefined for a store in memory, and for commands. */
export function sqliteOutbox(db: Database, recent: RecentChunks, noteFile: string | undefined): Outbox {
  const leases = createLeases()
  let note: ReadingNote<number> | undefined
  const sql = sqliteStatements(db)
  return {
    lease: async (queue, limit, leaseMs, maxBytes = Infinity) => {
      const token = randomUUID()
      const { items, damaged } = freeItems(db, recent, leases, queue, { now: db.now(), limit, maxBytes })
      if (items.length + damaged.length === 0) return { token, items, damaged, repeated: 0 }
      note ??= openReadingNote({ file: noteFile, id: z.number(), stillWaits: isPending(db) })
      const again = items.filter(({ id }) => leases.until(id) > 0 || note?.deaths(id) !== undefined)
      for (const { id } of [...items, ...damaged]) leases.lease(id, db.elapsed() + leaseMs, token)
      note.begin(leases.ids())
      for (const { id } of again) note.forget(id)
      return { token, items, damaged, repeated: again.length }
    },
    settle: async (token, settlements) => {
      const own = settlements.filter(({ id }) => leases.isOf(id, token))
      // The same time for all, so that entries of one request are due together again.
      const now = db.now()
      const settled = db.transaction(() => {
        const settle = db.prepare(settleEntry)
        // The row of an unsent entry is unchanged.
        return own.filter(one => one.as === 'unsent' || settle.run(...settledValues(one, now)).changes === 1).length
      })
      // After the commit: if it fails, the same lease can settle them again.
      for (const { id } of own) leases.forget(id)
      note?.begin(leases.ids())
      return { lost: settlements.length - settled, at: now }
    },
    dueIn: async queue => {
      const rows = isInOrder(queue)
        ? headsIn(db, queue)
        : db
            .prepare(
              `SELECT id, due_at FROM outbox WHERE state = 'pending' AND destination = ? AND signal = ?
           ORDER BY due_at, id LIMIT ?`,
            )
            // Leased entries were due earlier and come first; one more than there are leases includes the first free one.
            .all(queue.destination, queue.signal, leases.size + 1)
            .map(due)
      const [now, at] = [db.now(), db.elapsed()]
      const pauses = rows.map(entry => Math.max(entry.at - now, leases.until(entry.id) - at))
      return pauses.length === 0 ? undefined : Math.max(0, Math.min(...pauses))
    },
    ...deadLetters(sql, async () => countBacklog(async (statement, values) => sql.all(statement, values))),
  }
}

const settleEntry = `
  UPDATE outbox SET state = ?, due_at = coalesce(?, due_at), error = ?, tries = tries + ?, answer_status = ?, settled_at = ?
  WHERE id = ? AND state = 'pending'`

const isPending =
  (db: Database) =>
  (id: number): boolean =>
    db.prepare(`SELECT 1 FROM outbox WHERE id = ? AND state = 'pending'`).get(id) !== undefined

const idOf = number('id')
const chunkId = number('chunk_id')
const contentOf = text('content')
const due = record({ id: idOf, at: number('due_at') })

function headsIn(db: Database, { destination, signal }: ExportQueue): { readonly id: number; readonly at: number }[] {
  return headsOf(db.prepare(selectInOrder).all(destination, signal)).map(({ id, dueAt }) => ({ id, at: dueAt }))
}

function freeItems(
  db: Database,
  recent: RecentChunks,
  leases: Leases,
  queue: ExportQueue,
  { now, limit, maxBytes }: { now: number; limit: number; maxBytes: number },
): Pick<OutboxLease, 'items' | 'damaged'> {
  const at = db.elapsed()
  const ids = (order: 'ASC' | 'DESC'): number[] =>
    db
      .prepare(
        `SELECT id FROM outbox WHERE state = 'pending' AND destination = ? AND signal = ? AND due_at <= ?
         ORDER BY due_at ${order}, id ${order} LIMIT ?`,
      )
      // Leased entries are still among these rows.
      .all(queue.destination, queue.signal, now, limit + leases.size)
      .map(idOf)
      .filter(id => leases.until(id) <= at)
      .slice(0, limit)
  const oldest = isInOrder(queue)
    ? headsIn(db, queue)
        .filter(({ id, at: dueAt }) => dueAt <= now && leases.until(id) <= at)
        .slice(0, limit)
        .map(({ id }) => id)
    : ids('ASC')
  const newest = oldest.length < limit || isInOrder(queue) ? oldest.toReversed() : ids('DESC')
  const rowOf = db.prepare('SELECT chunk_id, tries, pending_since FROM outbox WHERE id = ?')
  const content = db.prepare('SELECT content FROM chunks WHERE id = ?')
  const items: OutboxEntry[] = []
  const damaged: DamagedItem[] = []
  let bytes = 0
  for (const id of bothEnds(oldest, newest, limit)) {
    if (bytes >= maxBytes) break
    const row = rowOf.get(id) ?? {}
    const known = recent.take(chunkId(row))
    const stored = known === undefined ? contentOf(content.get(chunkId(row)) ?? {}) : ''
    const chunk = known?.chunk ?? chunkOf(db.damaged, id, stored)
    bytes += known?.size ?? stored.length
    if (chunk === undefined) damaged.push({ id })
    else items.push({ id, chunk, ...entryOf(row) })
  }
  return { items, damaged }
}
