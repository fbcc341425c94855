// What is remembered of pruned runs, on SQLite.
import { readTombstone, tombstoneText } from '../sql/tombstone-text.ts'
import type { Database, Row } from './database.ts'
import type { RunKey } from '../../model/observation.ts'
import type { Tombstone } from '../../model/tombstone.ts'

export interface Memory extends Tombstone {
  readonly prunedAt: number
}

export function writeMemory(db: Database, tombstone: Tombstone, now: number): void {
  const { key, projectId } = tombstone
  db.prepare('INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?)').run(
    ...[key.instance, key.pipelineId, projectId, now, tombstoneText(tombstone)],
  )
}

export function readMemory(db: Database, key: RunKey): Memory | undefined {
  const sql = 'SELECT * FROM tombstones WHERE instance = ? AND pipeline_id = ?'
  return memoryOf(key, db.prepare(sql).get(key.instance, key.pipelineId))
}

/** Removes it: the run has a row again. */
export function takeMemory(db: Database, key: RunKey): Memory | undefined {
  const sql = 'DELETE FROM tombstones WHERE instance = ? AND pipeline_id = ? RETURNING *'
  return memoryOf(key, db.prepare(sql).get(key.instance, key.pipelineId))
}

function memoryOf(key: RunKey, row: Row | undefined): Memory | undefined {
  if (row === undefined) return undefined
  const tombstone = readTombstone(key, row.project_id as number, row.memory as string)
  return { ...tombstone, prunedAt: row.pruned_at as number }
}
