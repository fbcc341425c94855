// Opens the store on PostgreSQL, for any number of replicas.
import { postgresStatements } from './statements.ts'
import type { Statements } from '../sql/statements.ts'
import { openDatabase, type DatabaseOptions, type Database } from './database.ts'
import { postgresOutbox } from './outbox.ts'
import { pruning } from '../sql/pruning.ts'
import { tables, type Catalog } from '../sql/tables.ts'
import { bringBack } from '../sql/too-far-ahead.ts'
import { operations } from '../sql/operations.ts'
import { readsOn } from '../read-models/reads.ts'
import { changeRuns } from '../sql/runs.ts'
import { runReads } from '../sql/run-reads.ts'
import { takeIn } from '../sql/take-in.ts'
import { number, optional, record, text, keyOf, type Row } from '../sql/columns.ts'
import type { Steps } from '../sql/steps.ts'
import type { Store, StoreOptions } from '../ports/store.ts'
import type { Runs } from '../ports/runs.ts'

// Measures how much of the PostgreSQL database is in use. Deletions leave free space in its files, but do not shrink them.

/** The number of rows sampled from each table. */
const sampleRows = 50
/** The estimated factor for the overhead of indexes, headers and half-empty pages. */
const overhead = 1.5
/** The size in bytes of an empty database. */
const emptyDatabase = 10 * 1024 * 1024

/**
 * Returns the bytes in use: the size of the database, or the space that its rows need if that is less. The latter is estimated from PostgreSQL's
 * statistics and a few rows of each table.
 */
async function usedBytes(db: Database): Promise<number> {
  return db.transaction(async session => {
    const [whole] = await session.query('SELECT pg_database_size(current_database()) AS bytes')
    const found = await session.query(`
      SELECT quote_ident(relname) AS name, n_live_tup AS rows,
             CASE WHEN EXISTS (SELECT FROM pg_attribute WHERE attrelid = relid AND attname = 'id') THEN 'ORDER BY id DESC' ELSE '' END AS latest
      FROM pg_stat_user_tables
      WHERE schemaname = current_schema() AND n_live_tup > 0 AND has_table_privilege(relid, 'SELECT')`)
    const tables = found.map(table)
    const columns = tables.map((one, at) => `(${meanWidth(one)}) AS width_${at}`)
    const [widths = {}] = tables.length === 0 ? [] : await session.query(`SELECT ${columns.join(', ')}`)
    const needed = tables.reduce((sum, { rows }, at) => sum + rows * (optional(number, `width_${at}`)(widths) ?? 0), 0)
    return Math.min(number('bytes')(whole ?? {}), emptyDatabase + needed * overhead)
  })
}

/** The SQL in `latest` makes PostgreSQL read the sampled rows through the index, so that it reads no deleted rows. */
const table = record({ name: text('name'), rows: number('rows'), latest: text('latest') })

/** The SQL that estimates the mean row size in bytes from a sample of rows. */
function meanWidth({ name, latest }: ReturnType<typeof table>): string {
  return `SELECT avg(pg_column_size(sample.*)) FROM (SELECT * FROM ${name} ${latest} LIMIT ${sampleRows}) AS sample`
}

type PostgresOptions = DatabaseOptions & Pick<StoreOptions, 'maxSize' | 'encode'>

const maintenanceTimeoutMs = 60_000

/** Opens the store. `url` is a connection URI whose parameters configure TLS. Throws a StoreError that says how to fix the problem. */
export async function openPostgres(url: string, options: PostgresOptions): Promise<Store> {
  const db = await openDatabase(url, options)
  // Maintenance gets a longer timeout, because it reads many rows in one statement.
  const maintenance = db.withTimeout(maintenanceTimeoutMs)
  const slow = postgresStatements(maintenance)
  const sql = postgresStatements(db)
  const shared = operations(sql, options)
  const outbox = postgresOutbox(db)
  return {
    ...shared,
    runsPerTransaction: 64,
    // Several groups run concurrently, so that a group that waits for a lock does not delay the others.
    groupsAtOnce: 4,
    runs: postgresRuns(db, sql),
    outbox,
    reads: readsOn(sql, outbox, shared.repositories, shared.parts),
    pruning: pruning(slow, {
      fullness: async () => (await usedBytes(maintenance)) / options.maxSize,
      // Autovacuum returns unused space to the file system, so nothing is done here.
      giveBack: async () => 0,
    }),
    tables: tables(slow, catalogOf(maintenance)),
    bringBack: async () => bringBack(slow, shared.parts),
    isFull: sizeReaches(options.maxSize, async () => usedBytes(db)),
    proveWritable: async () => {
      await db.query(
        `INSERT INTO key_value VALUES ('heartbeat', to_json(now())::text) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      )
    },
    // The leases of dead replicas simply expire, because no other replica can know that they are dead.
    reclaim: async () => undefined,
    close: async () => db.close(),
  }
}

/** How long a measured size is cached, in ms. It is short enough to stop a flood of deliveries in time. */
const measuredFor = 5_000

function sizeReaches(max: number, measure: () => Promise<number>): () => Promise<boolean> {
  let asked = -Infinity
  let bytes = 0
  return async () => {
    if (performance.now() - asked > measuredFor) {
      asked = performance.now()
      bytes = await measure()
    }
    return bytes >= max
  }
}

// The repository of runs on PostgreSQL. Each replica skips rows that another replica has locked (SKIP LOCKED).
function postgresRuns(db: Database, sql: Statements): Runs {
  return {
    takeIn: async taking => sql.transaction(within => takeIn(taking, undefined, within)),
    transact: async (work, beside = {}) => sql.transaction(within => changeRuns(work, beside, undefined, within)),
    takeDue: async (limit, leaseMs) => {
      const rows = await sql.transaction(function* ({ now }): Steps<readonly Row[]> {
        return yield [
          `UPDATE runs SET due_at = CAST(?1 AS bigint)
           WHERE id IN (SELECT id FROM runs WHERE due_at <= CAST(?2 AS bigint) ORDER BY due_at LIMIT ?3 FOR UPDATE SKIP LOCKED)
           RETURNING instance, pipeline_id`,
          [now + leaseMs, now, limit],
        ]
      })
      return rows.map(keyOf)
    },
    dueIn: async () => db.dueIn('SELECT min(due_at) AS due FROM runs WHERE due_at IS NOT NULL'),
    ...runReads(sql),
  }
}

/** Lists the tables of a PostgreSQL store, so that it can be copied. */
const catalogOf = (db: Database): Catalog => ({
  selectSchema: 'SELECT number FROM pipespan_store',
  selectTables: `
    SELECT c.relname AS name,
           (SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute
            WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns, k.key, k.ordered
    FROM pg_class c JOIN LATERAL (
      SELECT string_agg(a.attname, ',' ORDER BY array_position(i.indkey::int[], a.attnum::int)) AS key,
             string_agg(a.attname || CASE WHEN a.atttypid = 'text'::regtype THEN ' COLLATE "C"' ELSE '' END, ','
                        ORDER BY array_position(i.indkey::int[], a.attnum::int)) AS ordered
      FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
      WHERE i.indrelid = c.oid AND i.indisprimary) AS k ON k.key IS NOT NULL
    WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.oid`,
  finish: async () => {
    const serials = await db.query(
      `SELECT table_name AS name, column_name AS column FROM information_schema.columns
       WHERE table_schema = current_schema() AND column_default LIKE 'nextval(%'`,
    )
    for (const row of serials) {
      const { name, column } = serial(row)
      await db.query(
        `SELECT setval(pg_get_serial_sequence('${name}', '${column}'), greatest(max(${column}), 1), max(${column}) IS NOT NULL) FROM ${name}`,
      )
    }
  },
})

const serial = record({ name: text('name'), column: text('column') })
