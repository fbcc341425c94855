// Reads the snapshots of stored runs, the newest first and a limited number of them, for figures that are not kept by day: by exact branch
// or runner. One text for both databases.
import { EarlierFailures, type Failures } from './earlier-failures.ts'
import { number, record, text, type Row } from '../sql/columns.ts'
import { isInScope } from '../ports/project-scope.ts'
import { places, type Value } from '../sql/statements.ts'
import { setImmediate as breathe } from 'node:timers/promises'
import { storedChunk, type DamagedRows } from '../sql/stored-json.ts'
import type { Reading, ScopedSql } from '../sql/reading.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'
import type { RetainedQuery } from '../ports/trends.ts'

/** UTF-16 units of the chunks that are read for one answer: a quarter of a second. */
const maxText = 24 * 1024 * 1024
/** How much is read before the event loop continues: some milliseconds. Runs may be large, so the first reads are small. */
const atOnce = { first: 20, runs: 100, text: 512 * 1024 }

/** `since` and `until` are about their creation. */
export interface RetainedRuns extends Pick<
  RetainedQuery,
  'since' | 'until' | 'group' | 'projectId' | 'ref' | 'source'
> {
  /** Runs that finished before are left out. */
  readonly finishedSince?: Millis | undefined
  /** The full paths that this project has had, if they are known: its runs are found by their index. */
  readonly paths?: readonly string[] | undefined
  /** How many are read at most. */
  readonly most: number
}

/** `failedBefore`: the failed jobs of this chunk and of earlier chunks of the same run. */
export type CountChunk = (chunk: Chunk, failedBefore: Failures) => void

export interface ReadRuns {
  /** How many were read. */
  readonly runs: number
  /** Set if there were too many: only those created since then were read. */
  readonly backTo?: Millis | undefined
}

const listed = record({ id: number('run_id'), createdAt: number('created_at'), project: text('project') })
const stored = record({ id: number('id'), run: number('run_id'), content: text('content') })
const runOf = number('run_id')

export async function readRetained(
  { ask, byRow, damaged }: Reading,
  query: RetainedRuns,
  count: CountChunk,
): Promise<ReadRuns> {
  const { group, most, paths } = query
  const found = await Promise.all((paths ?? [undefined]).map(async path => ask(...walk(query, path))))
  const newest = found.flat().map(listed)
  if (found.length > 1) newest.sort((a, b) => b.createdAt - a.createdAt)
  const walked = newest.slice(0, most)
  const runs = walked.filter(({ project }) => isInScope(project, group))
  let read = 0
  let characters = 0
  while (read < runs.length && characters < maxText) {
    const fitting = read === 0 ? atOnce.first : Math.floor((atOnce.text * read) / Math.max(1, characters))
    const ids = runs.slice(read, read + Math.min(atOnce.runs, Math.max(1, fitting))).map(({ id }) => id)
    const rows = await byRow(
      `SELECT id, run_id, content FROM chunks WHERE run_id IN (${places(ids)}) AND inside IS NULL ORDER BY run_id, id`,
      ids,
    )
    read += ids.length
    characters += rows.reduce((sum, row) => sum + String(row.content).length, 0)
    for (const [, its] of Map.groupBy(rows, runOf)) countRun(its, count, damaged)
    await breathe()
  }
  if (read < runs.length) return { runs: read, backTo: runs[read - 1]?.createdAt }
  return { runs: runs.length, backTo: newest.length > most ? walked.at(-1)?.createdAt : undefined }
}

/** The newest first, through the index of the path, of the ref, of the source, or of time. */
function walk(
  { since, until, finishedSince, projectId, ref, source, most }: RetainedRuns,
  path: string | undefined,
): [ScopedSql, Value[]] {
  const values: Value[] = [since, until]
  const also = [
    finishedSince === undefined
      ? undefined
      : `(finished_at IS NULL OR finished_at + 0 >= ?${values.push(finishedSince)})`,
    path === undefined ? undefined : `project = ?${values.push(path)}`,
    ref === undefined ? undefined : `ref = ?${values.push(ref)}`,
    ref === undefined && source !== undefined ? `source = ?${values.push(source)}` : undefined,
    // `+ 0` keeps the database from using an index of projects, and above one of finishes.
    projectId === undefined ? undefined : `project_id + 0 = ?${values.push(projectId)}`,
  ].filter(one => one !== undefined)
  return [
    `SELECT run_id, created_at, project FROM listed_runs WHERE created_at >= ?1 AND created_at < ?2 AND {visible}
       ${also.map(one => `AND ${one}`).join(' ')} ORDER BY created_at DESC, run_id DESC LIMIT ${most + 1}`,
    values,
  ]
}

/** The chunks of one run. */
function countRun(rows: readonly Row[], count: CountChunk, damaged: DamagedRows): void {
  const failures = new EarlierFailures()
  for (const row of rows) {
    const { id, run } = stored(row)
    const chunk = damaged.orNothing({ chunk: id }, 'it is not among the figures', () => storedChunk(row.content))
    if (chunk === undefined) continue
    failures.isMissing(run, chunk)
    failures.add(chunk)
    count(chunk, failures.upTo(chunk.attempt))
  }
}
