// Bare rows on SQLite, for copying a store.
import { momentary, type Cells, type Table, type Tables } from '../ports/tables.ts'
import { cell, number, text, type Row } from '../sql/columns.ts'
import type { Database } from './database.ts'

export function sqliteTables(db: Database): Tables {
  const cells = (names: readonly string[], row: Row): Cells => names.map(name => cell(name)(row))
  return {
    schema: async () => Number(db.prepare('PRAGMA user_version').get()?.user_version),
    list: async () =>
      db
        .prepare(
          `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid`,
        )
        .all()
        .map(nameOf)
        .filter(name => !momentary.includes(name))
        .map(name => tableOf(db, name)),
    count: async ({ name }) => rowCount(db.prepare(`SELECT count(*) AS rows FROM ${name}`).get() ?? {}),
    last: async ({ name, key }) => {
      const order = key.map(column => `${column} DESC`).join(', ')
      const row = db.prepare(`SELECT ${key.join(', ')} FROM ${name} ORDER BY ${order} LIMIT 1`).get()
      return row && cells(key, row)
    },
    read: async (table, after, limit) => {
      const key = table.key.join(', ')
      const where = after === undefined ? '' : `WHERE (${key}) > (${table.key.map(() => '?').join(', ')})`
      const sql = `SELECT ${table.columns.join(', ')} FROM ${table.name} ${where} ORDER BY ${key} LIMIT ?`
      return db
        .prepare(sql)
        .all(...(after ?? []), limit)
        .map(row => cells(table.columns, row))
    },
    write: async ({ name, columns }, rows) => {
      const values = columns.map(() => '?').join(', ')
      const insert = db.prepare(`INSERT OR IGNORE INTO ${name} (${columns.join(', ')}) VALUES (${values})`)
      db.transaction(() => rows.forEach(row => insert.run(...row)))
    },
    // New ids follow the greatest one by themselves.
    finish: async () => undefined,
  }
}

const nameOf = text('name')
const rowCount = number('rows')

function tableOf(db: Database, name: string): Table {
  const columns = db.prepare(`SELECT name, pk FROM pragma_table_info(?) ORDER BY cid`).all(name)
  const key = columns.filter(column => Number(column.pk) > 0).sort((a, b) => Number(a.pk) - Number(b.pk))
  return { name, key: key.map(nameOf), columns: columns.map(nameOf) }
}
