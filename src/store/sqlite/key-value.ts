// Repositories, leases and counters on SQLite.
import type { Database } from './database.ts'
import { leasesAndCounters } from '../sql/leases.ts'
import { repositories } from '../sql/repositories.ts'
import { sqliteStatements } from './statements.ts'
import { deleteValue, keyValueReads, selectValue, valueOf, writeValue, type KeyValue } from '../sql/key-value.ts'
import type { Store } from '../ports/store.ts'

export function sqliteRepositories(db: Database): Pick<Store, 'repositories' | 'leases' | 'counters'> {
  const keyValue = sqliteKeyValue(db)
  return {
    repositories: repositories(keyValue, db.damaged),
    ...leasesAndCounters(sqliteStatements(db)),
  }
}

function sqliteKeyValue(db: Database): KeyValue {
  return {
    ...keyValueReads(sqliteStatements(db)),
    change: async (name, change) =>
      db.transaction(() => {
        const row = db.prepare(selectValue).get(name)
        const { value, result } = change(row && valueOf(row), db.now())
        if (value === undefined) db.prepare(deleteValue).run(name)
        else db.prepare(writeValue).run(name, value)
        return result
      }),
  }
}
