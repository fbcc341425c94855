// What is remembered of pruned runs, on PostgreSQL.
import { keyOf } from '../sql/run-rows.ts'
import { readTombstone, tombstoneText } from '../sql/tombstone-text.ts'
import type { Row, Session } from './database.ts'
import type { RunKey } from '../../model/observation.ts'
import type { Tombstone } from '../../model/tombstone.ts'

export interface Memory extends Tombstone {
  readonly prunedAt: number
}

export async function writeMemories(session: Session, tombstones: readonly Tombstone[], now: number): Promise<void> {
  await session.query(
    `INSERT INTO tombstones (instance, pipeline_id, project_id, pruned_at, memory)
     SELECT i, p, j, $4::bigint, m FROM unnest($1::text[], $2::bigint[], $3::bigint[], $5::text[]) AS t (i, p, j, m)
     ON CONFLICT (instance, pipeline_id) DO UPDATE SET pruned_at = excluded.pruned_at, memory = excluded.memory`,
    [
      tombstones.map(({ key }) => key.instance),
      tombstones.map(({ key }) => key.pipelineId),
      tombstones.map(({ projectId }) => projectId),
      now,
      tombstones.map(tombstoneText),
    ],
  )
}

/** What is answered reads it, and throws DataError where it is damaged. */
export async function readMemory(session: Session, key: RunKey): Promise<(() => Memory) | undefined> {
  const sql = 'SELECT * FROM tombstones WHERE instance = $1 AND pipeline_id = $2'
  const [row] = await session.query(sql, [key.instance, key.pipelineId])
  return row && (() => memoryOf(row))
}

/** Removes them: their runs have rows again. */
export async function takeMemories(session: Session, keys: readonly RunKey[]): Promise<Memory[]> {
  if (keys.length === 0) return []
  const rows = await session.query(
    `DELETE FROM tombstones t USING unnest($1::text[], $2::bigint[]) AS k (instance, pipeline_id)
     WHERE t.instance = k.instance AND t.pipeline_id = k.pipeline_id RETURNING t.*`,
    [keys.map(key => key.instance), keys.map(key => key.pipelineId)],
  )
  return rows.map(memoryOf)
}

function memoryOf(row: Row): Memory {
  const tombstone = readTombstone(keyOf(row), row.project_id as number, row.memory as string)
  return { ...tombstone, prunedAt: row.pruned_at as number }
}
