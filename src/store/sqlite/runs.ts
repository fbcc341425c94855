// Runs, jobs and chunks on SQLite.
import { writeBeside } from '../sql/beside-runs.ts'
import { withDeploymentIds } from '../sql/deployments.ts'
import { chunkText } from '../sql/chunk-text.ts'
import { changeEnrichment, writeTriggers } from './enrichment-queue.ts'
import { erase } from './inbox.ts'
import { insertJobReads, readValues, removeJobRead, wishValues } from '../sql/job-reads.ts'
import { addLateReads } from '../sql/late-reads.ts'
import { changesListing } from '../read-models/listing.ts'
import { createLeases } from './leases.ts'
import { loadJobs, select } from './run-rows.ts'
import { jobWrites, keyOf, storedRun, type JobWrites } from '../sql/run-rows.ts'
import { chunkTable, jobTable, outboxTable, runTable, snapshotText } from '../sql/run-writes.ts'
import { number, record, type Row } from '../sql/columns.ts'
import { runReads } from '../sql/run-reads.ts'
import { sqliteStatements } from './statements.ts'
import { taken, withinOf } from './steps.ts'
import { takeTombstone } from './tombstones.ts'
import { revive } from '../../model/tombstone.ts'
import type { Database } from './database.ts'
import type { Waiting } from './inbox.ts'
import { mostText, newestWorth, type RecentChunk, type RecentChunks } from './recent-chunks.ts'
import type { JobReadKey } from '../ports/job-reads.ts'
import type { Listings } from './listings.ts'
import type { ProjectIncrements } from '../../model/totals.ts'
import type { RunKey } from '../../model/observation.ts'
import type { PendingChunk, RunChange, Runs, RunWork, SourceName, StoredRun, Processed } from '../ports/runs.ts'

/** What a transaction changes besides rows of runs. */
interface Beside {
  readonly waiting: Waiting
  readonly recent: RecentChunks
  readonly listings: Listings
}

export function sqliteRuns(beside: Beside): Runs {
  const { waiting, recent } = beside
  const { db } = waiting
  const leased = createLeases()
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
    // Leases are in memory: storing them would rewrite the row of the run.
    takeDue: async (limit, leaseMs) => {
      const at = db.elapsed()
      leased.expire(at)
      const rows = db
        .prepare('SELECT id, instance, pipeline_id FROM runs WHERE due_at <= ? ORDER BY due_at LIMIT ?')
        .all(db.now(), limit + leased.size)
      const free = rows.filter(row => leased.until(idOf(row)) <= at).slice(0, limit)
      for (const row of free) leased.lease(idOf(row), at + leaseMs)
      return free.map(keyOf)
    },
    dueIn: async () => {
      const at = db.elapsed()
      const rows = db
        .prepare('SELECT id, due_at FROM runs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT ?')
        .all(leased.size + 1)
      const free = rows.map(due).find(({ id }) => leased.until(id) <= at)?.at ?? Infinity
      const pause = Math.min(free - db.now(), (leased.nextFree() ?? Infinity) - at)
      return pause === Infinity ? undefined : Math.max(0, pause)
    },
    ...runReads(sqliteStatements(db)),
  }
}

const idOf = number('id')
const due = record({ id: number('id'), at: number('due_at') })

interface Written {
  readonly runs: number[]
  readonly chunks: RecentChunk[]
}

/** Within a transaction. Undefined if the lease of any delivery was lost. */
function transact(beside: Beside, work: readonly RunWork[], processed: Processed | undefined): Written | undefined {
  const { waiting, recent, listings } = beside
  const { db, leases } = waiting
  const { token, ids, deployments: reported = [], changes = [] } = processed ?? { token: '', ids: [] }
  if (!ids.every(id => leases.isOf(id, token))) return undefined
  erase(waiting, ids)
  const written: Written = { runs: [], chunks: [] }
  const within = withinOf(db)
  const { now } = within
  const after = { deployments: [...reported], changes: [...changes], totals: [] as ProjectIncrements[] }
  for (const item of work) {
    if (item.read !== undefined && !removeRead(db, item.read)) continue
    const row = select(db, item.key) ?? reviveRow(beside, item.key, now)
    const known = row === undefined ? undefined : storedRun(row, loadJobs(db, recent, row, item.jobs))
    const change = item.decide(known, now)
    if (change !== undefined) {
      const id = row && idOf(row)
      if (id !== undefined) written.runs.push(id)
      const identified = taken(db, withDeploymentIds(change, reported))
      written.chunks.push(...write(beside, id, known, identified, item.source, now))
      // No more than the cache can take, so that a large transaction does not fill the memory.
      written.chunks.splice(0, written.chunks.length - newestWorth(mostText, written.chunks))
      after.totals.push(...(change.totals ?? []))
      after.deployments.push(...(change.deployments ?? []))
      after.changes.push(...(change.changes ?? []))
    } else if (row !== undefined && item.source !== undefined && known?.firstSeenBy[item.source] === undefined) {
      const firstSeenBy = { ...known?.firstSeenBy, [item.source]: now }
      db.prepare('UPDATE runs SET first_seen_by = ? WHERE id = ?').run(JSON.stringify(firstSeenBy), idOf(row))
    }
  }
  written.chunks.push(...taken(db, writeBeside(processed, after, within)))
  listings.listMany()
  return written
}

/** A pruned run that is observed again continues from its tombstone. */
function reviveRow(beside: Beside, key: RunKey, now: number): Row | undefined {
  const { db } = beside.waiting
  const tombstone = takeTombstone(db, key)
  if (tombstone === undefined) return undefined
  const run = revive(tombstone)
  const change = { run, jobs: [...run.jobs.values()], timing: { changedAt: tombstone.prunedAt } }
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
  const { run } = change
  const firstSeenBy = source === undefined ? known?.firstSeenBy : { [source]: now, ...known?.firstSeenBy }
  const values = runTable.values(change, firstSeenBy ?? {})
  let id = rowId
  if (id === undefined) {
    const inserted = db.prepare(insertRun).run(...values, run.key.instance, run.key.pipelineId)
    id = Number(inserted.lastInsertRowid)
  } else {
    db.prepare(updateRun).run(...values, id)
  }
  const writes = jobWrites(change, known)
  writeJobs(db, id, writes)
  if (changesListing(known?.run, run)) listings.add(id, run, now)
  const chunks = (change.pending ?? []).map(one => addToOutbox(db, id, one, writes, now))
  writeTriggers(db, id, run.key.instance, change.jobs)
  changeEnrichment(db, id, change.enrichment)
  taken(db, addLateReads(id, change.lateReads ?? [], now, db.damaged))
  return chunks
}

const insertRun = runTable.insert(`VALUES (${runTable.columns.map(() => '?').join(', ')}, ?, ?)`)
const updateRun = `UPDATE runs SET ${runTable.columns.map(name => `${name} = ?`).join(', ')} WHERE id = ?`
const insertJob = jobTable.insert('VALUES (?, ?, ?, ?, ?)')
const insertChunk = chunkTable.insert('VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
const insertOutboxEntry = outboxTable.insert(`VALUES (?, ?, ?, 'pending', ?, ?)`)
const insertJobRead = insertJobReads('VALUES (?, ?, ?, ?, ?)')

function writeJobs(db: Database, runId: number, { rows, snapshots }: JobWrites): void {
  const setSnapshot = db.prepare('UPDATE jobs SET snapshot = ? WHERE run_id = ? AND job_id = ?')
  const put = db.prepare(insertJob)
  for (const { id, snapshot } of snapshots) setSnapshot.run(snapshotText(snapshot), runId, id)
  for (const job of rows) put.run(runId, job.id, ...jobTable.texts(job))
}

function addToOutbox(db: Database, runId: number, pending: PendingChunk, writes: JobWrites, now: number): RecentChunk {
  const { chunk, to, reads } = pending
  const content = chunkText(chunk)
  const inserted = db.prepare(insertChunk).run(...chunkTable.values(runId, pending, writes, now), content)
  const id = Number(inserted.lastInsertRowid)
  const insert = db.prepare(insertOutboxEntry)
  for (const { signal, destination } of to) insert.run(id, signal, destination, now, now)
  if (reads !== undefined) {
    const add = db.prepare(insertJobRead)
    for (const wish of reads) add.run(...wishValues(id, wish), now, now)
  }
  return { id, chunk, size: content.length, takes: to.length + 1 }
}

/** False if the entry was gone. */
function removeRead(db: Database, key: JobReadKey): boolean {
  return Number(db.prepare(removeJobRead).run(...readValues(key)).changes) > 0
}
