// Texts by name for the repositories, leases and counters on SQLite.
import type { Database } from './database.ts'
import { leasesAndCounters } from '../sql/leases.ts'
import { repositories } from '../sql/repositories.ts'
import { sqliteStatements } from './statements.ts'
import type { KeyValue } from '../sql/key-value.ts'
import type { Store } from '../ports/store.ts'

export function sqliteRepositories(db: Database): Pick<Store, 'repositories' | 'leases' | 'counters'> {
  const keyValue = sqliteKeyValue(db)
  return {
    repositories: repositories(keyValue, db.damaged),
    ...leasesAndCounters(sqliteStatements(db)),
  }
}

function sqliteKeyValue(db: Database): KeyValue {
  const read = (name: string): string | undefined =>
    db.prepare('SELECT value FROM key_value WHERE name = ?').get(name)?.value as string | undefined
  return {
    read: async name => read(name),
    change: async (name, change) =>
      db.transaction(() => {
        const { value, result } = change(read(name), db.now())
        if (value === undefined) db.prepare('DELETE FROM key_value WHERE name = ?').run(name)
        else db.prepare('INSERT OR REPLACE INTO key_value VALUES (?, ?)').run(name, value)
        return result
      }),
    list: async prefix =>
      db
        .prepare('SELECT name, value FROM key_value WHERE substr(name, 1, ?) = ? ORDER BY name')
        .all(prefix.length, prefix)
        .map(row => ({ name: row.name as string, value: row.value as string })),
    now: async () => db.now(),
  }
}
