// Rows of notes as documents, for both databases. A damaged one is passed over.
import { storedJson, type DamagedRows } from './stored-json.ts'
import type { Json } from '../ports/notes.ts'
import type { Row } from './rows.ts'

/** One document, from its row; undefined where there is none, or a damaged one. */
export function noteOf(damaged: DamagedRows, row: Row | undefined): Json | undefined {
  return row && damaged.orNothing({ note: row.name }, 'it is written anew', () => storedJson<Json>(row.value))
}

/** Documents by name, from their rows. */
export function notesOf(damaged: DamagedRows, rows: readonly Row[]): Map<string, Json> {
  return new Map(rows.map(row => [row.name as string, noteOf(damaged, row) ?? null]))
}
