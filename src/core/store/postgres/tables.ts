// Bare rows on PostgreSQL, for copying a store.
import { momentary, type Cell, type Cells, type Table, type Tables } from '../ports/tables.ts'
import { cell, number, record, text, type Row } from '../sql/columns.ts'
import type { Database } from './database.ts'

/** PostgreSQL takes at most 65,535 parameters in one statement. */
const maxParameters = 30_000

export function postgresTables(db: Database): Tables {
  const cells = (names: readonly string[], row: Row): Cells => names.map(name => cell(name)(row))
  return {
    schema: async () => number('number')((await db.query('SELECT number FROM pipespan_store'))[0] ?? {}),
    list: async () => (await db.query(listing)).map(tableOf).filter(({ name }) => !momentary.includes(name)),
    count: async ({ name }) => number('rows')((await db.query(`SELECT count(*) AS rows FROM ${name}`))[0] ?? {}),
    last: async table => {
      const { name, key } = table
      const [row] = await db.query(
        `SELECT ${key.join(', ')} FROM ${name} ORDER BY ${await orderOf(db, table, 'DESC')} LIMIT 1`,
      )
      return row && cells(key, row)
    },
    read: async (table, after, limit) => {
      const { name, key, columns } = table
      const where =
        after === undefined
          ? ''
          : `WHERE (${await orderOf(db, table)}) > (${key.map((_, index) => `$${index + 2}`).join(', ')})`
      const sql = `SELECT ${columns.join(', ')} FROM ${name} ${where} ORDER BY ${await orderOf(db, table)} LIMIT $1`
      return (await db.query(sql, [limit, ...(after ?? [])])).map(row => cells(columns, row))
    },
    write: async ({ name, columns }, rows) => {
      const most = Math.floor(maxParameters / columns.length)
      await db.transaction(async session => {
        for (let from = 0; from < rows.length; from += most) {
          const some = rows.slice(from, from + most)
          const values = some.map(
            (_, row) => `(${columns.map((_, at) => `$${row * columns.length + at + 1}`).join(', ')})`,
          )
          await session.query(
            `INSERT INTO ${name} (${columns.join(', ')}) VALUES ${values.join(', ')} ON CONFLICT DO NOTHING`,
            some.flat().map(storable),
          )
        }
      })
    },
    finish: async () => {
      const serials = await db.query(
        `SELECT table_name AS name, column_name AS column FROM information_schema.columns
         WHERE table_schema = current_schema() AND column_default LIKE 'nextval(%'`,
      )
      for (const row of serials) {
        const { name, column } = serial(row)
        await db.query(
          `SELECT setval(pg_get_serial_sequence('${name}', '${column}'), greatest(max(${column}), 1), max(${column}) IS NOT NULL) FROM ${name}`,
        )
      }
    },
  }
}

const listing = `
  SELECT c.relname AS name,
         (SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute
          WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns,
         (SELECT string_agg(a.attname, ',' ORDER BY array_position(i.indkey::int[], a.attnum::int))
          FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
          WHERE i.indrelid = c.oid AND i.indisprimary) AS key
  FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.oid`

const serial = record({ name: text('name'), column: text('column') })

function tableOf(row: Row): Table {
  const names = (list: unknown): string[] => (typeof list === 'string' ? list.split(',') : [])
  return { name: text('name')(row), key: names(row.key), columns: names(row.columns) }
}

/** Texts in the order of their bytes, as on SQLite, whatever the locale of the database. */
async function orderOf(db: Database, { name, key }: Table, direction = ''): Promise<string> {
  const texts = await db.query(
    `SELECT column_name AS name FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name = $1 AND data_type = 'text'`,
    [name],
  )
  return key
    .map(column => `${column}${texts.some(text => text.name === column) ? ' COLLATE "C"' : ''} ${direction}`)
    .join(', ')
}

/** PostgreSQL refuses NUL in texts. */
function storable(cell: Cell): unknown {
  if (typeof cell === 'string') return cell.replaceAll('\u0000', '')
  return cell instanceof Uint8Array ? Buffer.from(cell) : cell
}
