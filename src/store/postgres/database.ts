// A pool of connections to PostgreSQL: its clock, its transactions, its migrations. SQL of the rooms is in the files beside.
import pg from 'pg'
import { DataError, Fault, reasonOf, StoreError } from '../../lib/fault.ts'
import { postgresMigrations } from './migrations.ts'

export type Row = Record<string, unknown>

/** A connection inside a transaction, or the pool outside of one. */
export interface Session {
  query(sql: string, values?: readonly unknown[]): Promise<Row[]>
}

export interface Database extends Session {
  /** All of it or nothing. Work is run again when another replica got in its way (serialization, deadlock, `Again`). */
  transaction<T>(work: (session: Session, now: number) => Promise<T>): Promise<T>
  /** The database's clock, ms of Unix time. */
  now(): Promise<number>
  /** How long it is by that clock until `due`, which the query answers, ms; 0 when it is over, undefined when there is none. */
  dueIn(sql: string, values?: readonly unknown[]): Promise<number | undefined>
  close(): Promise<void>
}

/** Thrown inside a transaction to roll back and run the work once more. */
export class Again extends Error {
  override readonly message = 'another replica got in its way again and again'
}

export interface DatabaseOptions {
  /** Replaces the database's clock, for tests. */
  readonly now?: (() => number) | undefined
  /** Most connections of this process. */
  readonly connections?: number | undefined
}

const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`
/** Any constant will do, as long as every version uses the same: one migration at a time. */
const migrationLock = 7_462_736_101
const attempts = 8

/** Connects and brings the database to this version's schema. Throws StoreError with a remedy. */
export async function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.connections ?? 8,
    connectionTimeoutMillis: 10_000,
    application_name: 'pipespan',
    // A lost network must not hold a lock for ever.
    keepAlive: true,
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: 60_000,
    types: { getTypeParser: parserOf },
  })
  // An idle connection that breaks is replaced at the next use; without this it would end the process.
  pool.on('error', ignore)
  const database = connect(pool, options)
  try {
    await migrate(pool)
  } catch (error) {
    await pool.end()
    if (error instanceof StoreError) throw error
    throw new StoreError(
      `The PostgreSQL store cannot be opened: ${reasonOf(error)}.`,
      'Check the host, the database, the user and its password in PIPESPAN_STORE_URL, and that the server is up.',
      { cause: error },
    )
  }
  return database
}

function connect(pool: pg.Pool, options: DatabaseOptions): Database {
  const query: Session['query'] = async (sql, values = []) => {
    try {
      const { rows } = await pool.query<Row>(sql, [...values])
      return rows
    } catch (error) {
      throw fault(error)
    }
  }
  const now = async (session: Session): Promise<number> =>
    options.now?.() ?? ((await session.query(`SELECT ${clock}`))[0]?.now as number)
  return {
    query,
    now: async () => now({ query }),
    dueIn: async (sql, values) => {
      const [row] = await query(`SELECT due, ${clock} FROM (${sql}) AS next`, values)
      const due = row?.due ?? undefined
      return due === undefined ? undefined : Math.max(0, (due as number) - (options.now?.() ?? (row?.now as number)))
    },
    transaction: async work => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await once(pool, work, now)
        } catch (error) {
          if (attempt < attempts && isWorthAnotherTry(error)) continue
          throw error instanceof Again ? fault(error) : error
        }
      }
    },
    close: async () => pool.end(),
  }
}

async function once<T>(
  pool: pg.Pool,
  work: (session: Session, now: number) => Promise<T>,
  now: (session: Session) => Promise<number>,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw fault(error)
  })
  // A connection that breaks while it is ours tells its query; told to nobody else as well, it would end the process.
  client.on('error', ignore)
  const query: Session['query'] = async (sql, values = []) => {
    try {
      return (await client.query<Row>(sql, [...values])).rows
    } catch (error) {
      throw fault(error)
    }
  }
  const session: Session = { query }
  let broken: Error | undefined
  try {
    await query('BEGIN')
    const result = await work(session, await now(session))
    await query('COMMIT')
    return result
  } catch (error) {
    try {
      await client.query('ROLLBACK')
    } catch (lost) {
      broken = lost as Error
    }
    throw error
  } finally {
    client.off('error', ignore)
    client.release(broken)
  }
}

async function migrate(pool: pg.Pool): Promise<void> {
  const client = await pool.connect()
  client.on('error', ignore)
  try {
    // A large table may take its time, and so may another replica that migrates.
    await client.query('SET statement_timeout = 0')
    await client.query('SELECT pg_advisory_lock($1)', [migrationLock])
    await client.query('CREATE TABLE IF NOT EXISTS pipespan_schema (version integer NOT NULL)')
    const { rows } = await client.query<{ version: number }>('SELECT version FROM pipespan_schema')
    const version = rows[0]?.version ?? 0
    const newest = postgresMigrations.length
    if (version > newest + 1) {
      throw new StoreError(
        `The PostgreSQL store has schema ${version}; this version knows schemas up to ${newest} and runs on ${newest + 1} at most.`,
        'Run the Pipespan version that wrote it, or a newer one.',
      )
    }
    for (let step = version; step < newest; step += 1) {
      await client.query('BEGIN')
      await client.query(postgresMigrations[step] ?? '')
      await client.query('DELETE FROM pipespan_schema')
      await client.query('INSERT INTO pipespan_schema VALUES ($1)', [step + 1])
      await client.query('COMMIT')
    }
  } finally {
    // Its lock and its settings end with the connection.
    client.release(true)
  }
}

/** bigint comes as text by default; every one of ours is a count, an id or a time and fits a double. */
function parserOf(
  id: Parameters<typeof pg.types.getTypeParser>[0],
  format?: 'text' | 'binary',
): (value: string) => unknown {
  if (id === pg.types.builtins.INT8 || id === pg.types.builtins.NUMERIC) return Number
  return pg.types.getTypeParser(id, format) as (value: string) => unknown
}

function ignore(): void {
  // The caller knows by its own query.
}

function isWorthAnotherTry(error: unknown): boolean {
  if (error instanceof Again) return true
  const cause = error instanceof StoreError ? error.cause : undefined
  // serialization_failure, deadlock_detected
  return cause instanceof pg.DatabaseError && (cause.code === '40001' || cause.code === '40P01')
}

/** Only what PostgreSQL says of the data (its classes 22 and 23) is the data's fault. The rest may do the next time, however it came. */
function fault(error: unknown): Fault {
  if (error instanceof Fault) return error
  if (error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? '')) {
    const what = `The PostgreSQL store does not hold such data: ${reasonOf(error)} (${error.code}).`
    return new DataError(what, 'Please report it.', { cause: error })
  }
  return new StoreError(
    `The PostgreSQL store did not do as asked: ${reasonOf(error)}.`,
    'See whether the server is up, reachable and has disk space; Pipespan tries again by itself.',
    { cause: error },
  )
}
