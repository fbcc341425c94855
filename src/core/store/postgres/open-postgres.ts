// The store on PostgreSQL, for any number of replicas.
import { usedBytes } from './size.ts'
import { postgresStatements } from './statements.ts'
import { openDatabase, type DatabaseOptions } from './database.ts'
import { postgresOutbox } from './outbox.ts'
import { pruneRuns, pruneStatements } from '../sql/pruning.ts'
import { postgresRuns } from './runs.ts'
import { postgresTables } from './tables.ts'
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
  const shared = operations(sql, options)
  const outbox = postgresOutbox(db)
  return {
    ...shared,
    runsPerTransaction: 64,
    // So that one that waits for a lock does not hold up the others.
    groupsAtOnce: 4,
    runs: postgresRuns(db),
    outbox,
    reads: readsOn(sql, outbox, shared.repositories),
    pruning: {
      ...pruneStatements(pruning),
      runs: async (before, limit, from) => pruning.transaction(within => pruneRuns(before, limit, from, within)),
      fullness: async () => (await usedBytes(maintenance)) / options.maxSize,
      // Autovacuum gives space back.
      giveBack: async () => 0,
    },
    tables: postgresTables(maintenance),
    isFull: sizeReaches(options.maxSize, async () => usedBytes(db)),
    clockWasAhead: async () => db.wasAhead(),
    proveWritable: async () => {
      await db.query(
        `INSERT INTO key_value VALUES ('heartbeat', to_json(now())::text) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      )
    },
    // Leases of dead replicas expire: no other replica can know that they are dead.
    reclaim: async () => undefined,
    close: async () => db.close(),
  }
}

/** How long a measured size is believed, ms: often enough to stop a flood in time. */
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
