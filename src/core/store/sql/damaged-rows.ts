// The only place that handles rows whose content cannot be decoded. A damaged row is logged and counted once, and reads return the other rows. Damage
// to the database file is handled elsewhere (`sqlite/faults.ts`).
import { isOfTheData } from '../../../lib/fault.ts'
import type { Log } from '../../../lib/log.ts'
import type { Row } from './columns.ts'

export interface DamagedRows {
  /** How many damaged rows have been found since the start. */
  readonly count: number
  /**
   * Returns the result of `decode` for a row of the table. Undefined if the row is missing or damaged. The log identifies the row by the columns of
   * `key`. Errors that are not caused by the data are rethrown.
   */
  row<T>(table: string, row: Row | undefined, decode: (row: Row) => T, key?: Row): T | undefined
  /** Returns the results of `decode` for all rows, except damaged rows and undefined results. */
  rows<T>(table: string, rows: readonly Row[], decode: (row: Row) => T | undefined): T[]
}

/** The maximum number of damaged rows to log, each once, so that a failing disk fills neither the log nor the memory. */
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

/** The numeric columns that are part of a key in at least one table. */
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
