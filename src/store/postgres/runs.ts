// Runs, jobs and chunks on PostgreSQL: each step of a transaction is one statement for all its runs.
import { changeEnrichment, writeTriggers } from './enrichment-queue.ts'
import { writeBeside, type BesideRuns } from '../sql/beside-runs.ts'
import { withDeploymentIds } from '../sql/deployments.ts'
import { addLateReads } from '../sql/late-reads.ts'
import { changesListing } from '../read-models/listing.ts'
import { readValues, removeJobRead } from '../sql/job-reads.ts'
import { listRuns } from './views.ts'
import type { Database, Session } from './database.ts'
import type { Row } from '../sql/columns.ts'
import { keyOf } from '../sql/run-rows.ts'
import { idOf, loadJobs, nameOf, runOf, selectRuns } from './run-rows.ts'
import { placed } from './arrays.ts'
import { postgresStatements } from './statements.ts'
import { runReads } from '../sql/run-reads.ts'
import { taken, withinOf } from './steps.ts'
import { takeTombstones } from './tombstones.ts'
import { slicesOf } from './slices.ts'
import { writeJobs, writeChunks, writeRuns, writtenOf, type Written } from './run-writes.ts'
import { revive } from '../../model/tombstone.ts'
import type { RunKey } from '../../model/observation.ts'
import type { RunChange, Runs, RunWork, Processed } from '../ports/runs.ts'

export function postgresRuns(db: Database): Runs {
  return {
    transact: async (work, processed) => {
      try {
        await db.transaction(async (session, now) => {
          await erase(session, processed)
          const reported: Writable = {
            deployments: [...(processed?.deployments ?? [])],
            changes: [...(processed?.changes ?? [])],
            totals: [],
          }
          for (const wave of waves(work)) await transact(session, now, wave, reported)
          await taken(session, writeBeside(processed, reported, withinOf(session, now)))
        })
        return true
      } catch (error) {
        if (error instanceof Lost) return false
        throw error
      }
    },
    takeDue: async (limit, leaseMs) => {
      const rows = await db.transaction(async (session, now) =>
        session.query(
          `UPDATE runs SET due_at = $1::bigint
           WHERE id IN (SELECT id FROM runs WHERE due_at <= $2::bigint ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
           RETURNING instance, pipeline_id`,
          [now + leaseMs, now, limit],
        ),
      )
      return rows.map(keyOf)
    },
    dueIn: async () => db.dueIn('SELECT min(due_at) AS due FROM runs WHERE due_at IS NOT NULL'),
    ...runReads(postgresStatements(db)),
  }
}

type Writable = { [Key in keyof BesideRuns]: BesideRuns[Key][number][] }

/** Each wave has a run at most once, so that work on one run is done in its order, and work on different runs together. */
function waves(work: readonly RunWork[]): RunWork[][] {
  const found: RunWork[][] = []
  const seen = new Map<string, number>()
  for (const item of work) {
    const name = nameOf(item.key)
    const wave = seen.get(name) ?? 0
    seen.set(name, wave + 1)
    ;(found[wave] ??= []).push(item)
  }
  return found
}

async function erase(session: Session, processed: Processed | undefined): Promise<void> {
  if (processed === undefined) return
  const gone = await session.query('DELETE FROM inbox WHERE id = ANY ($1) AND lease = $2 RETURNING id', [
    processed.ids,
    processed.token,
  ])
  if (gone.length !== processed.ids.length) throw new Lost()
}

async function transact(session: Session, now: number, work: readonly RunWork[], reported: Writable): Promise<void> {
  const keys = work.map(({ key }) => key)
  // All replicas lock in the same order, so that there is no deadlock.
  const locked = await selectRuns(session, keys, 'ORDER BY r.instance, r.pipeline_id FOR UPDATE OF r')
  const rows = [...locked, ...(await reviveRuns(session, unknown(keys, locked)))]
  // Under the run's lock, like everything else.
  const left: RunWork[] = []
  for (const item of work) {
    const { read } = item
    const isLeft = read === undefined || (await session.query(removeRead, readValues(read))).length > 0
    if (isLeft) left.push(item)
  }
  const byKey = new Map(rows.map(row => [nameOf(keyOf(row)), row]))
  const whole = ({ key, jobs }: RunWork): number | undefined => {
    const row = jobs === 'all' ? byKey.get(nameOf(key)) : undefined
    return row && idOf(row)
  }
  const changed: RunChange[] = []
  for (const slice of await slicesOf(session, left, whole))
    changed.push(...(await decideAll(session, now, slice, byKey, reported.deployments)))
  reported.deployments.push(...changed.flatMap(({ deployments = [] }) => deployments))
  reported.changes.push(...changed.flatMap(({ changes = [] }) => changes))
  reported.totals.push(...changed.flatMap(({ totals = [] }) => totals))
}

const removeRead = `${placed(removeJobRead)} RETURNING 1`

/** Returns what was written. `reported`: deployments that are not written yet. */
async function decideAll(
  session: Session,
  now: number,
  work: readonly RunWork[],
  byKey: ReadonlyMap<string, Row>,
  reported: BesideRuns['deployments'],
): Promise<readonly RunChange[]> {
  const jobs = await loadJobs(
    session,
    work.flatMap(item => {
      const row = byKey.get(nameOf(item.key))
      return row === undefined ? [] : [{ run: row, jobs: item.jobs }]
    }),
  )
  const decided = work.flatMap(item => {
    const row = byKey.get(nameOf(item.key))
    const known = row === undefined ? undefined : runOf(row, jobs)
    const change = item.decide(known, now)
    const { source } = item
    const firstSeenBy = { ...(source === undefined ? {} : { [source]: now }), ...known?.firstSeenBy }
    const isFirst = source !== undefined && known !== undefined && known.firstSeenBy[source] === undefined
    const written = change ?? (isFirst ? { run: known.run, jobs: [], timing: known.timing } : undefined)
    return written === undefined ? [] : [writtenOf(row && idOf(row), known, written, firstSeenBy)]
  })
  if (decided.length === 0) return []
  const changes: Written[] = []
  for (const one of decided)
    changes.push({ ...one, change: await taken(session, withDeploymentIds(one.change, reported)) })
  const ids = await writeRuns(session, changes)
  await writeJobs(session, changes, ids)
  await listRuns(
    session,
    changes.flatMap(({ known, change: { run } }, index) =>
      changesListing(known?.run, run) ? [{ id: ids[index] ?? 0, run }] : [],
    ),
    now,
  )
  await writeChunks(session, changes, ids, now)
  for (const [index, { change }] of changes.entries()) {
    await taken(session, addLateReads(ids[index] ?? 0, change.lateReads ?? [], now, session.damaged))
  }
  await writeTriggers(
    session,
    changes.flatMap(({ change: { run, jobs } }, index) =>
      jobs.map(job => ({ runId: ids[index] ?? 0, instance: run.key.instance, job })),
    ),
  )
  await changeEnrichment(
    session,
    changes.map(({ change }, index) => ({ runId: ids[index] ?? 0, change: change.enrichment })),
  )
  return changes.map(({ change }) => change)
}

function unknown(keys: readonly RunKey[], rows: readonly Row[]): RunKey[] {
  const known = new Set(rows.map(row => nameOf(keyOf(row))))
  return keys.filter(key => !known.has(nameOf(key)))
}

/** Pruned runs that are observed again continue from their tombstones. */
async function reviveRuns(session: Session, keys: readonly RunKey[]): Promise<Row[]> {
  const tombstones = await takeTombstones(session, keys)
  if (tombstones.length === 0) return []
  const changes = tombstones.map((tombstone): Written => {
    const run = revive(tombstone)
    const change = { run, jobs: [...run.jobs.values()], timing: { changedAt: tombstone.prunedAt } }
    return writtenOf(undefined, undefined, change, {})
  })
  await writeJobs(session, changes, await writeRuns(session, changes))
  return selectRuns(
    session,
    tombstones.map(({ key }) => key),
  )
}

/** Another replica has the deliveries: the transaction is rolled back. */
class Lost extends Error {}
