// The only place that handles rows whose content cannot be read. Such a row loses only its own data: it is logged and counted once, and reads return the
// others. A damaged file is another matter (`sqlite/faults.ts`).
import { isOfTheData } from '../../../lib/fault.ts'
import type { Log } from '../../../lib/log.ts'
import type { Row } from './columns.ts'

export interface DamagedRows {
  /** How many were found since the start. */
  readonly count: number
  /**
   * What `decode` returns for a row of the table; undefined for no row, and for a damaged one. `key`: the row by whose columns the log names it. Errors
   * that are not about the data are thrown on.
   */
  row<T>(table: string, row: Row | undefined, decode: (row: Row) => T, key?: Row): T | undefined
  /** What `decode` returns for each row, without damaged rows and those for which it returns nothing. */
  rows<T>(table: string, rows: readonly Row[], decode: (row: Row) => T | undefined): T[]
}

/** The maximum that is logged, once each: a disk that fails everywhere fills neither the log nor the memory. */
const maxNamed = 10_000

export function createDamagedRows(log: Log | undefined): DamagedRows {
  const named = new Set<string>()
  function readOne<T>(table: string, row: Row | undefined, decode: (row: Row) => T, key = row): T | undefined {
    if (row === undefined) return undefined
    try {
      return decode(row)
    } catch (error) {
      if (!isOfTheData(error)) throw error
      const names = { table, ...namesOf(key ?? row) }
      const name = JSON.stringify(names)
      if (!named.has(name) && named.size < maxNamed) {
        named.add(name)
        log?.error(names, 'a row of the store is damaged')
      }
      return undefined
    }
  }
  return {
    get count() {
      return named.size
    },
    row: readOne,
    rows: (table, rows, decode) => rows.map(row => readOne(table, row, decode)).filter(one => one !== undefined),
  }
}

/** Columns that name a row, in one table or another: of these types. */
const keyNumbers = ['id', 'chunk_id', 'pipeline_id', 'project_id', 'project', 'step', 'bucket']
const keyTexts = ['name', 'instance', 'metric', 'series', 'job', 'section']

function namesOf(row: Row): Record<string, unknown> {
  const has = (column: string, type: string): boolean => typeof row[column] === type
  const columns = [
    ...keyNumbers.filter(column => has(column, 'number')),
    ...keyTexts.filter(column => has(column, 'string')),
  ]
  return Object.fromEntries(columns.map(column => [column, row[column]]))
}
