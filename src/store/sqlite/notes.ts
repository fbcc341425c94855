// Notes, leases and counters on SQLite.
import type { Database } from './database.ts'
import { noteOf, notesOf } from '../sql/note-rows.ts'
import type { Json } from '../ports/notes.ts'
import type { Store } from '../ports/store.ts'

export function sqliteNotes(db: Database): Pick<Store, 'notes' | 'leases' | 'counters'> {
  return {
    notes: {
      read: async name => read(db, name),
      readAt: async name => ({ value: read(db, name), now: db.now() }),
      change: async (name, change) =>
        db.transaction(() => {
          const { value, result } = change(read(db, name), db.now())
          if (value === undefined) db.prepare('DELETE FROM key_value WHERE name = ?').run(name)
          else db.prepare('INSERT OR REPLACE INTO key_value VALUES (?, ?)').run(name, JSON.stringify(value))
          return result
        }),
      list: async prefix =>
        notesOf(
          db.damaged,
          db
            .prepare('SELECT name, value FROM key_value WHERE substr(name, 1, ?) = ? ORDER BY name')
            .all(prefix.length, prefix),
        ),
    },
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

function read(db: Database, name: string): Json | undefined {
  return noteOf(db.damaged, db.prepare('SELECT name, value FROM key_value WHERE name = ?').get(name))
}
