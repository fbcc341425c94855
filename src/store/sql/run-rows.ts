// Converts rows of runs, jobs and chunks to the model.
//
// Job data that can be restored from the job's chunk (`model/restore.ts`) is not stored twice: such a job has no row, or one whose column
// `snapshot` is null. A chunk's row has the range of their ids, so that other chunks need not be read.
import { json, number, optional, record, text, type Row } from './columns.ts'
import type { ChunkOutline, DamagedRows } from './stored-json.ts'
import { remember, rememberedJob, rememberedSnapshot, revive } from '../../model/tombstone.ts'
import { restoreJob, restoreMark, restorableOf } from '../../model/restore.ts'
import type { JobSnapshot, Chunk } from '../../model/chunk.ts'
import type { Job } from '../../model/job.ts'
import type { RememberedJob, Tombstone } from '../../model/tombstone.ts'
import type { Run, RunHead } from '../../model/run.ts'
import type { RunKey } from '../../model/observation.ts'
import type { RunChange, StoredRun } from '../ports/runs.ts'

export const keyOf: (row: Row) => RunKey = record({ instance: text('instance'), pipelineId: number('pipeline_id') })

/** The column also has what a list named, which few runs have. */
const project = json<RunHead['project'] & Pick<RunHead, 'listedMergeRequest' | 'listed' | 'mergeRequestEvent'>>(
  'project',
)
const pipeline = optional(json<NonNullable<RunHead['pipeline']>>, 'pipeline')
const attempts = json<RunHead['attempts']>('attempts')

export function headOf(row: Row): RunHead {
  const known = pipeline(row)
  const { listedMergeRequest, listed, mergeRequestEvent, ...own } = project(row)
  return {
    key: keyOf(row),
    project: own,
    ...(known === undefined ? {} : { pipeline: known }),
    attempts: attempts(row),
    ...(listedMergeRequest === undefined ? {} : { listedMergeRequest }),
    ...(listed === undefined ? {} : { listed }),
    ...(mergeRequestEvent === undefined ? {} : { mergeRequestEvent }),
  }
}

/** Without decoding it. */
export function hasSnapshot(row: Row): boolean {
  return row.attempts !== '[]'
}

const timing = record({
  changedAt: number('changed_at'),
  endedAt: optional(number, 'ended_at'),
  enrichingUntil: optional(number, 'enriching_until'),
  dueAt: optional(number, 'due_at'),
})
export const firstSeenBy = json<StoredRun['firstSeenBy']>('first_seen_by')

export function storedRun(row: Row, jobs: Run['jobs']): StoredRun {
  return { run: { ...headOf(row), jobs }, timing: timing(row), firstSeenBy: firstSeenBy(row) }
}

/** Readers treat a damaged run as unknown. */
export function known<T>(damaged: DamagedRows, key: RunKey, read: () => T): T | undefined {
  return damaged.orNothing({ ...key }, 'it is as if it were unknown', read)
}

/** A run that was pruned, from its tombstone. */
export function revived(tombstone: Tombstone & { readonly prunedAt: number }): StoredRun {
  return { run: revive(tombstone), timing: { changedAt: tombstone.prunedAt }, firstSeenBy: {} }
}

/** The jobs of one run in the order of their ids, from its rows and its chunks. `chunks`: in the order of their numbers. */
export function jobsOf(
  rows: Iterable<Row>,
  chunks: readonly Chunk[],
  isWanted: (id: number) => boolean = () => true,
): Map<number, Job> {
  const jobs = new Map<number, Job>()
  for (const row of rows) jobs.set(jobId(row), jobOf(row))
  if (chunks.length === 0) return jobs
  for (const { attempt, jobs: spans } of chunks) {
    for (const span of spans) {
      if (!isWanted(span.id)) continue
      const job = jobs.get(span.id)
      if (job === undefined) jobs.set(span.id, restoreJob(span, attempt))
      else if (job.snapshot === undefined) jobs.set(span.id, { ...job, snapshot: restoreMark(span, attempt) })
    }
  }
  return new Map([...jobs].sort(([a], [b]) => a - b))
}

/**
 * The tombstone data of the jobs of one run, from its rows and its chunks, in any order. `chunks`: in the order of their numbers. As if
 * `jobsOf` had restored them, for a quarter of the time.
 */
export function rememberedJobsOf(rows: Iterable<Row>, chunks: readonly ChunkOutline[]): RememberedJob[] {
  const jobs = new Map<number, RememberedJob>()
  for (const row of rows) jobs.set(jobId(row), rememberedJob(jobOf(row)))
  for (const { attempt, jobs: snapshots } of chunks) {
    for (const snapshot of snapshots) {
      const job = jobs.get(snapshot.id)
      if (job === undefined) jobs.set(snapshot.id, rememberedSnapshot(snapshot, attempt))
      else if (job.spans === 0) jobs.set(snapshot.id, { ...job, attempt, spans: 1 })
    }
  }
  return [...jobs.values()]
}

const jobId = number('job_id')
const jobRecord = json<Job['record']>('record')
const times = json<Job['times']>('times')
const snapshot = optional(json<NonNullable<Job['snapshot']>>, 'snapshot')

export function jobOf(row: Row): Job {
  const known = snapshot(row)
  return {
    id: jobId(row),
    record: jobRecord(row),
    times: times(row),
    ...(known === undefined ? {} : { snapshot: known }),
  }
}

/** How the jobs of a change are to be written. */
export interface JobWrites {
  /** Whole rows. */
  readonly rows: readonly Job[]
  /** Jobs with a row whose snapshot alone changed. */
  readonly snapshots: readonly Job[]
  /** Ids of the jobs that only the change's chunks have. */
  readonly inChunks: ReadonlySet<number>
}

export function jobWrites({ jobs, pending }: RunChange, known: StoredRun | undefined): JobWrites {
  const spans = new Map<number, JobSnapshot>()
  for (const { chunk } of pending ?? []) for (const span of chunk.jobs) spans.set(span.id, span)
  const rows: Job[] = []
  const snapshots: Job[] = []
  const inChunks = new Set<number>()
  for (const job of jobs) {
    const before = known?.run.jobs.get(job.id)
    const isKnown = before?.record === job.record && before.times === job.times
    const span = spans.get(job.id)
    const restorable = span === undefined ? 'nothing' : restorableOf(job, span)
    const isInChunk = isKnown ? restorable !== 'nothing' : before === undefined && restorable === 'job'
    if (isInChunk) inChunks.add(job.id)
    else if (isKnown) snapshots.push(job)
    else rows.push(job)
  }
  return { rows, snapshots, inChunks }
}

/** The range of ids of the jobs that only this chunk has; undefined if there are none. */
export function restorableRange({ jobs }: Chunk, inChunks: ReadonlySet<number>): readonly [number, number] | undefined {
  let first = Infinity
  let last = -Infinity
  for (const { id } of jobs) {
    if (!inChunks.has(id)) continue
    if (id < first) first = id
    if (id > last) last = id
  }
  return last < first ? undefined : [first, last]
}

/** The tombstone of a row's run, if it needs one. Undefined if the run is damaged: the tombstone would not know what was sent. */
export function tombstoneOfRow(
  damaged: DamagedRows,
  row: Row,
  jobs: () => readonly RememberedJob[],
): { readonly tombstone: Tombstone | undefined } | undefined {
  return damaged.orNothing({ ...keyOf(row) }, 'it is not pruned', () => ({ tombstone: remember(headOf(row), jobs()) }))
}
