// What is owed to destinations, on SQLite.
import { randomUUID } from 'node:crypto'
import { bothEnds } from '../sql/both-ends.ts'
import { createLeases, type Leases } from './leases.ts'
import { chunkOf, deadLetters } from '../sql/dead-letters.ts'
import { sqliteStatements } from './statements.ts'
import { longestPutOff } from '../sql/too-far-ahead.ts'
import type { Database } from './database.ts'
import type { RecentChunks } from './recent-chunks.ts'
import type { DamagedItem, OutboxEntry, OutboxLease, Outbox, ExportQueue, Settlement } from '../ports/outbox.ts'

export function sqliteExports(db: Database, recent: RecentChunks): Outbox {
  const leases = createLeases()
  return {
    lease: async (queue, limit, holdMs, maxBytes = Infinity) => {
      const token = randomUUID()
      const { items, damaged } = freeItems(db, recent, leases, queue, { now: db.now(), limit, maxBytes })
      for (const { id } of [...items, ...damaged]) leases.hold(id, token, db.elapsed() + holdMs)
      return { token, items, damaged }
    },
    settle: async (token, settlements) => {
      const own = settlements.filter(({ id }) => leases.isHeldBy(id, token))
      // One time for all: what goes off together is due together again.
      const now = db.now()
      const settled = db.transaction(() => own.filter(one => settle(db, one, now)).length)
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
        // What is held was due before and comes first: the first that nobody holds is still among these.
        .all(queue.destination, queue.signal, leases.size + 1) as { id: number; due_at: number }[]
      const [now, at] = [db.now(), db.elapsed()]
      const pauses = rows.map(({ id, due_at }) => Math.max(due_at - now, leases.heldUntil(id) - at))
      return pauses.length === 0 ? undefined : Math.max(0, Math.min(...pauses))
    },
    ...deadLetters(sqliteStatements(db)),
  }
}

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
    (
      db
        .prepare(
          `SELECT id FROM outbox WHERE state = 'pending' AND destination = ? AND signal = ? AND due_at <= ?
           ORDER BY due_at ${order}, id ${order} LIMIT ?`,
        )
        // What is held stays among them in the table.
        .all(queue.destination, queue.signal, now, limit + leases.size) as { id: number }[]
    )
      .filter(({ id }) => leases.heldUntil(id) <= at)
      .slice(0, limit)
      .map(({ id }) => id)
  const oldest = ids('ASC')
  const newest = oldest.length < limit ? oldest.toReversed() : ids('DESC')
  const rowOf = db.prepare('SELECT chunk_id, tries, pending_since FROM outbox WHERE id = ?')
  const content = db.prepare('SELECT content FROM chunks WHERE id = ?')
  const items: OutboxEntry[] = []
  const damaged: DamagedItem[] = []
  let bytes = 0
  for (const id of bothEnds(oldest, newest, limit)) {
    if (bytes >= maxBytes) break
    const row = rowOf.get(id) as { chunk_id: number; tries: number; pending_since: number }
    const known = recent.recall(row.chunk_id)
    const text = known === undefined ? (content.get(row.chunk_id)?.content as string) : ''
    const part = known?.chunk ?? chunkOf(db.damaged, id, text)
    bytes += known?.size ?? text.length
    if (part === undefined) damaged.push({ id })
    else items.push({ id, chunk: part, tries: row.tries, pendingSince: row.pending_since })
  }
  return { items, damaged }
}

/** False when it is no longer owed. */
function settle(db: Database, settlement: Settlement, now: number): boolean {
  const where = `WHERE id = ? AND state = 'pending'`
  const result = ((): { changes: number | bigint } => {
    switch (settlement.as) {
      case 'delivered':
        return db
          .prepare(`UPDATE outbox SET state = 'delivered', settled_at = ?, error = NULL ${where}`)
          .run(now, settlement.id)
      case 'later':
        return db
          .prepare(`UPDATE outbox SET due_at = ?, error = ?, tries = tries + ? ${where}`)
          .run(
            now + Math.min(longestPutOff, settlement.forMs),
            settlement.error,
            settlement.counted ? 1 : 0,
            settlement.id,
          )
      case 'unsent':
        // Due it was, and is.
        return { changes: 1 }
      case 'rejected':
        return db
          .prepare(`UPDATE outbox SET state = 'dead', settled_at = ?, answer_status = ?, error = ? ${where}`)
          .run(now, settlement.status, settlement.error, settlement.id)
    }
  })()
  return Number(result.changes) === 1
}
