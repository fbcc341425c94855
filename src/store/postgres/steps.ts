// Runs the steps of a transaction on PostgreSQL.
import { placed } from './statements.ts'
import type { Session } from './database.ts'
import type { Steps } from '../sql/steps.ts'

/** Within a transaction. */
export async function taken<T>(session: Session, steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (step.done !== true) {
    const [sql, values] = step.value
    step = steps.next(await session.query(placed(sql), values))
  }
  return step.value
}

/** Several at the same time, on the transaction's connection: none waits for the answers to another. */
export async function allTaken<T>(session: Session, all: readonly Steps<T>[]): Promise<T[]> {
  const running = all.map(async steps => taken(session, steps))
  try {
    return await Promise.all(running)
  } catch (error) {
    // The others fail, too. Before the rollback their statements must have left the connection.
    await Promise.allSettled(running)
    throw error
  }
}

/** Until the end of the transaction. All replicas lock in the same order, so that there is no deadlock. */
export async function lockNames(session: Session, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await session.query(
    `SELECT pg_advisory_xact_lock(lock) FROM
       (SELECT DISTINCT hashtextextended(name, 0) AS lock FROM unnest($1::text[]) AS n (name) ORDER BY 1) AS locks`,
    [[...new Set(names)]],
  )
}
