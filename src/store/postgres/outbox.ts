// What is owed to destinations, on PostgreSQL: replicas lease past each other with SKIP LOCKED.
import { randomUUID } from 'node:crypto'
import { bothEnds } from '../sql/both-ends.ts'
import { chunkOf, deadLetters } from '../sql/dead-letters.ts'
import { postgresStatements } from './statements.ts'
import { longestPutOff } from '../sql/too-far-ahead.ts'
import type { Database, Row, Session } from './database.ts'
import type { DamagedItem, OutboxEntry, OutboxLease, Outbox, ExportQueue, Settlement } from '../ports/outbox.ts'

export function postgresExports(db: Database): Outbox {
  return {
    lease: async (queue, limit, holdMs, maxBytes = Infinity) => {
      const token = randomUUID()
      return {
        token,
        ...(await db.transaction(async (session, now) =>
          lease(session, now, queue, token, { limit, maxBytes, holdMs }),
        )),
      }
    },
    settle: async (token, settlements) => {
      if (settlements.length === 0) return { lost: 0, at: await db.now() }
      return db.transaction(async (session, now) => {
        const settled = await settle(session, now, token, settlements)
        return { lost: settlements.length - settled, at: now }
      })
    },
    dueIn: async queue =>
      db.dueIn(`SELECT min(due_at) AS due FROM outbox WHERE state = 'pending' AND destination = $1 AND signal = $2`, [
        queue.destination,
        queue.signal,
      ]),
    ...deadLetters(postgresStatements(db)),
  }
}

async function lease(
  session: Session,
  now: number,
  queue: ExportQueue,
  token: string,
  { limit, maxBytes, holdMs }: { limit: number; maxBytes: number; holdMs: number },
): Promise<Omit<OutboxLease, 'token'>> {
  const due = async (order: 'ASC' | 'DESC'): Promise<Row[]> =>
    session.query(
      `SELECT e.id, octet_length(p.content) AS size FROM outbox e JOIN chunks p ON p.id = e.chunk_id
       WHERE e.state = 'pending' AND e.destination = $1 AND e.signal = $2 AND e.due_at <= $3::bigint
       ORDER BY e.due_at ${order}, e.id ${order} LIMIT $4 FOR UPDATE OF e SKIP LOCKED`,
      [queue.destination, queue.signal, now, limit],
    )
  const oldest = await due('ASC')
  const newest = oldest.length < limit ? oldest.toReversed() : await due('DESC')
  const sizes = new Map([...oldest, ...newest].map(row => [row.id as number, row.size as number]))
  const idsOf = (rows: readonly Row[]): number[] => rows.map(row => row.id as number)
  const chosen: number[] = []
  let bytes = 0
  for (const id of bothEnds(idsOf(oldest), idsOf(newest), limit)) {
    if (bytes >= maxBytes) break
    bytes += sizes.get(id) ?? 0
    chosen.push(id)
  }
  if (chosen.length === 0) return { items: [], damaged: [] }
  // A lease is a due time in the future: whoever dies gives it back by the clock alone.
  const rows = await session.query(
    `UPDATE outbox e SET lease = $1, due_at = $2::bigint FROM chunks p
     WHERE e.id = ANY ($3::bigint[]) AND p.id = e.chunk_id RETURNING e.id, e.tries, e.pending_since, p.content`,
    [token, now + holdMs, chosen],
  )
  const items: OutboxEntry[] = []
  const damaged: DamagedItem[] = []
  for (const row of rows) {
    const id = row.id as number
    const part = chunkOf(session.damaged, id, row.content)
    if (part === undefined) damaged.push({ id })
    else items.push({ id, chunk: part, tries: row.tries as number, pendingSince: row.pending_since as number })
  }
  return { items, damaged }
}

/** Answers how many were settled: the others' lease was lost. */
async function settle(
  session: Session,
  now: number,
  token: string,
  settlements: readonly Settlement[],
): Promise<number> {
  const rows = await session.query(
    `UPDATE outbox e SET
       state = s.state, lease = NULL, due_at = coalesce(s.due, e.due_at), error = s.error, tries = e.tries + s.tries,
       answer_status = s.status, settled_at = CASE WHEN s.state = 'pending' THEN NULL ELSE $3::bigint END
     FROM unnest($1::bigint[], $4::text[], $5::bigint[], $6::text[], $7::int[], $8::int[]) AS s (id, state, due, error, tries, status)
     WHERE e.id = s.id AND e.lease = $2 AND e.state = 'pending' RETURNING e.id`,
    [
      settlements.map(({ id }) => id),
      token,
      now,
      settlements.map(stateOf),
      settlements.map(one =>
        one.as === 'later' ? now + Math.min(longestPutOff, one.forMs) : one.as === 'unsent' ? now : null,
      ),
      settlements.map(one => (one.as === 'later' || one.as === 'rejected' ? one.error.replaceAll('\u0000', '') : null)),
      settlements.map(one => (one.as === 'later' && one.counted ? 1 : 0)),
      settlements.map(one => (one.as === 'rejected' ? one.status : null)),
    ],
  )
  return rows.length
}

function stateOf(settlement: Settlement): 'pending' | 'delivered' | 'dead' {
  if (settlement.as === 'delivered') return 'delivered'
  return settlement.as === 'rejected' ? 'dead' : 'pending'
}
