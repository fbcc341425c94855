// The inbox on PostgreSQL: replicas lease past each other with SKIP LOCKED.
import { randomUUID } from 'node:crypto'
import { itemOf, keptOf } from '../rows.ts'
import { blamedInHaste, keyMemory, type Delivery, type Inbox, type InboxItem, type PutOutcome } from '../inbox.ts'
import { usedBytes } from './size.ts'
import type { Database, Session } from './database.ts'

export function postgresInbox(db: Database, maxSize: number): Inbox {
  const size = sizeOf(db)
  return {
    put: async deliveries => {
      if ((await size()) >= maxSize) return deliveries.map(() => 'full')
      return db.transaction(async (session, now) => put(session, now, deliveries))
    },
    lease: async (limit, maxBytes, holdMs) => {
      const token = randomUUID()
      return {
        token,
        items: await db.transaction(async (session, now) => lease(session, now, token, limit, maxBytes, holdMs)),
      }
    },
    erase: async (token, ids) => {
      const rows = await db.query('DELETE FROM inbox WHERE id = ANY ($1) AND lease = $2 RETURNING 1', [ids, token])
      return rows.length
    },
    keep: async (token, id, why) => {
      const rows = await db.query(
        `WITH gone AS (DELETE FROM inbox WHERE id = $1 AND lease = $2 RETURNING key, event, instance, source, received_at),
              freed AS (DELETE FROM delivery_keys WHERE key IN (SELECT key FROM gone))
         INSERT INTO kept_deliveries (key, event, instance, source, received_at, body, reason, version)
         SELECT key, event, instance, source, received_at, $3, $4, $5 FROM gone RETURNING 1`,
        [id, token, Buffer.from(why.body), why.reason, why.version],
      )
      return rows.length === 1
    },
    listKept: async limit =>
      (
        await db.query(
          `SELECT id, event, instance, source, received_at, reason, version, octet_length(body) AS size
           FROM kept_deliveries ORDER BY id DESC LIMIT $1`,
          [limit],
        )
      ).map(keptOf),
    showKept: async id => {
      const [row] = await db.query('SELECT *, octet_length(body) AS size FROM kept_deliveries WHERE id = $1', [id])
      return row === undefined ? undefined : { delivery: keptOf(row), body: row.body as Buffer }
    },
    retryKept: async ids => (ids === 'all' ? requeue(db, 'true', []) : requeue(db, 'id = ANY ($1)', [ids])),
    retryKeptOfOtherVersions: async version =>
      requeue(db, 'version <> $1 OR starts_with(reason, $2)', [version, blamedInHaste]),
    state: async () => {
      const [row] = await db.query(
        `SELECT count(*) AS waiting, coalesce(sum(octet_length(body)), 0) AS bytes, min(received_at) AS oldest,
                (SELECT count(*) FROM kept_deliveries) AS kept FROM inbox`,
      )
      return {
        waiting: row?.waiting as number,
        waitingBytes: row?.bytes as number,
        oldest: (row?.oldest ?? undefined) as number | undefined,
        kept: row?.kept as number,
      }
    },
  }
}

async function put(session: Session, now: number, deliveries: readonly Delivery[]): Promise<PutOutcome[]> {
  const keys = [...new Set(deliveries.flatMap(({ key }) => (key === undefined ? [] : [key])))].sort()
  const fresh = await session.query(
    `INSERT INTO delivery_keys SELECT k, $2::bigint FROM unnest($1::text[]) k
     ON CONFLICT (key) DO UPDATE SET heard_at = $2::bigint WHERE delivery_keys.heard_at < $2::bigint - ${keyMemory}
     RETURNING key`,
    [keys, now],
  )
  const open = new Set(fresh.map(row => row.key as string))
  const outcomes = deliveries.map(({ key }): PutOutcome => {
    if (key === undefined) return 'accepted'
    return open.delete(key) ? 'accepted' : 'duplicate'
  })
  const accepted = deliveries.filter((_, index) => outcomes[index] === 'accepted')
  for (let from = 0; from < accepted.length; from += perStatement) {
    await insert(session, now, accepted.slice(from, from + perStatement))
  }
  return outcomes
}

/** A statement has 65,535 parameters at most; a delivery takes five. */
const perStatement = 1_000

async function insert(session: Session, now: number, deliveries: readonly Delivery[]): Promise<void> {
  // Bodies one by one: in a list they would travel as text, each byte as two digits.
  const rows = deliveries.map(
    (_, at) => `($${5 * at + 2}, $${5 * at + 3}, $${5 * at + 4}, $${5 * at + 5}, $1::bigint, $${5 * at + 6}::bytea)`,
  )
  await session.query(`INSERT INTO inbox (key, event, instance, source, received_at, body) VALUES ${rows.join(', ')}`, [
    now,
    ...deliveries.flatMap(one => [one.key ?? null, one.event, one.instance ?? null, one.source, Buffer.from(one.body)]),
  ])
}

async function lease(
  session: Session,
  now: number,
  token: string,
  limit: number,
  maxBytes: number,
  holdMs: number,
): Promise<InboxItem[]> {
  const rows = await session.query(
    `WITH free AS (
       SELECT id, octet_length(body) AS size FROM inbox WHERE leased_until <= $1::bigint ORDER BY id LIMIT $2
       FOR UPDATE SKIP LOCKED
     ), sized AS (
       SELECT id, sum(size) OVER (ORDER BY id) - size AS before FROM free
     )
     UPDATE inbox SET lease = $3, leased_until = $4::bigint
     WHERE id IN (SELECT id FROM sized WHERE before < $5::bigint) RETURNING *`,
    [now, limit, token, now + holdMs, maxBytes],
  )
  return rows.map(itemOf).sort((a, b) => a.id - b.id)
}

async function requeue(db: Database, which: string, values: readonly unknown[]): Promise<number> {
  const rows = await db.query(
    `WITH back AS (DELETE FROM kept_deliveries WHERE ${which} RETURNING key, event, instance, source, received_at, body)
     INSERT INTO inbox (key, event, instance, source, received_at, body) SELECT * FROM back RETURNING id`,
    values,
  )
  return rows.length
}

/** The database's size is dear to ask for: once in five seconds is enough to stop a flood in time. */
function sizeOf(db: Database): () => Promise<number> {
  let asked = 0
  let bytes = 0
  return async () => {
    if (Date.now() - asked > 5_000 || asked === 0) {
      bytes = await usedBytes(db)
      asked = Date.now()
    }
    return bytes
  }
}
