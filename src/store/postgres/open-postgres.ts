// The store on PostgreSQL, for any number of replicas.
import { usedBytes } from './size.ts'
import { postgresStatements } from './statements.ts'
import { openDatabase, type DatabaseOptions } from './database.ts'
import { postgresOutbox } from './outbox.ts'
import { postgresInbox } from './inbox.ts'
import { pruneRuns, pruneStatements } from '../sql/pruning.ts'
import { postgresRuns } from './runs.ts'
import { postgresTables } from './tables.ts'
import { postgresUnderWay } from './under-way.ts'
import { postgresTrendTaking } from './trend-taking.ts'
import { operations } from '../sql/operations.ts'
import { readsOn } from '../read-models/reads.ts'
import type { Store, StoreOptions } from '../ports/store.ts'

type PostgresOptions = DatabaseOptions & Pick<StoreOptions, 'maxSize' | 'testMemory'>

const maintenancePatience = 60_000

/** `url`: a connection URI; its parameters decide on TLS. Throws StoreError with a remedy. */
export async function openPostgres(url: string, options: PostgresOptions): Promise<Store> {
  const db = await openDatabase(url, options)
  // Maintenance reads many rows in one statement.
  const maintenance = db.withPatience(maintenancePatience)
  const pruning = postgresStatements(maintenance)
  const sql = postgresStatements(db)
  const shared = operations(sql, options, postgresTrendTaking(maintenance))
  const outbox = postgresOutbox(db)
  return {
    ...shared,
    runsPerTransaction: 64,
    inbox: postgresInbox(db, options.maxSize),
    runs: postgresRuns(db),
    outbox,
    reads: readsOn(sql, outbox, shared.repositories),
    pruning: {
      ...pruneStatements(pruning),
      runs: async (before, limit, from) =>
        pruning.transaction(within => pruneRuns(before, limit, from, undefined, within)),
      fullness: async () => (await usedBytes(maintenance)) / options.maxSize,
      // Autovacuum gives space back.
      giveBack: async () => 0,
    },
    tables: postgresTables(maintenance),
    underWay: postgresUnderWay(db),
    clockWasAhead: async () => db.wasAhead(),
    proveWritable: async () => {
      await db.query(
        `INSERT INTO key_value VALUES ('heartbeat', to_json(now())::text) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      )
    },
    // Leases of dead replicas expire: no other replica can know that they are dead.
    reclaim: async () => undefined,
    intoTables: async () => undefined,
    close: async () => db.close(),
  }
}
