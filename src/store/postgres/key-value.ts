// Repositories, leases and counters on PostgreSQL.
import type { Database } from './database.ts'
import { leasesAndCounters } from '../sql/leases.ts'
import { repositories } from '../sql/repositories.ts'
import { placed } from './arrays.ts'
import { postgresStatements } from './statements.ts'
import { deleteValue, keyValueReads, selectValue, valueOf, writeValue, type KeyValue } from '../sql/key-value.ts'
import type { Store } from '../ports/store.ts'

export function postgresRepositories(db: Database): Pick<Store, 'repositories' | 'leases' | 'counters'> {
  const keyValue = postgresKeyValue(db)
  return {
    repositories: repositories(keyValue, db.damaged),
    ...leasesAndCounters(postgresStatements(db)),
  }
}

function postgresKeyValue(db: Database): KeyValue {
  return {
    ...keyValueReads(postgresStatements(db)),
    change: async (name, change) =>
      db.transaction(async (session, now) => {
        // A document that does not exist yet has no row to lock, so its name is locked.
        await session.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name])
        const [row] = await session.query(placed(selectValue), [name])
        const { value, result } = change(row && valueOf(row), now)
        if (value === undefined) await session.query(placed(deleteValue), [name])
        else await session.query(placed(writeValue), [name, value])
        return result
      }),
  }
}
