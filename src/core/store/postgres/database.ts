// A pool of connections to PostgreSQL, with transactions, timeouts, and the database's clock.
import pg from 'pg'
import { createDamagedRows, type DamagedRows } from '../sql/damaged-rows.ts'
import { sendsNothing, type EncodeMessages } from '../ports/outbox.ts'
import { Again } from '../sql/steps.ts'
import { migrate } from './migrate.ts'
import { number, optional, type Row } from '../sql/columns.ts'
import { checkConnectionRoom, daemonSessions } from './connection-room.ts'
import { reasonOf, StoreError, DataError, Fault } from '../../../lib/fault.ts'
import { isOfTheSchema, otherSchema } from '../sql/schema-faults.ts'
import type { Log } from '../../../lib/log.ts'
import type { StorePart } from '../ports/store-part.ts'

/** The connection of a transaction, or the pool outside of a transaction. */
export interface Session {
  query(sql: string, values?: readonly unknown[]): Promise<Row[]>
  readonly damaged: DamagedRows
  readonly log: Log | undefined
  readonly encode: EncodeMessages
}

export interface Database extends Session {
  /** Runs `work` in a transaction, and runs it again if it conflicted with another replica (serialization failure, deadlock, `Again`). */
  transaction<T>(work: (session: Session, now: number) => Promise<T>): Promise<T>
  /** Runs a query that may be slow. On timeout, the server cancels the query too. */
  ask(sql: string, values?: readonly unknown[]): Promise<Row[]>
  /** Returns the Unix time in ms by the database's clock. */
  now(): Promise<number>
  /** Returns the ms until the time in the query's column `due`, by the database's clock, but at least 0. Undefined if `due` is null. */
  dueIn(sql: string, values?: readonly unknown[]): Promise<number | undefined>
  /** Returns the same database with another statement timeout, in ms. */
  withTimeout(ms: number): Database
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Replaces the database's clock in tests. */
  readonly now?: (() => number) | undefined
  /** Whether the process is a daemon. All sessions of a daemon have the same name, and the server must have enough free connections for them. */
  readonly daemon?: boolean | undefined
  /** The maximum number of connections in the pool. */
  readonly connections?: number | undefined
  readonly parts?: readonly StorePart[] | undefined
  readonly encode?: EncodeMessages | undefined
  readonly log?: Log | undefined
  /** The timeout in ms for a statement and for connecting. It is needed because a network may silently drop all packets. */
  readonly timeoutMs?: number | undefined
}

/** The statement timeout for commands, in ms. */
const defaultTimeoutMs = 60_000
/** The maximum wait for a new or idle connection, in ms. */
const connectTimeout = 5_000
/** The idle time in ms after which the server ends a transaction and releases its locks. */
const silentTransaction = 10_000

const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`
const nowOf = number('now')
const attempts = 8

/** Connects to the database and migrates it to this version's schema. Throws a StoreError that says how to fix the problem. */
export async function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs
  // The pool sets no startup options or session settings, because poolers such as PgBouncer reject the former and share the latter between clients.
  const pool = new pg.Pool({
    connectionString: url,
    max: options.connections ?? 8,
    connectionTimeoutMillis: Math.min(connectTimeout, timeoutMs),
    application_name: options.daemon === true ? daemonSessions() : 'pipespan',
    // Keepalive detects a dead idle connection before it is needed.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    query_timeout: timeoutMs,
    // Pipelined statements are sent at once, without waiting for earlier responses.
    pipeline: true,
    types: { getTypeParser: parserOf },
  })
  // An idle connection that breaks is replaced at its next use; an unhandled error event would end the process.
  pool.on('error', ignore)
  const shared = { pool, options, damaged: createDamagedRows(options.log) }
  const database = connect(shared, timeoutMs)
  try {
    await migrate(pool, options.parts ?? [])
    if (options.daemon === true) await checkConnectionRoom(pool, options.log)
  } catch (error) {
    await pool.end()
    if (error instanceof StoreError) throw error
    const schema = schemaFault(error)
    if (schema !== undefined) throw schema
    throw new StoreError(
      `The PostgreSQL store cannot be opened: ${silenceOf(error, timeoutMs) ?? reasonOf(error)}.`,
      'Check the host, the database, the user and its password in PIPESPAN_STORE_URL, and that the server is up.',
      { cause: error },
    )
  }
  return database
}

/** Returns the reason if no PostgreSQL server responds. Undefined if a server rejected the connection. */
function silenceOf(error: unknown, timeoutMs: number): string | undefined {
  const message = reasonOf(error)
  const quoted = `(${message})`
  if (/terminated unexpectedly|ECONNRESET/.test(message)) {
    return `the server closes the connection before a PostgreSQL handshake ${quoted}`
  }
  if (!message.includes('connection timeout')) return undefined
  return `no PostgreSQL server answered within ${Math.min(connectTimeout, timeoutMs) / 1000} s ${quoted}`
}

interface Shared {
  readonly pool: pg.Pool
  readonly options: DatabaseOptions
  readonly damaged: DamagedRows
}

function connect(shared: Shared, timeoutMs: number): Database {
  const { pool, options, damaged } = shared
  const { log, encode = sendsNothing } = options
  const query: Session['query'] = async (text, values = []) => {
    try {
      return (await pool.query<Row>(timed(text, timeoutMs), [...values])).rows
    } catch (error) {
      throw faultOf(error)
    }
  }
  const repeatedly = async <T>(once: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once()
      } catch (error) {
        if (attempt < attempts && isWorthAnotherTry(error)) continue
        throw error instanceof Again ? faultOf(error) : error
      }
    }
  }
  return {
    query,
    damaged,
    log,
    encode,
    transaction: async work => repeatedly(async () => once(shared, work, timeoutMs)),
    ask: async (sql, values = []) => repeatedly(async () => askOnce(shared, sql, values, timeoutMs)),
    now: async () => options.now?.() ?? nowOf((await query(`SELECT ${clock}`))[0] ?? {}),
    dueIn: async (sql, values) => {
      const [row] = await query(`SELECT due, ${clock} FROM (${sql}) AS next`, values)
      const due = row && optional(number, 'due')(row)
      return row && due !== undefined ? Math.max(0, due - (options.now?.() ?? nowOf(row))) : undefined
    },
    withTimeout: ms => connect(shared, ms),
    close: async () => pool.end(),
  }
}

/**
 * Runs a transaction of one statement in one round trip. A page runs dozens of statements, and each round trip costs both processes a context switch.
 * If the statement fails, the server turns the commit into a rollback.
 */
async function askOnce({ pool }: Shared, sql: string, values: readonly unknown[], timeoutMs: number): Promise<Row[]> {
  const client = await connection(pool)
  const sent = await Promise.allSettled([
    client.query(timed(beginning(timeoutMs), timeoutMs)),
    client.query<Row>(timed(sql, timeoutMs), [...values]),
    client.query(timed('COMMIT', timeoutMs)),
  ] as const)
  const [, answer] = sent
  const failures = sent.flatMap(one => (one.status === 'rejected' ? [one.reason as Error] : []))
  client.off('error', ignore)
  client.release(failures.find(error => !(error instanceof pg.DatabaseError)))
  const [first] = failures
  if (first !== undefined) throw faultOf(first)
  return answer.status === 'fulfilled' ? answer.value.rows : []
}

async function connection(pool: pg.Pool): Promise<pg.PoolClient> {
  const client = await pool.connect().catch((error: unknown) => {
    throw faultOf(error)
  })
  // If the connection breaks, the query fails anyway; an unhandled error event would end the process.
  client.on('error', ignore)
  return client
}

async function once<T>(
  { pool, options: { now: ownNow, log, encode = sendsNothing }, damaged }: Shared,
  work: (session: Session, now: number) => Promise<T>,
  timeoutMs: number,
): Promise<T> {
  const client = await connection(pool)
  let broken: Error | undefined
  const query: Session['query'] = async (text, values = []) => {
    try {
      return (await client.query<Row>(timed(text, timeoutMs), [...values])).rows
    } catch (error) {
      // The error does not come from the server, so the connection is unusable.
      if (!(error instanceof pg.DatabaseError)) broken = error as Error
      throw faultOf(error)
    }
  }
  try {
    const now = await begin(client, timeoutMs).catch((error: unknown) => {
      broken = error as Error
      throw faultOf(error)
    })
    const result = await work({ query, damaged, log, encode }, ownNow?.() ?? now)
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

/** Begins a transaction, sets the server's own timeouts and reads its clock, in one round trip. */
async function begin(client: pg.PoolClient, timeoutMs: number): Promise<number> {
  const text = `${beginning(timeoutMs)}; SELECT ${clock}`
  const results = (await client.query<Row>(timed(text, timeoutMs))) as unknown as pg.QueryResult<Row>[]
  return nowOf(results.at(-1)?.rows[0] ?? {})
}

function beginning(timeoutMs: number): string {
  return `BEGIN; SET LOCAL statement_timeout = ${timeoutMs};
    SET LOCAL idle_in_transaction_session_timeout = ${silentTransaction}`
}

/** Adds a timeout to a query. After the timeout the connection is closed, because a late response may still arrive on it. */
function timed(text: string, timeoutMs: number): pg.QueryConfig {
  return { text, query_timeout: timeoutMs } as pg.QueryConfig
}

/**
 * Parses bigint columns as numbers, because the driver returns them as strings. All bigints of this schema are counts, ids or times, and fit a
 * double.
 */
function parserOf(
  id: Parameters<typeof pg.types.getTypeParser>[0],
  format?: 'text' | 'binary',
): (value: string) => unknown {
  if (id === pg.types.builtins.INT8 || id === pg.types.builtins.NUMERIC) return Number
  return pg.types.getTypeParser(id, format) as (value: string) => unknown
}

function ignore(): void {
  // The error is ignored here, because the query that uses the connection fails as well.
}

function isWorthAnotherTry(error: unknown): boolean {
  if (error instanceof Again) return true
  const cause = error instanceof StoreError ? error.cause : undefined
  // PostgreSQL's codes for serialization_failure and deadlock_detected.
  return cause instanceof pg.DatabaseError && (cause.code === '40001' || cause.code === '40P01')
}

// Classifies errors of PostgreSQL and its driver: the cause is either the data or the store.

/**
 * Only errors of the classes 22 (data exception) and 23 (integrity constraint) are blamed on the data. Any other error may disappear when the
 * statement is retried.
 */
function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error
  if (error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? '')) {
    const what = `The PostgreSQL store cannot store this data: ${reasonOf(error)} (${error.code}).`
    return new DataError(what, 'Please report it.', { cause: error })
  }
  return (
    schemaFault(error) ??
    new StoreError(
      `A PostgreSQL operation failed: ${reasonOf(error)}.`,
      'Check that the server is up, reachable and has disk space; Pipespan retries automatically.',
      { cause: error },
    )
  )
}

/** Returns an error if the statement failed because the database has another version's schema. Undefined if it failed for another reason. */
function schemaFault(error: unknown): StoreError | undefined {
  if (!(error instanceof pg.DatabaseError) || !isOfTheSchema.postgres.test(error.code ?? '')) return undefined
  return otherSchema('The PostgreSQL store', error, 'a new database')
}
