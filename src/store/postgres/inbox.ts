// The inbox on PostgreSQL: replicas lease past each other with SKIP LOCKED.
import { randomUUID } from 'node:crypto'
import { deliveryColumns, inboxReads, itemOf } from '../sql/inbox.ts'
import { number, text } from '../sql/columns.ts'
import { placed, postgresStatements } from './statements.ts'
import {
  endOfDay,
  keyMemory,
  readAlone,
  type Delivery,
  type Inbox,
  type InboxItem,
  type PutOutcome,
} from '../ports/inbox.ts'
import { usedBytes } from './size.ts'
import type { Database, Session } from './database.ts'

export function postgresInbox(db: Database, maxSize: number): Inbox {
  const size = sizeOf(db)
  const survived: Survived[] = []
  return {
    put: async deliveries => {
      if ((await size()) >= maxSize) return deliveries.map(() => 'full')
      return db.transaction(async (session, now) => put(session, now, deliveries))
    },
    lease: async (limit, maxBytes, leaseMs) => {
      const token = randomUUID()
      const before = survived.length
      const items = await db.transaction(async (session, now) => {
        for (const one of survived.slice(0, before)) await takeBack(session, one)
        return lease(session, now, token, limit, maxBytes, leaseMs)
      })
      survived.splice(0, before)
      return { token, items }
    },
    // Written in the next lease's transaction, so that this call cannot fail.
    readingEnded: async (lease, all) => {
      // Only ids, so that the bodies are not kept in memory.
      if (!all) survived.push({ token: lease.token, ids: lease.items.map(({ id }) => id) })
    },
    erase: async (token, ids) => {
      const rows = await db.query('DELETE FROM inbox WHERE id = ANY ($1) AND lease = $2 RETURNING 1', [ids, token])
      return rows.length
    },
    quarantine: async (token, id, why) => {
      const rows = await db.query(
        `WITH gone AS (DELETE FROM inbox WHERE id = $1 AND lease = $2 RETURNING key, event, instance, source, received_at),
              freed AS (DELETE FROM delivery_keys WHERE key IN (SELECT key FROM gone))
         INSERT INTO quarantined_deliveries (${deliveryColumns}, reason, version)
         SELECT key, event, instance, source, received_at, $3, $4, $5 FROM gone RETURNING 1`,
        [id, token, Buffer.from(why.body), why.reason, why.version],
      )
      return rows.length === 1
    },
    retryQuarantined: async ids => (ids === 'all' ? requeue(db, 'true') : requeue(db, 'id = ANY (?1)', [ids])),
    retryQuarantinedOfOtherVersions: async version => requeue(db, 'version <> ?1', [version]),
    ...inboxReads(postgresStatements(db)),
  }
}

async function put(session: Session, now: number, deliveries: readonly Delivery[]): Promise<PutOutcome[]> {
  const keys = [...new Set(deliveries.flatMap(({ key }) => (key === undefined ? [] : [key])))].sort()
  const fresh = await session.query(
    `INSERT INTO delivery_keys SELECT k, $2::bigint FROM unnest($1::text[]) k
     ON CONFLICT (key) DO UPDATE SET seen_at = $2::bigint WHERE delivery_keys.seen_at < $3::bigint
     RETURNING key`,
    [keys, endOfDay(now), now - keyMemory],
  )
  const open = new Set(fresh.map(text('key')))
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
  // One parameter for each body: an array would be sent as text, with two digits for each byte.
  const rows = deliveries.map(
    (_, at) => `($${5 * at + 2}, $${5 * at + 3}, $${5 * at + 4}, $${5 * at + 5}, $1::bigint, $${5 * at + 6}::bytea)`,
  )
  await session.query(`INSERT INTO inbox (${deliveryColumns}) VALUES ${rows.join(', ')}`, [
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
  leaseMs: number,
): Promise<InboxItem[]> {
  const rows = await session.query(
    `WITH free AS (
       SELECT id, octet_length(body) AS size, tries FROM inbox WHERE leased_until <= $1::bigint ORDER BY id LIMIT $2
       FOR UPDATE SKIP LOCKED
     ), sized AS (
       SELECT id, sum(size) OVER up_to_it - size AS before, row_number() OVER up_to_it AS place,
              bool_or(tries > 0 OR size >= $6) OVER up_to_it AS is_alone
       FROM free WINDOW up_to_it AS (ORDER BY id)
     ), taken AS (
       SELECT id FROM sized WHERE place = 1 OR (before < $5::bigint AND NOT is_alone)
     )
     UPDATE inbox SET lease = $3, leased_until = $4::bigint,
                      tries = CASE WHEN (SELECT count(*) FROM taken) = 1 THEN greatest(tries, 1) + 1 ELSE 1 END
     WHERE id IN (SELECT id FROM taken) RETURNING *`,
    [now, limit, token, now + leaseMs, maxBytes, readAlone],
  )
  return rows
    .map(row => {
      const deaths = tries(row) - firstAlone
      return deaths > 0 ? { ...itemOf(row), deaths } : itemOf(row)
    })
    .sort((a, b) => a.id - b.id)
}

const tries = number('tries')

/**
 * `tries` of a delivery that is not leased. 0: no suspicion. 1: a process crashed while it processed it with others. 2 + n: n consecutive processes
 * crashed while they processed it alone.
 */
const firstAlone = 2

interface Survived {
  readonly token: string
  readonly ids: readonly number[]
}

/** Its reader survived. If another replica has leased it since, that replica has counted one crash too many. */
async function takeBack(session: Session, { token, ids }: Survived): Promise<void> {
  await session.query(
    `UPDATE inbox SET tries = CASE WHEN lease = $2 THEN 0 ELSE greatest(tries - 1, 0) END WHERE id = ANY ($1)`,
    [ids, token],
  )
}

async function requeue(db: Database, which: string, values: readonly unknown[] = []): Promise<number> {
  const rows = await db.query(
    placed(
      `WITH back AS (DELETE FROM quarantined_deliveries WHERE ${which} RETURNING ${deliveryColumns})
       INSERT INTO inbox (${deliveryColumns}) SELECT * FROM back RETURNING id`,
    ),
    values,
  )
  return rows.length
}

/** The size is expensive to measure; every five seconds is often enough to stop a flood in time. */
function sizeOf(db: Database): () => Promise<number> {
  let asked = -Infinity
  let bytes = 0
  return async () => {
    if (performance.now() - asked > 5_000) {
      bytes = await usedBytes(db)
      asked = performance.now()
    }
    return bytes
  }
}
