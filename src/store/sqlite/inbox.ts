// The inbox on SQLite.
import { randomUUID } from 'node:crypto'
import { itemOf, keptOf } from '../rows.ts'
import type { Database, Row } from './database.ts'
import type { InboxLeases } from './inbox-leases.ts'
import { keyMemory, type Delivery, type Inbox, type InboxItem, type InboxState, type PutOutcome } from '../inbox.ts'

export function sqliteInbox(db: Database, leases: InboxLeases, maxSize: number): Inbox {
  return {
    put: async deliveries => put(db, deliveries, maxSize),
    lease: async (limit, maxBytes, holdMs) => {
      const token = randomUUID()
      return { token, items: lease(db, leases, token, { limit, maxBytes, holdMs }) }
    },
    erase: async (token, ids) => {
      const own = ids.filter(id => leases.isHeldBy(id, token))
      db.transaction(() => own.forEach(id => db.prepare('DELETE FROM inbox WHERE id = ?').run(id)))
      for (const id of own) leases.forget(id)
    },
    keep: async (token, id, why) => {
      if (!leases.isHeldBy(id, token)) return
      db.transaction(() => {
        const row = db
          .prepare('DELETE FROM inbox WHERE id = ? RETURNING key, event, instance, source, received_at')
          .get(id) as Row | undefined
        if (row === undefined) return
        db.prepare('DELETE FROM delivery_keys WHERE key = ?').run(row.key ?? null)
        db.prepare(
          `INSERT INTO kept_deliveries (key, event, instance, source, received_at, body, reason, version)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        ).run(...columns(row, 'key', 'event', 'instance', 'source', 'received_at'), why.body, why.reason, why.version)
      })
    },
    listKept: async limit =>
      db
        .prepare(
          `SELECT id, event, instance, source, received_at, reason, version, length(body) AS size
           FROM kept_deliveries ORDER BY id DESC LIMIT ?`,
        )
        .all(limit)
        .map(row => keptOf(row as Row)),
    showKept: async id => {
      const row = db.prepare('SELECT *, length(body) AS size FROM kept_deliveries WHERE id = ?').get(id) as
        Row | undefined
      return row === undefined ? undefined : { delivery: keptOf(row), body: row.body as Uint8Array }
    },
    retryKept: async ids =>
      db.transaction(() =>
        ids === 'all'
          ? requeue(db, 'id > ?', 0)
          : ids.map(id => requeue(db, 'id = ?', id)).reduce((sum, count) => sum + count, 0),
      ),
    retryKeptOfOtherVersions: async version => db.transaction(() => requeue(db, 'version <> ?', version)),
    state: async () => state(db),
  }
}

function put(db: Database, deliveries: readonly Delivery[], maxSize: number): PutOutcome[] {
  return db.transaction(() => {
    if (db.size() >= maxSize) return deliveries.map(() => 'full')
    const now = db.now()
    const remember = db.prepare(
      `INSERT INTO delivery_keys (key, heard_at) VALUES (?1, ?2)
       ON CONFLICT (key) DO UPDATE SET heard_at = ?2 WHERE heard_at < ?2 - ${keyMemory}`,
    )
    const insert = db.prepare(
      'INSERT INTO inbox (key, event, instance, source, received_at, body) VALUES (?, ?, ?, ?, ?, ?)',
    )
    return deliveries.map(({ key, event, instance, source, body }) => {
      if (key !== undefined && remember.run(key, now).changes === 0) return 'duplicate'
      insert.run(key ?? null, event, instance ?? null, source, now, body)
      return 'accepted'
    })
  })
}

/** Only reads: what is held is known in memory (`inbox-leases.ts`). */
function lease(
  db: Database,
  leases: InboxLeases,
  token: string,
  { limit, maxBytes, holdMs }: { limit: number; maxBytes: number; holdMs: number },
): InboxItem[] {
  const now = db.now()
  const sizes = db
    .prepare('SELECT id, length(body) AS size FROM inbox ORDER BY id LIMIT ?')
    .all(limit + leases.size) as { id: number; size: number }[]
  const body = db.prepare('SELECT * FROM inbox WHERE id = ?')
  const items: InboxItem[] = []
  let bytes = 0
  for (const { id, size } of sizes) {
    if (bytes >= maxBytes || items.length >= limit) break
    if (!leases.isFree(id, now)) continue
    bytes += size
    leases.hold(id, token, now + holdMs)
    items.push(itemOf(body.get(id) as Row))
  }
  return items
}

function requeue(db: Database, which: string, value: number | string): number {
  // Keys stay free: what is retried must not be refused as a duplicate of itself.
  const rows = db.prepare(`DELETE FROM kept_deliveries WHERE ${which} RETURNING *`).all(value) as Row[]
  const insert = db.prepare(
    'INSERT INTO inbox (key, event, instance, source, received_at, body) VALUES (?, ?, ?, ?, ?, ?)',
  )
  for (const row of rows) insert.run(...columns(row, 'key', 'event', 'instance', 'source', 'received_at', 'body'))
  return rows.length
}

function state(db: Database): InboxState {
  const waiting = db
    .prepare(
      'SELECT count(*) AS waiting, coalesce(sum(length(body)), 0) AS bytes, min(received_at) AS oldest FROM inbox',
    )
    .get() as { waiting: number; bytes: number; oldest: number | null }
  const kept = db.prepare('SELECT count(*) AS kept FROM kept_deliveries').get() as { kept: number }
  return {
    waiting: waiting.waiting,
    waitingBytes: waiting.bytes,
    oldest: waiting.oldest ?? undefined,
    kept: kept.kept,
  }
}

function columns(row: Row, ...names: string[]): Row[string][] {
  return names.map(name => row[name] ?? null)
}
