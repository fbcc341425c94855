// Tombstones of pruned runs on SQLite.
import { insertTombstones, tombstoneOf, tombstoneValues, type StoredTombstone } from '../sql/tombstone-text.ts'
import type { Database } from './database.ts'
import type { RunKey } from '../../model/observation.ts'
import type { Tombstone } from '../../model/tombstone.ts'

const insertTombstone = insertTombstones('VALUES (?, ?, ?, ?, ?)')

export function writeTombstone(db: Database, tombstone: Tombstone, now: number): void {
  db.prepare(insertTombstone).run(...tombstoneValues(tombstone, now))
}

/** Deletes and returns it: the run gets a row again. */
export function takeTombstone(db: Database, key: RunKey): StoredTombstone | undefined {
  const sql = 'DELETE FROM tombstones WHERE instance = ? AND pipeline_id = ? RETURNING *'
  const row = db.prepare(sql).get(key.instance, key.pipelineId)
  return row && tombstoneOf(row)
}
