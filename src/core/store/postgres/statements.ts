// Runs the shared SQL on PostgreSQL: single statements, and the steps of a transaction.
import { jsonSeparator, type ColumnType, type Step, type Steps, type StepValue, type Within } from '../sql/steps.ts'
import type { Database, Session } from './database.ts'
import type { Row } from '../sql/columns.ts'
import type { Statements } from '../sql/statements.ts'

export function postgresStatements(db: Database): Statements {
  return {
    all: async (sql, values) => db.ask(placed(sql), values),
    change: async (sql, values) => (await db.query(`${placed(sql)} RETURNING 1`, values)).length,
    changed: async (sql, values) => db.ask(placed(sql), values),
    transaction: async steps => db.transaction(async (session, now) => execute(session, steps(withinOf(session, now)))),
    now: async () => db.now(),
    damaged: db.damaged,
    skipLocked: 'FOR UPDATE SKIP LOCKED',
    listed: place =>
      `SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(${place} AS json)) AS listed (value)`,
    pathOfRun: "CAST(runs.project AS json) -> 'facts' ->> 'path'",
  }
}

/** Runs the steps of a transaction one after another. */
async function execute<T>(session: Session, steps: Steps<T>): Promise<T> {
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

/** Runs several sequences of steps concurrently, on the transaction's connection. */
async function executeConcurrently(session: Session, all: readonly Steps<void>[]): Promise<void> {
  const running = all.map(async steps => execute(session, steps))
  try {
    await Promise.all(running)
  } catch (error) {
    // If one sequence fails, the others fail as well. All their statements must end before the rollback.
    await Promise.allSettled(running)
    throw error
  }
}

function withinOf({ damaged, log, encode }: Session, now: number): Within {
  return { now, damaged, log, encode, isShared: true }
}

/** Turns rows into one array per column, so that all of them are sent with one statement, in one round trip. */
export function columnsOf(
  rows: readonly (readonly StepValue[])[],
  types: readonly ColumnType[],
): (StepValue[] | string)[] {
  return types.map((type, column) => {
    const values = rows.map(row => row[column] ?? null)
    return type === 'json' ? values.join(jsonSeparator) : values
  })
}

/** Replaces the parameters `?1`, `?2` in the SQL with PostgreSQL's `$1`, `$2`. */
export function placed(sql: string): string {
  return sql.replace(/\?(\d+)/g, '$$$1')
}
