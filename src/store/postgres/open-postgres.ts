// The store on PostgreSQL, for any number of replicas.
import { broughtBack } from '../sql/too-far-ahead.ts'
import { placed } from './arrays.ts'
import { postgresStatements } from './statements.ts'
import { openDatabase, type DatabaseOptions } from './database.ts'
import { enrichmentQueue } from '../sql/enrichment-queue.ts'
import { postgresOutbox } from './outbox.ts'
import { postgresInbox } from './inbox.ts'
import { jobReads } from '../sql/job-reads.ts'
import { postgresRepositories } from './key-value.ts'
import { postgresPruning } from './pruning.ts'
import { totals } from '../sql/totals.ts'
import { postgresRuns } from './runs.ts'
import { postgresTables } from './tables.ts'
import { changes } from '../sql/changes.ts'
import { deployments } from '../sql/deployments.ts'
import { incidents } from '../sql/incidents.ts'
import { testMemory } from '../sql/test-memory.ts'
import { postgresUnderWay } from './under-way.ts'
import { postgresTrendTaking } from './trend-taking.ts'
import { latestOn } from '../read-models/latest-sql.ts'
import { views } from '../read-models/views.ts'
import type { Store } from '../ports/store.ts'

export interface PostgresOptions extends DatabaseOptions {
  /** At this size, in bytes, the store refuses deliveries. */
  readonly maxSize: number
  /** Bytes of test results of one project. */
  readonly testMemory?: number | undefined
}

const maintenancePatience = 60_000

/** `url`: a connection URI; its parameters decide on TLS. Throws StoreError with a remedy. */
export async function openPostgres(url: string, options: PostgresOptions): Promise<Store> {
  const db = await openDatabase(url, options)
  // Maintenance reads many rows in one statement.
  const maintenance = db.withPatience(maintenancePatience)
  const sql = postgresStatements(db)
  return {
    runsPerTransaction: 64,
    inbox: postgresInbox(db, options.maxSize),
    runs: postgresRuns(db),
    outbox: postgresOutbox(db),
    enrichment: enrichmentQueue(sql),
    jobReads: jobReads(sql),
    ...postgresRepositories(db),
    pruning: postgresPruning(maintenance, options.maxSize),
    tables: postgresTables(maintenance),
    totals: totals(sql),
    deployments: deployments(sql),
    changes: changes(sql),
    incidents: incidents(sql),
    tests: testMemory(sql, options.testMemory),
    damaged: db.damaged,
    views: views(sql, postgresTrendTaking(maintenance)),
    latest: latestOn(sql),
    underWay: postgresUnderWay(db),
    now: async () => db.now(),
    clockWasAhead: async () => db.wasAhead(),
    bringBack: async () =>
      db.transaction(async (session, now) => {
        let rows = 0
        for (const sql of broughtBack) rows += (await session.query(`${placed(sql)} RETURNING 1`, [now])).length
        return rows
      }),
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
