// What is owed to destinations, on SQLite.
import { randomUUID } from 'node:crypto'
import { bothEnds } from '../both-ends.ts'
import { deadLetterOf, laneOf, selectDead, selectLanes } from '../rows.ts'
import type { Database, Row } from './database.ts'
import type { RecentPart, RecentParts } from './recent-parts.ts'
import type { FrozenPart } from '../../model/frozen.ts'
import type { ExportItem, Exports, Lane, Settlement } from '../exports.ts'

export function sqliteExports(db: Database, recent: RecentParts): Exports {
  return {
    lease: async (lane, limit, holdMs, maxBytes = Infinity) => {
      const token = randomUUID()
      return { token, items: db.transaction(() => lease(db, recent, lane, token, { limit, maxBytes, holdMs })) }
    },
    settle: async (token, settlements) => ({
      lost: db.transaction(() => settlements.filter(one => !settle(db, token, one)).length),
    }),
    nextDue: async lane => {
      const row = db
        .prepare(`SELECT min(due_at) AS due FROM exports WHERE state = 'owed' AND destination = ? AND signal = ?`)
        .get(lane.destination, lane.signal) as { due: number | null }
      return row.due ?? undefined
    },
    lanes: async () => db.prepare(selectLanes).all().map(laneOf),
    deadLetters: async limit =>
      (db.prepare(`${selectDead} ORDER BY e.id DESC LIMIT ?`).all(limit) as Row[]).map(deadLetterOf),
    deadLetter: async id => {
      const row = db.prepare(`${selectDead} AND e.id = ?`).get(id) as Row | undefined
      if (row === undefined) return undefined
      return { letter: deadLetterOf(row), part: JSON.parse(row.view as string) as FrozenPart }
    },
    retryDead: async ids => {
      const now = db.now()
      const sql = `UPDATE exports SET state = 'owed', due_at = ?, lease = NULL, tries = 0, settled_at = NULL WHERE state = 'dead'`
      return change(db, sql, [now], ids)
    },
    dropDead: async ids => {
      const sql = `UPDATE exports SET state = 'dropped', settled_at = ? WHERE state = 'dead'`
      return change(db, sql, [db.now()], ids)
    },
  }
}

function lease(
  db: Database,
  recent: RecentParts,
  lane: Lane,
  token: string,
  { limit, maxBytes, holdMs }: { limit: number; maxBytes: number; holdMs: number },
): ExportItem[] {
  const now = db.now()
  const ids = (order: 'ASC' | 'DESC', count: number): number[] =>
    (
      db
        .prepare(
          `SELECT id FROM exports WHERE state = 'owed' AND destination = ? AND signal = ? AND due_at <= ?
           ORDER BY due_at ${order}, id ${order} LIMIT ?`,
        )
        .all(lane.destination, lane.signal, now, count) as { id: number }[]
    ).map(({ id }) => id)
  const oldest = ids('ASC', limit)
  const newest = oldest.length < limit ? oldest.toReversed() : ids('DESC', limit)
  // A lease is a due time in the future: whoever dies gives it back by the clock alone.
  const hold = db.prepare('UPDATE exports SET lease = ?, due_at = ? WHERE id = ? RETURNING part_id, tries, owed_at')
  const view = db.prepare('SELECT view FROM parts WHERE id = ?')
  const items: ExportItem[] = []
  let bytes = 0
  for (const id of bothEnds(oldest, newest, limit)) {
    if (bytes >= maxBytes) break
    const row = hold.get(token, now + holdMs, id) as { part_id: number; tries: number; owed_at: number }
    const { part, size } = recent.recall(row.part_id) ?? partOf(view.get(row.part_id) as { view: string })
    bytes += size
    items.push({ id, part, tries: row.tries, owedAt: row.owed_at })
  }
  return items
}

function partOf({ view }: { readonly view: string }): Pick<RecentPart, 'part' | 'size'> {
  return { part: JSON.parse(view) as FrozenPart, size: view.length }
}

/** False when the lease was lost. */
function settle(db: Database, token: string, settlement: Settlement): boolean {
  const now = db.now()
  const where = `WHERE id = ? AND lease = ? AND state = 'owed'`
  const result = ((): { changes: number | bigint } => {
    switch (settlement.as) {
      case 'delivered':
        return db
          .prepare(`UPDATE exports SET state = 'delivered', lease = NULL, settled_at = ?, error = NULL ${where}`)
          .run(now, settlement.id, token)
      case 'later':
        return db
          .prepare(`UPDATE exports SET lease = NULL, due_at = ?, error = ?, tries = tries + ? ${where}`)
          .run(settlement.due, settlement.error, settlement.counted ? 1 : 0, settlement.id, token)
      case 'unsent':
        return db.prepare(`UPDATE exports SET lease = NULL, due_at = ? ${where}`).run(now, settlement.id, token)
      case 'rejected':
        return db
          .prepare(
            `UPDATE exports SET state = 'dead', lease = NULL, settled_at = ?, answer_status = ?, error = ? ${where}`,
          )
          .run(now, settlement.status, settlement.error, settlement.id, token)
    }
  })()
  return Number(result.changes) === 1
}

function change(db: Database, sql: string, values: number[], ids: readonly number[] | 'all'): number {
  return db.transaction(() => {
    if (ids === 'all') return Number(db.prepare(sql).run(...values).changes)
    return ids.reduce((sum, id) => sum + Number(db.prepare(`${sql} AND id = ?`).run(...values, id).changes), 0)
  })
}
