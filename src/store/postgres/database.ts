// A pool of connections to PostgreSQL: its clock, its transactions, its migrations. SQL of the rooms is in the files beside.
import pg from 'pg'
import { faultOf } from './faults.ts'
import { createDamagedRows, type DamagedRows } from '../sql/stored-json.ts'
import { migrate } from './migrate.ts'
import { number, optional, type Row } from '../sql/columns.ts'
import { reasonOf, StoreError } from '../../lib/fault.ts'
import type { Log } from '../../lib/log.ts'

/** A connection inside a transaction, or the pool outside of one. */
export interface Session {
  query(sql: string, values?: readonly unknown[]): Promise<Row[]>
  /** Who reads rows one after the other passes damaged ones over. */
  readonly damaged: DamagedRows
}

export interface Database extends Session {
  /** All of it or nothing. Work is run again when another replica got in its way (serialization, deadlock, `Again`). */
  transaction<T>(work: (session: Session, now: number) => Promise<T>): Promise<T>
  /** A question of which nobody knows how long it takes: the server gives it up as well when its time is over. */
  ask(sql: string, values?: readonly unknown[]): Promise<Row[]>
  /** The database's clock, ms of Unix time. */
  now(): Promise<number>
  /** How long it is by that clock until `due`, which the query answers, ms; 0 when it is over, undefined when there is none. */
  dueIn(sql: string, values?: readonly unknown[]): Promise<number | undefined>
  /** The same database for work whose statements may take so long, ms. */
  withPatience(ms: number): Database
  close(): Promise<void>
}

/** Thrown inside a transaction to roll back and run the work once more. */
export class Again extends Error {
  override readonly message = 'it conflicted with another replica repeatedly'
}

export interface DatabaseOptions {
  /** Replaces the database's clock, for tests. */
  readonly now?: (() => number) | undefined
  /** Most connections of this process. */
  readonly connections?: number | undefined
  /** For what an operator must know. */
  readonly log?: Log | undefined
  /** A statement that is not answered by then has failed, and its connection with it, ms: a network may fall silent. */
  readonly patience?: number | undefined
}

/** Of commands, which have time. */
const usualPatience = 60_000
/** A new connection is there by then, or a free one, ms. */
const connectTimeout = 5_000
/** A transaction whose owner has fallen silent gives its locks back after this long, ms. */
const silentTransaction = 10_000

const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`
const nowOf = number('now')
const attempts = 8

/** Connects and brings the database to this version's schema. Throws StoreError with a remedy. */
export async function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const patience = options.patience ?? usualPatience
  // Nothing is asked for at the start of a connection or for as long as it lasts: poolers refuse the one and share the other.
  const pool = new pg.Pool({
    connectionString: url,
    max: options.connections ?? 8,
    connectionTimeoutMillis: Math.min(connectTimeout, patience),
    application_name: 'pipespan',
    // An idle connection that nobody answers on is found before it is needed.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    query_timeout: patience,
    types: { getTypeParser: parserOf },
  })
  // An idle connection that breaks is replaced at the next use; without this it would end the process.
  pool.on('error', ignore)
  const database = connect({ pool, options, damaged: createDamagedRows(options.log) }, patience)
  try {
    await migrate(pool)
  } catch (error) {
    await pool.end()
    if (error instanceof StoreError) throw error
    throw new StoreError(
      `The PostgreSQL store cannot be opened: ${silenceOf(error, patience) ?? reasonOf(error)}.`,
      'Check the host, the database, the user and its password in PIPESPAN_STORE_URL, and that the server is up.',
      { cause: error },
    )
  }
  return database
}

/** Who is there instead of PostgreSQL, by what the driver says; undefined where the server itself refuses. */
function silenceOf(error: unknown, patience: number): string | undefined {
  const message = reasonOf(error)
  const quoted = `(${message})`
  if (/terminated unexpectedly|ECONNRESET/.test(message)) {
    return `the server closes the connection before a PostgreSQL handshake ${quoted}`
  }
  if (!message.includes('connection timeout')) return undefined
  return `no PostgreSQL server answered within ${Math.min(connectTimeout, patience) / 1000} s ${quoted}`
}

/** What all ways into one database share. */
interface Shared {
  readonly pool: pg.Pool
  readonly options: DatabaseOptions
  readonly damaged: DamagedRows
}

function connect(shared: Shared, patience: number): Database {
  const { pool, options, damaged } = shared
  const query: Session['query'] = async (text, values = []) => {
    try {
      return (await pool.query<Row>(timed(text, patience), [...values])).rows
    } catch (error) {
      throw faultOf(error)
    }
  }
  const transaction: Database['transaction'] = async work => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(shared, work, patience)
      } catch (error) {
        if (attempt < attempts && isWorthAnotherTry(error)) continue
        throw error instanceof Again ? faultOf(error) : error
      }
    }
  }
  return {
    query,
    damaged,
    transaction,
    ask: async (sql, values) => transaction(async session => session.query(sql, values)),
    now: async () => options.now?.() ?? nowOf((await query(`SELECT ${clock}`))[0] ?? {}),
    dueIn: async (sql, values) => {
      const [row] = await query(`SELECT due, ${clock} FROM (${sql}) AS next`, values)
      const due = row && optional(number, 'due')(row)
      return row && due !== undefined ? Math.max(0, due - (options.now?.() ?? nowOf(row))) : undefined
    },
    withPatience: ms => connect(shared, ms),
    close: async () => pool.end(),
  }
}

async function once<T>(
  { pool, options, damaged }: Shared,
  work: (session: Session, now: number) => Promise<T>,
  patience: number,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw faultOf(error)
  })
  // A connection that breaks while it is ours fails its query; the event beside it would end the process if nobody listened.
  client.on('error', ignore)
  let broken: Error | undefined
  const query: Session['query'] = async (text, values = []) => {
    try {
      return (await client.query<Row>(timed(text, patience), [...values])).rows
    } catch (error) {
      // Not the server's own word: no answer comes on this connection any more.
      if (!(error instanceof pg.DatabaseError)) broken = error as Error
      throw faultOf(error)
    }
  }
  try {
    const now = await begin(client, patience).catch((error: unknown) => {
      broken = error as Error
      throw faultOf(error)
    })
    const result = await work({ query, damaged }, options.now?.() ?? now)
    await query('COMMIT')
    return result
  } catch (error) {
    if (broken === undefined) await query('ROLLBACK').catch((lost: unknown) => (broken = lost as Error))
    throw error
  } finally {
    client.off('error', ignore)
    client.release(broken)
  }
}

/** With the limits that the server keeps to by itself, and its clock: one message. */
async function begin(client: pg.PoolClient, patience: number): Promise<number> {
  const text = `BEGIN; SET LOCAL statement_timeout = ${patience};
    SET LOCAL idle_in_transaction_session_timeout = ${silentTransaction}; SELECT ${clock}`
  const results = (await client.query<Row>(timed(text, patience))) as unknown as pg.QueryResult<Row>[]
  return nowOf(results.at(-1)?.rows[0] ?? {})
}

/** A statement that is not answered in time has failed for us. Its connection is given up: nobody knows what comes on it. */
function timed(text: string, patience: number): pg.QueryConfig {
  return { text, query_timeout: patience } as pg.QueryConfig
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
