// The rows of the inbox's table on SQLite. Ids are negated: -5 is the row 5.
import { deliveryColumns, deliveryValues, itemOf } from '../sql/inbox.ts'
import { number } from '../sql/columns.ts'
import type { Database } from './database.ts'
import type { InboxItem } from '../ports/inbox.ts'

export function insertDelivery(db: Database, delivery: Omit<InboxItem, 'id'>): void {
  db.prepare(`INSERT INTO inbox (${deliveryColumns}) VALUES (?, ?, ?, ?, ?, ?)`).run(
    ...[...deliveryValues(delivery), delivery.body],
  )
}

export function* waitingRows(db: Database, limit: number, isFree: (id: number) => boolean): Generator<InboxItem> {
  const ids = db.prepare('SELECT id FROM inbox ORDER BY id LIMIT ?').all(limit).map(number('id'))
  for (const id of ids) {
    const item = isFree(-id) ? rowOf(db, -id) : undefined
    if (item !== undefined) yield item
  }
}

export function rowOf(db: Database, id: number): InboxItem | undefined {
  const row = db.prepare('SELECT * FROM inbox WHERE id = ?').get(-id)
  return row && { ...itemOf(row), id }
}
