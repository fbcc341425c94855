// Runs the steps of a transaction on PostgreSQL.
import { columnsOf, placed } from './arrays.ts'
import type { Row } from '../sql/columns.ts'
import type { Session } from './database.ts'
import type { Step, Steps, Within } from '../sql/steps.ts'

/** Within a transaction. */
export async function execute<T>(session: Session, steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (step.done !== true) step = steps.next(await rowsOf(session, step.value))
  return step.value
}

async function rowsOf(session: Session, step: Step): Promise<readonly Row[]> {
  if ('concurrently' in step) {
    await executeConcurrently(session, step.concurrently)
    return []
  }
  if ('each' in step)
    return step.rows.length === 0 ? [] : session.query(step.each.postgres, columnsOf(step.rows, step.each.types))
  const [sql, values] = step
  return session.query(placed(sql), values)
}

/** At the same time, on the transaction's connection. */
async function executeConcurrently(session: Session, all: readonly Steps<void>[]): Promise<void> {
  const running = all.map(async steps => execute(session, steps))
  try {
    await Promise.all(running)
  } catch (error) {
    // The others fail, too. Their statements must have ended before the rollback.
    await Promise.allSettled(running)
    throw error
  }
}

export function withinOf({ damaged, log }: Session, now: number): Within {
  return { now, damaged, log, isShared: true }
}
