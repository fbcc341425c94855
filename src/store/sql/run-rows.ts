// Rows of runs, jobs and chunks as the model has them, for both databases: they name their columns alike.
//
// What can be restored of a job from its chunk (`model/restore.ts`) is not stored a second time: such a job has no row of its own, or a
// row without its mark. A chunk's row says between which ids it has such jobs; a chunk without any need not be read.
import { storedJson as json, type DamagedRows } from './stored-json.ts'
import { revive, type Tombstone } from '../../model/tombstone.ts'
import { restoreJob, restoreMark, restorableOf } from '../../model/restore.ts'
import type { JobSnapshot, Chunk } from '../../model/chunk.ts'
import type { Job } from '../../model/job.ts'
import type { Run, RunHead } from '../../model/run.ts'
import type { RunKey } from '../../model/observation.ts'
import type { Row } from './rows.ts'
import type { RunChange, StoredRun } from '../ports/runs.ts'

export function keyOf(row: Row): RunKey {
  return { instance: row.instance as string, pipelineId: row.pipeline_id as number }
}

export function headOf(row: Row): RunHead {
  return {
    key: keyOf(row),
    project: json(row.project),
    ...(row.pipeline == null ? {} : { pipeline: json<NonNullable<RunHead['pipeline']>>(row.pipeline) }),
    attempts: json(row.attempts),
  }
}

/** Whether there is a snapshot of the run, without decoding it. */
export function hasSnapshot(row: Row): boolean {
  return row.attempts !== '[]'
}

export function storedRun(row: Row, jobs: Run['jobs']): StoredRun {
  return {
    run: { ...headOf(row), jobs },
    timing: {
      changedAt: row.changed_at as number,
      endedAt: optional(row.ended_at),
      enrichingUntil: optional(row.enriching_until),
      dueAt: optional(row.due_at),
    },
    firstSeenBy: json(row.first_seen_by),
  }
}

/** What is known of one run; a damaged one counts as unknown for readers. */
export function known<T>(damaged: DamagedRows, key: RunKey, read: () => T): T | undefined {
  return damaged.orNothing({ ...key }, 'it is as if it were unknown', read)
}

/** A run that was pruned, as it is remembered. */
export function revived(memory: Tombstone & { readonly prunedAt: number }): StoredRun {
  return { run: revive(memory), timing: { changedAt: memory.prunedAt }, firstSeenBy: {} }
}

/** The jobs of one run in the order of their ids. `chunks`: in the order of their numbers, those that hold jobs that are wanted. */
export function jobsOf(
  rows: Iterable<Row>,
  chunks: readonly Chunk[],
  isWanted: (id: number) => boolean = () => true,
): Map<number, Job> {
  const jobs = new Map<number, Job>()
  for (const row of rows) jobs.set(row.job_id as number, jobOf(row))
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

function jobOf(row: Row): Job {
  return {
    id: row.job_id as number,
    record: json(row.record),
    times: json(row.times),
    ...(row.snapshot == null ? {} : { snapshot: json<NonNullable<Job['snapshot']>>(row.snapshot) }),
  }
}

/** What is to be written of a change's jobs. */
export interface JobWrites {
  /** Whole rows. */
  readonly rows: readonly Job[]
  /** Jobs of which only the mark of their snapshot changed. */
  readonly marks: readonly Job[]
  /** Ids of the jobs that are stored in the change's chunks alone. */
  readonly inChunks: ReadonlySet<number>
}

export function jobWrites({ jobs, pending }: RunChange, known: StoredRun | undefined): JobWrites {
  const spans = new Map<number, JobSnapshot>()
  for (const { chunk } of pending ?? []) for (const span of chunk.jobs) spans.set(span.id, span)
  const rows: Job[] = []
  const marks: Job[] = []
  const told = new Set<number>()
  for (const job of jobs) {
    const before = known?.run.jobs.get(job.id)
    const isKnown = before?.record === job.record && before.times === job.times
    const span = spans.get(job.id)
    const restorable = span === undefined ? 'nothing' : restorableOf(job, span)
    const isInChunk = isKnown ? restorable !== 'nothing' : before === undefined && restorable === 'job'
    if (isInChunk) told.add(job.id)
    else if (isKnown) marks.push(job)
    else rows.push(job)
  }
  return { rows, marks, inChunks: told }
}

/** Between which ids the chunk has jobs that are stored nowhere else; undefined when there is none. */
export function restorableRange({ jobs }: Chunk, told: ReadonlySet<number>): readonly [number, number] | undefined {
  let first = Infinity
  let last = -Infinity
  for (const { id } of jobs) {
    if (!told.has(id)) continue
    if (id < first) first = id
    if (id > last) last = id
  }
  return last < first ? undefined : [first, last]
}

function optional(value: unknown): number | undefined {
  return (value ?? undefined) as number | undefined
}

/** The run of a row, as it is to be remembered. Undefined where it is damaged: its tombstone could not say what was sent. */
export function prunedRun(damaged: DamagedRows, row: Row, read: () => StoredRun): Run | undefined {
  return damaged.orNothing({ ...keyOf(row) }, 'it is not pruned', read)?.run
}
