// Reads and writes the store as plain rows, to copy it into another store. The tables to copy are taken from the database's catalog; only the tables
// that are not copied are named here.
import { cell, number, record, text, type Cell, type Row } from './columns.ts'
import type { Statements } from './statements.ts'

export type Cells = readonly Cell[]

export interface Table {
  readonly name: string
  /** The columns of the primary key. */
  readonly key: readonly string[]
  readonly columns: readonly string[]
}

/** The catalog queries, which differ between the databases. */
export interface Catalog {
  /** The query for the schema number, in the column `number`. */
  readonly selectSchema: string
  /**
   * The query for all tables in order of creation. It yields the `name` of each table; its `columns`, its primary `key`, and `ordered` are
   * comma-separated lists. `ordered` is the key for sorting, in which text columns are compared byte by byte.
   */
  readonly selectTables: string
  /** Advances the id sequences past the ids of the rows that were written. */
  readonly finish: () => Promise<void>
}

export type Tables = ReturnType<typeof tables>

/** Tables that are not copied: leases, process state, and schema numbers. */
const notCopied: readonly string[] = ['leases', 'heartbeat', 'pipespan_store', 'schema_parts']
/** The maximum number of parameters in one statement. SQLite accepts at most 32,766, PostgreSQL 65,535. */
const maxParameters = 30_000

export function tables(sql: Statements, { selectSchema, selectTables, finish }: Catalog) {
  const listed = async (): Promise<(Table & { readonly ordered: readonly string[] })[]> =>
    (await sql.all(selectTables)).map(tableOf).filter(({ name }) => !notCopied.includes(name))
  /** Returns the sort order of a table in this store. The table description may come from another store. */
  const orderOf = async ({ name }: Table): Promise<readonly string[]> =>
    (await listed()).find(one => one.name === name)?.ordered ?? []
  const cells = (names: readonly string[], row: Row): Cells => names.map(name => cell(name)(row))
  return {
    schema: async (): Promise<number> => number('number')((await sql.all(selectSchema))[0] ?? {}),
    /** Returns the tables in order of creation, so that rows are copied after the rows that they refer to. */
    list: async (): Promise<readonly Table[]> => listed(),
    count: async ({ name }: Table): Promise<number> =>
      number('rows')((await sql.all(`SELECT count(*) AS rows FROM ${name}`))[0] ?? {}),
    /** Returns the greatest primary key of a table. Undefined for an empty table. */
    last: async (table: Table): Promise<Cells | undefined> => {
      const order = (await orderOf(table)).map(column => `${column} DESC`)
      const [row] = await sql.all(
        `SELECT ${table.key.join(', ')} FROM ${table.name} ORDER BY ${order.join(', ')} LIMIT 1`,
      )
      return row && cells(table.key, row)
    },
    /** Returns the rows after the key `after`, in key order. Text columns are compared byte by byte. */
    read: async (table: Table, after: Cells | undefined, limit: number): Promise<readonly Cells[]> => {
      const order = (await orderOf(table)).join(', ')
      const where = after === undefined ? '' : `WHERE (${order}) > (${after.map((_, at) => `?${at + 2}`).join(', ')})`
      const rows = await sql.all(
        `SELECT ${table.columns.join(', ')} FROM ${table.name} ${where} ORDER BY ${order} LIMIT ?1`,
        [limit, ...(after ?? [])],
      )
      return rows.map(row => cells(table.columns, row))
    },
    /** Writes rows in one transaction. A row whose key already exists is skipped. */
    write: async ({ name, columns }: Table, rows: readonly Cells[]): Promise<void> =>
      sql.transaction(function* () {
        const max = Math.floor(maxParameters / columns.length)
        for (let from = 0; from < rows.length; from += max) {
          const some = rows.slice(from, from + max)
          const placesOf = (row: number): string =>
            columns.map((_, at) => `?${row * columns.length + at + 1}`).join(', ')
          yield [
            `INSERT INTO ${name} (${columns.join(', ')}) VALUES ${some.map((_, row) => `(${placesOf(row)})`).join(', ')}
             ON CONFLICT DO NOTHING`,
            // Removes NUL characters, because PostgreSQL rejects them.
            some.flat().map(one => (typeof one === 'string' ? one.replaceAll('\u0000', '') : one)),
          ]
        }
      }),
    /** Advances the id sequences past the copied ids. Must be called at the end of a copy. */
    finish,
  }
}

const listing = record({ name: text('name'), key: text('key'), columns: text('columns'), ordered: text('ordered') })

function tableOf(row: Row): Table & { readonly ordered: readonly string[] } {
  const { name, key, columns, ordered } = listing(row)
  return { name, key: key.split(','), columns: columns.split(','), ordered: ordered.split(',') }
}
