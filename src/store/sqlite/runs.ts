// Runs, their jobs and their chunks, on SQLite.
import { changeAsking, noteTriggers } from './enrichment-queue.ts'
import { erase } from './inbox.ts'
import { changesListing } from '../read-models/listing.ts'
import { moveTotals } from './totals.ts'
import { createDueLeases } from './due-leases.ts'
import { loadJobs, select } from './run-rows.ts'
import { headOf, jobWrites, known, revived, storedRun, restorableRange, type JobWrites } from '../sql/run-rows.ts'
import { readMemory, takeMemory } from './tombstones.ts'
import { revive } from '../../model/tombstone.ts'
import type { Database, Row } from './database.ts'
import type { Waiting } from './inbox.ts'
import { mostText, newestWorth, type RecentChunk, type RecentChunks } from './recent-chunks.ts'
import type { Listings } from './listings.ts'
import type { ProjectIncrements } from '../../model/totals.ts'
import type { RunKey } from '../../model/observation.ts'
import type { PendingChunk, RunChange, Runs, RunWork, SourceName, StoredRun, Processed } from '../ports/runs.ts'

/** What a transaction moves besides the runs' own rows. */
export interface Beside {
  readonly waiting: Waiting
  readonly recent: RecentChunks
  readonly listings: Listings
}

export function sqliteRuns(beside: Beside): Runs {
  const { waiting, recent } = beside
  const { db } = waiting
  const leased = createDueLeases()
  return {
    transact: async (work, processed) => {
      return db.transaction(() => {
        const written = transact(beside, work, processed)
        db.afterCommit(() => {
          for (const id of written?.runs ?? []) leased.forget(id)
          recent.remember(written?.chunks ?? [])
        })
        return written !== undefined
      })
    },
    // Only reads, as the inbox does: writing the time into the row would write the whole run once more.
    takeDue: async (limit, holdMs) => {
      const at = db.elapsed()
      leased.expire(at)
      const rows = db
        .prepare('SELECT id, instance, pipeline_id FROM runs WHERE due_at <= ? ORDER BY due_at LIMIT ?')
        .all(db.now(), limit + leased.size) as { id: number; instance: string; pipeline_id: number }[]
      const free = rows.filter(({ id }) => leased.isFree(id, at)).slice(0, limit)
      for (const { id } of free) leased.hold(id, at + holdMs)
      return free.map(row => ({ instance: row.instance, pipelineId: row.pipeline_id }))
    },
    dueIn: async () => {
      const at = db.elapsed()
      const rows = db
        .prepare('SELECT id, due_at FROM runs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT ?')
        .all(leased.size + 1) as { id: number; due_at: number }[]
      const free = rows.find(({ id }) => leased.isFree(id, at))?.due_at ?? Infinity
      const pause = Math.min(free - db.now(), (leased.nextFree() ?? Infinity) - at)
      return pause === Infinity ? undefined : Math.max(0, pause)
    },
    get: async key => {
      return known(db.damaged, key, () => {
        const row = select(db, key)
        if (row !== undefined) return storedRun(row, loadJobs(db, recent, row, 'all'))
        const memory = readMemory(db, key)
        return memory && revived(memory)
      })
    },
    ancestor: async (key, jobId) =>
      known(db.damaged, key, () => {
        const row = select(db, key)
        const memory = row === undefined ? readMemory(db, key) : undefined
        if (memory !== undefined) {
          const { jobs, ...head } = revive(memory)
          return { head, trigger: jobs.get(jobId ?? 0) }
        }
        if (row === undefined) return undefined
        const trigger = jobId === undefined ? undefined : loadJobs(db, recent, row, [jobId]).get(jobId)
        return { head: headOf(row), ...(trigger === undefined ? {} : { trigger }) }
      }),
    count: async () =>
      db
        .prepare(
          `SELECT count(*) AS runs, count(*) FILTER (WHERE pipeline IS NULL) AS onlyJobs,
                  count(*) FILTER (WHERE due_at IS NOT NULL) AS open FROM runs`,
        )
        .get() as unknown as { runs: number; onlyJobs: number; open: number },
  }
}

/** What a transaction wrote. */
interface Written {
  readonly runs: number[]
  readonly chunks: RecentChunk[]
}

/** Within a transaction. Undefined when any delivery is no longer ours: then somebody else processes it. */
function transact(beside: Beside, work: readonly RunWork[], processed: Processed | undefined): Written | undefined {
  const { waiting, recent, listings } = beside
  const { db, leases } = waiting
  const { token, ids } = processed ?? { token: '', ids: [] }
  if (!ids.every(id => leases.isHeldBy(id, token))) return undefined
  erase(waiting, ids)
  const written: Written = { runs: [], chunks: [] }
  const now = db.now()
  const totals: ProjectIncrements[] = []
  for (const item of work) {
    const row = select(db, item.key) ?? reviveRow(beside, item.key, now)
    const known = row === undefined ? undefined : storedRun(row, loadJobs(db, recent, row, item.jobs))
    const change = item.decide(known, now)
    if (change !== undefined) {
      if (row !== undefined) written.runs.push(row.id as number)
      written.chunks.push(...write(beside, row?.id as number | undefined, known, change, item.source, now))
      // What would be forgotten at once is not kept in memory until the commit.
      written.chunks.splice(0, written.chunks.length - newestWorth(mostText, written.chunks))
      totals.push(...(change.totals ?? []))
    } else if (row !== undefined && item.source !== undefined && known?.firstSeenBy[item.source] === undefined) {
      const firstSeenBy = { ...known?.firstSeenBy, [item.source]: now }
      db.prepare('UPDATE runs SET first_seen_by = ? WHERE id = ?').run(JSON.stringify(firstSeenBy), row.id as number)
    }
  }
  moveTotals(db, totals, now)
  listings.listMany()
  return written
}

/** A run that was pruned and is observed again goes on from its tombstone. */
function reviveRow(beside: Beside, key: RunKey, now: number): Row | undefined {
  const { db } = beside.waiting
  const memory = takeMemory(db, key)
  if (memory === undefined) return undefined
  const run = revive(memory)
  const change = { run, jobs: [...run.jobs.values()], timing: { changedAt: memory.prunedAt } }
  write(beside, undefined, undefined, change, undefined, now)
  return select(db, key)
}

function write(
  { waiting: { db }, listings }: Beside,
  rowId: number | undefined,
  known: StoredRun | undefined,
  change: RunChange,
  source: SourceName | undefined,
  now: number,
): RecentChunk[] {
  const { run, timing } = change
  const firstSeenBy = source === undefined ? known?.firstSeenBy : { [source]: now, ...known?.firstSeenBy }
  const values = [
    run.project.facts.id,
    run.pipeline?.record.facts.status ?? null,
    run.pipeline?.record.facts.name ?? null,
    JSON.stringify(run.project),
    run.pipeline === undefined ? null : JSON.stringify(run.pipeline),
    JSON.stringify(run.attempts),
    JSON.stringify(firstSeenBy ?? {}),
    timing.changedAt,
    timing.endedAt ?? null,
    timing.enrichingUntil ?? null,
    timing.dueAt ?? null,
  ]
  let id = rowId
  if (id === undefined) {
    const inserted = db
      .prepare(
        `INSERT INTO runs (project_id, status, name, project, pipeline, attempts, first_seen_by, changed_at, ended_at,
                           enriching_until, due_at, instance, pipeline_id)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(...values, run.key.instance, run.key.pipelineId)
    id = Number(inserted.lastInsertRowid)
  } else {
    db.prepare(
      `UPDATE runs SET project_id = ?, status = ?, name = ?, project = ?, pipeline = ?, attempts = ?, first_seen_by = ?,
              changed_at = ?, ended_at = ?, enriching_until = ?, due_at = ? WHERE id = ?`,
    ).run(...values, id)
  }
  const writes = jobWrites(change, known)
  writeJobs(db, id, writes)
  if (changesListing(known?.run, run)) listings.note(id, run, now)
  const chunks = (change.pending ?? []).map(one => addToOutbox(db, id, one, writes.inChunks, now))
  noteTriggers(db, id, run.key.instance, change.jobs)
  changeAsking(db, id, change.enrichment)
  return chunks
}

function writeJobs(db: Database, runId: number, { rows, marks }: JobWrites): void {
  const mark = db.prepare('UPDATE jobs SET snapshot = ? WHERE run_id = ? AND job_id = ?')
  const put = db.prepare(
    `INSERT INTO jobs (run_id, job_id, record, times, snapshot) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (run_id, job_id) DO UPDATE SET record = excluded.record, times = excluded.times, snapshot = excluded.snapshot`,
  )
  for (const { id, snapshot } of marks) mark.run(snapshot === undefined ? null : JSON.stringify(snapshot), runId, id)
  for (const { id, record, times, snapshot } of rows) {
    const text = snapshot === undefined ? null : JSON.stringify(snapshot)
    put.run(runId, id, JSON.stringify(record), JSON.stringify(times), text)
  }
}

function addToOutbox(
  db: Database,
  runId: number,
  { chunk, to }: PendingChunk,
  told: JobWrites['inChunks'],
  now: number,
): RecentChunk {
  const view = JSON.stringify(chunk)
  const [first, last] = restorableRange(chunk, told) ?? [null, null]
  const { lastInsertRowid } = db
    .prepare(
      'INSERT INTO chunks (run_id, attempt, number, content, snapshot_at, first_job, last_job) VALUES (?, ?, ?, ?, ?, ?, ?)',
    )
    .run(runId, chunk.attempt, chunk.number, view, now, first, last)
  const insert = db.prepare(
    `INSERT INTO outbox (chunk_id, signal, destination, state, pending_since, due_at) VALUES (?, ?, ?, 'pending', ?, ?)`,
  )
  for (const { signal, destination } of to) insert.run(lastInsertRowid, signal, destination, now, now)
  return { id: Number(lastInsertRowid), chunk, size: view.length }
}
