// PostgreSQL's schema, as numbered steps. A released step is never edited. Many replicas may start at the same moment and run the steps safely. All
// locks and settings end with their transaction, so that migrations work through a transaction pooler (PgBouncer).
import { StoreError } from '../../../lib/fault.ts'
import { schemaOf, missingSteps, selectPartNumbers } from '../sql/schema.ts'
import { leaveOldSchema, refuseNewer } from '../sql/schema-faults.ts'
import type pg from 'pg'
import type { Dialect, StorePart } from '../ports/store-part.ts'
import type { Row } from '../sql/columns.ts'

const dialect: Dialect = {
  id: 'bigserial PRIMARY KEY',
  ownId: 'bigint PRIMARY KEY',
  bytes: 'bytea',
  byKey: '',
}
const tables = schemaOf(dialect)

export const postgresMigrations: readonly string[] = [
  // Step 1 of the schema: the tables that both databases have.
  `${tables}

  -- The idempotency keys of deliveries, which are kept for a week.
  CREATE TABLE delivery_keys (
    key     text PRIMARY KEY,
    seen_at bigint NOT NULL
  );
  CREATE INDEX delivery_keys_by_age ON delivery_keys (seen_at);
  `,
]

/** The key of the migration lock: an arbitrary number that is the same in every version. */
const migrationLock = 7_462_736_101
/**
 * The timeout of a migration step, in ms. It is long because of large tables, and because a replica waits while another replica migrates the
 * database.
 */
const timeoutMs = 24 * 3_600_000

/** The version tables of pre-releases. A database created by a pre-release contains one of these tables. */
const ofOldSchemas = ['pipespan_schema', 'pipespan_version']

/**
 * Runs each missing step in a transaction under the migration lock. Throws StoreError if the schema of the database is more than one version ahead.
 * `steps` replaces the steps in tests.
 */
export async function migrate(pool: pg.Pool, parts: readonly StorePart[], steps = postgresMigrations): Promise<void> {
  while ((await migrateOnce(pool, steps, parts)) === 'more');
}

async function migrateOnce(
  pool: pg.Pool,
  steps: readonly string[],
  parts: readonly StorePart[],
): Promise<'more' | 'done'> {
  const client = await pool.connect()
  const ignore = (): void => undefined
  client.on('error', ignore)
  const query = async (text: string, values: unknown[] = []): Promise<Row[]> =>
    (await client.query<Row>({ text, query_timeout: timeoutMs } as pg.QueryConfig, values)).rows
  let broken: Error | undefined
  try {
    await query('BEGIN')
    await query('SET LOCAL statement_timeout = 0')
    await query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
    if (
      (await query('SELECT FROM unnest($1::text[]) AS old WHERE to_regclass(old) IS NOT NULL', [ofOldSchemas])).length >
      0
    ) {
      throw new StoreError(
        'The PostgreSQL store has a pre-release schema that this version cannot read.',
        leaveOldSchema('a new database'),
      )
    }
    await query('CREATE TABLE IF NOT EXISTS pipespan_store (number integer NOT NULL)')
    const [row] = await query('SELECT number AS version FROM pipespan_store')
    const version = Number(row?.version ?? 0)
    const newest = steps.length
    refuseNewer('The PostgreSQL store', version, newest)
    if (version < newest) {
      await query(steps[version] ?? '')
      await query('DELETE FROM pipespan_store')
      await query('INSERT INTO pipespan_store VALUES ($1)', [version + 1])
    }
    // The schemas of features are applied last, because they build on the store's complete schema.
    if (version + 1 >= newest)
      for (const part of missingSteps(await query(selectPartNumbers), parts, dialect)) {
        for (const step of part.steps) await query(step)
        const values = [part.name, part.number]
        await query(
          'INSERT INTO schema_parts VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET number = excluded.number',
          values,
        )
      }
    await query('COMMIT')
    return version + 1 < newest ? 'more' : 'done'
  } catch (error) {
    // Dropping the connection ends the transaction and releases the lock.
    broken = error as Error
    throw error
  } finally {
    client.off('error', ignore)
    client.release(broken)
  }
}
