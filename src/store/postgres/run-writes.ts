// Writes runs within a transaction on PostgreSQL: one statement for each kind of row.
import { chunkText } from '../sql/chunk-text.ts'
import { Again, type Session } from './database.ts'
import { columnsOf, unnest } from './arrays.ts'
import { chunkTable, jobTable, outboxTable, runTable } from '../sql/run-writes.ts'
import { insertJobReads, wishValues } from '../sql/job-reads.ts'
import { jobWrites, keyOf, type JobWrites } from '../sql/run-rows.ts'
import { idOf, nameOf } from './run-rows.ts'
import { number, record } from '../sql/columns.ts'
import { textList, textsOf } from './text-lists.ts'
import type { PendingChunk, RunChange, StoredRun } from '../ports/runs.ts'

/** The change of one run. `id`: of its row; undefined if it is new. */
export interface Written {
  readonly id: number | undefined
  readonly known: StoredRun | undefined
  readonly change: RunChange
  readonly firstSeenBy: StoredRun['firstSeenBy']
  readonly jobs: JobWrites
}

export function writtenOf(
  id: number | undefined,
  known: StoredRun | undefined,
  change: RunChange,
  firstSeenBy: StoredRun['firstSeenBy'],
): Written {
  return { id, known, change, firstSeenBy, jobs: jobWrites(change, known) }
}

const bigints = (count: number): 'bigint'[] => Array<'bigint'>(count).fill('bigint')
const texts = (count: number): 'text'[] => Array<'text'>(count).fill('text')
const runTypes = [...bigints(1), ...texts(6), ...bigints(4)]

const insertRun = `
  ${runTable.insert(`SELECT * FROM ${unnest([...runTypes, 'text', 'bigint'])}`)}
  ON CONFLICT (instance, pipeline_id) DO NOTHING RETURNING id, instance, pipeline_id`

const updateRun = `
  UPDATE runs r SET ${runTable.columns.map(name => `${name} = v.${name}`).join(', ')}
  FROM ${unnest([...runTypes, 'bigint'])} AS v (${runTable.columns.join(', ')}, id) WHERE r.id = v.id`

/** Returns their ids. */
export async function writeRuns(session: Session, changes: readonly Written[]): Promise<number[]> {
  const valuesOf = ({ change, firstSeenBy }: Written): ReturnType<typeof runTable.values> =>
    runTable.values(change, firstSeenBy)
  const fresh = changes.filter(({ id }) => id === undefined)
  const known = changes.flatMap(one => (one.id === undefined ? [] : [[...valuesOf(one), one.id]]))
  const ids = new Map<string, number>()
  if (fresh.length > 0) {
    const values = fresh.map(one => [...valuesOf(one), one.change.run.key.instance, one.change.run.key.pipelineId])
    const rows = await session.query(insertRun, columnsOf(values))
    // Another replica has just created one of them: decide everything again, with its row locked.
    if (rows.length < fresh.length) throw new Again()
    for (const row of rows) ids.set(nameOf(keyOf(row)), idOf(row))
  }
  if (known.length > 0) await session.query(updateRun, columnsOf(known))
  return changes.map(({ id, change }) => id ?? ids.get(nameOf(change.run.key)) ?? 0)
}

const insertJob = jobTable.insert(`
  SELECT r, j, record, times, nullif(snapshot, '')
  FROM unnest($1::bigint[], $2::bigint[], ${textsOf('$3')}, ${textsOf('$4')}, ${textsOf('$5')}) AS w (r, j, record, times, snapshot)`)

export async function writeJobs(session: Session, changes: readonly Written[], ids: readonly number[]): Promise<void> {
  const jobs = changes.flatMap(({ jobs: { rows, snapshots } }, index) =>
    [...rows, ...snapshots].map(job => ({ run: ids[index], id: job.id, texts: jobTable.texts(job) })),
  )
  if (jobs.length === 0) return
  const listOf = (column: 0 | 1 | 2): string => textList(jobs.map(job => job.texts[column]))
  const values = [jobs.map(({ run }) => run), jobs.map(({ id }) => id), listOf(0), listOf(1), listOf(2)]
  await session.query(insertJob, values)
}

const chunkTypes = ['bigint', 'int', 'int', 'bigint', 'bigint', 'bigint', 'bigint'] as const
const insertChunk = `
  ${chunkTable.insert(`SELECT * FROM unnest(${chunkTypes.map((type, at) => `$${at + 1}::${type}[]`).join(', ')}, ${textsOf('$8')})`)}
  RETURNING id, run_id, attempt, number`
const insertEntry = outboxTable.insert(`
  SELECT c, s, d, 'pending', $4::bigint, $4::bigint FROM ${unnest(['bigint', 'text', 'text'])} AS o (c, s, d)`)

const insertRead = insertJobReads(`
  SELECT c, j, w, $4::bigint, $4::bigint FROM ${unnest(['bigint', 'bigint', 'text'])} AS r (c, j, w)`)

const place = record({ run: number('run_id'), attempt: number('attempt'), chunk: number('number') })

/** Chunks, their outbox entries, and the entries of the queue of job reads. */
export async function writeChunks(
  session: Session,
  changes: readonly Written[],
  ids: readonly number[],
  now: number,
): Promise<void> {
  const pending = changes.flatMap(({ change, jobs }, index) =>
    (change.pending ?? []).map(one => ({ run: ids[index] ?? 0, one, jobs })),
  )
  if (pending.length === 0) return
  const rows = await session.query(insertChunk, [
    ...columnsOf(pending.map(({ run, one, jobs }) => chunkTable.values(run, one, jobs, now))),
    textList(pending.map(({ one }) => chunkText(one.chunk))),
  ])
  const nameOfChunk = (of: ReturnType<typeof place>): string => JSON.stringify([of.run, of.attempt, of.chunk])
  const chunks = new Map(rows.map(row => [nameOfChunk(place(row)), idOf(row)]))
  const idOfChunk = (run: number, { attempt, number: chunk }: PendingChunk['chunk']): number =>
    chunks.get(nameOfChunk({ run, attempt, chunk })) ?? 0
  const entries = pending.flatMap(({ run, one: { chunk, to } }) =>
    to.map(({ signal, destination }) => [idOfChunk(run, chunk), signal, destination]),
  )
  if (entries.length > 0) await session.query(insertEntry, [...columnsOf(entries), now])
  const reads = pending.flatMap(({ run, one }) =>
    (one.reads ?? []).map(wish => wishValues(idOfChunk(run, one.chunk), wish)),
  )
  if (reads.length > 0) await session.query(insertRead, [...columnsOf(reads), now])
}
