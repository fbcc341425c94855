// Encodes tombstones as JSON, with jobs as short arrays, because there are many tombstones and they are kept for more than a year.
import { number, text as textColumn, type Row, keyOf } from './columns.ts'
import type { DamagedRows } from './damaged-rows.ts'
import { forRows, type StepValue } from './steps.ts'
import { revive } from '../../../model/tombstone.ts'
import { storedJson } from './stored-json.ts'
import type { Attempt } from '../../../model/run.ts'
import type { StoredRun } from '../ports/runs.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { RememberedJob, Tombstone } from '../../../model/tombstone.ts'

export const selectTombstone = 'SELECT * FROM tombstones WHERE instance = ?1 AND pipeline_id = ?2'

export const insertTombstones = forRows(
  ['text', 'bigint', 'bigint', 'bigint', 'json'],
  ({ rows }) => `
  INSERT INTO tombstones (instance, pipeline_id, project_id, pruned_at, memory) ${rows}
  ON CONFLICT (instance, pipeline_id) DO UPDATE SET pruned_at = excluded.pruned_at, memory = excluded.memory`,
)
/** Deletes and returns the tombstones of pruned runs that are being restored. Each input row is the key of a run. */
export const takeTombstones = forRows(
  ['text', 'bigint'],
  ({ among }) => `DELETE FROM tombstones WHERE ${among('instance', 'pipeline_id')} RETURNING *`,
)

export function tombstoneValues(tombstone: Tombstone, now: number): StepValue[] {
  const { key, projectId } = tombstone
  return [key.instance, key.pipelineId, projectId, now, tombstoneText(tombstone)]
}

/** Restores the run from its tombstone. Undefined if the tombstone is damaged. */
export function revivedRun(damaged: DamagedRows, tombstone: Row | undefined): StoredRun | undefined {
  return damaged.row('tombstones', tombstone, row => ({
    run: revive(readTombstone(keyOf(row), projectId(row), memory(row))),
    timing: { changedAt: prunedAt(row) },
    firstSeenBy: {},
  }))
}

const projectId = number('project_id')
const prunedAt = number('pruned_at')
const memory = textColumn('memory')

/** A time in seconds after the finish of the first attempt. */
type Since = number | null
type JobRow = readonly [
  stepFromIdBefore: number,
  isBridge: 0 | 1,
  attempt: number,
  spans: number,
  /** The index of the job's status in the list `s`. */
  status: number,
  started: Since,
  finished: Since,
]

interface Written {
  /** The version of this JSON shape. */
  readonly v: 1
  readonly a: readonly Attempt[]
  readonly s: readonly string[]
  /** The Unix time in seconds that the job times are relative to. */
  readonly t: number
  readonly j: readonly JobRow[]
}

/** Encodes a tombstone. Job times are truncated to seconds, because they are only compared at that precision. */
export function tombstoneText({ attempts, jobs }: Tombstone): string {
  const statuses = [...new Set(jobs.map(({ status }) => status))]
  const from = Math.floor((attempts[0]?.finish ?? 0) / 1000)
  const since = (at: number | undefined): Since => (at === undefined ? null : Math.floor(at / 1000) - from)
  let before = 0
  const rows = jobs
    .toSorted((a, b) => a.id - b.id)
    .map(({ id, kind, attempt, spans, status, startedAt, finishedAt }): JobRow => {
      const step = id - before
      before = id
      const isBridge = kind === 'bridge' ? 1 : 0
      return [step, isBridge, attempt, spans, statuses.indexOf(status), since(startedAt), since(finishedAt)]
    })
  return JSON.stringify({ v: 1, a: attempts, s: statuses, t: from, j: rows } satisfies Written)
}

export function readTombstone(key: RunKey, projectId: number, text: string): Tombstone {
  const { a: attempts, s: statuses, t: from, j: rows } = storedJson<Written>(text)
  const at = (since: Since): number | undefined => (since === null ? undefined : (from + since) * 1000)
  let id = 0
  const jobs = rows.map(([step, isBridge, attempt, spans, status, started, finished]): RememberedJob => {
    id += step
    return {
      id,
      kind: isBridge === 1 ? 'bridge' : 'job',
      status: statuses[status] ?? '',
      attempt,
      spans,
      startedAt: at(started),
      finishedAt: at(finished),
    }
  })
  return { key, projectId, attempts, jobs }
}
