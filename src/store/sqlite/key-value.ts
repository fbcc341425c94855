// Texts by name for the repositories, leases and counters on SQLite.
import type { Database } from './database.ts'
import { repositories } from '../sql/repositories.ts'
import type { KeyValue } from '../sql/key-value.ts'
import type { Store } from '../ports/store.ts'

export function sqliteRepositories(db: Database): Pick<Store, 'repositories' | 'leases' | 'counters'> {
  const keyValue = sqliteKeyValue(db)
  return {
    repositories: repositories(keyValue, db.damaged),
    leases: {
      take: async (name, holder, ms) => {
        const now = db.now()
        const sql = `INSERT INTO leases VALUES (?1, ?2, ?3)
                     ON CONFLICT (name) DO UPDATE SET holder = ?2, until = ?3 WHERE holder = ?2 OR until <= ?4`
        return db.transaction(() => db.prepare(sql).run(name, holder, now + ms, now).changes) === 1
      },
      release: async (name, holder) => {
        db.transaction(() => db.prepare('DELETE FROM leases WHERE name = ? AND holder = ?').run(name, holder))
      },
    },
    counters: {
      add: async (name, by) => {
        const sql = 'INSERT INTO counters VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = value + ?2'
        db.transaction(() => db.prepare(sql).run(name, by))
      },
      all: async () =>
        new Map(
          db
            .prepare('SELECT name, value FROM counters ORDER BY name')
            .all()
            .map(row => [row.name as string, row.value as number]),
        ),
    },
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
