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

/** Until the end of the transaction. All replicas lock in the same order, so that there is no deadlock. */
export async function lockNames(session: Session, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await session.query(
    `SELECT pg_advisory_xact_lock(lock) FROM
       (SELECT DISTINCT hashtextextended(name, 0) AS lock FROM unnest($1::text[]) AS n (name) ORDER BY 1) AS locks`,
    [[...new Set(names)]],
  )
}
