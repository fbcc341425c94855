// Tombstones of pruned runs on PostgreSQL, many at a time.
import { columnsOf, unnest } from './arrays.ts'
import { insertTombstones, tombstoneOf, tombstoneValues, type StoredTombstone } from '../sql/tombstone-text.ts'
import { keyPlaces, keyValues } from '../sql/statements.ts'
import { placed } from './arrays.ts'
import type { RunKey } from '../../model/observation.ts'
import type { Session } from './database.ts'
import type { Tombstone } from '../../model/tombstone.ts'

const insertAll = insertTombstones(`SELECT * FROM ${unnest(['text', 'bigint', 'bigint', 'bigint', 'text'])}`)

export async function writeTombstones(session: Session, tombstones: readonly Tombstone[], now: number): Promise<void> {
  if (tombstones.length === 0) return
  await session.query(insertAll, columnsOf(tombstones.map(tombstone => tombstoneValues(tombstone, now))))
}

/** Deletes and returns them: their runs get rows again. */
export async function takeTombstones(session: Session, keys: readonly RunKey[]): Promise<StoredTombstone[]> {
  if (keys.length === 0) return []
  const sql = `DELETE FROM tombstones WHERE (instance, pipeline_id) IN ${keyPlaces(keys)} RETURNING *`
  return (await session.query(placed(sql), keyValues(keys))).map(tombstoneOf)
}
