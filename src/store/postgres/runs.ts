// Runs, their jobs and what was frozen of them, on PostgreSQL: each step of a transaction is one statement for all runs.
import { changeAsking, noteTriggers } from './asking.ts'
import { listRuns } from './views.ts'
import { moveTotals } from './totals.ts'
import { Again, type Database, type Row, type Session } from './database.ts'
import { headOf, keyOf, loadJobs, nameOf, selectRuns, storedRun } from './run-rows.ts'
import { readMemory, takeMemories } from './tombstones.ts'
import { slicesOf } from './slices.ts'
import { textList, textsOf } from './text-lists.ts'
import { revive } from '../../model/tombstone.ts'
import type { RunKey } from '../../model/observation.ts'
import type { RunChange, Runs, RunWork, StoredRun, Understood } from '../runs.ts'

export function postgresRuns(db: Database): Runs {
  return {
    transact: async (work, understood) => {
      try {
        await db.transaction(async (session, now) => {
          await erase(session, understood)
          for (const wave of waves(work)) await transact(session, now, wave)
        })
        return true
      } catch (error) {
        if (error instanceof Lost) return false
        throw error
      }
    },
    takeDue: async (limit, holdMs) => {
      const rows = await db.transaction(async (session, now) =>
        session.query(
          `UPDATE runs SET due_at = $1::bigint
           WHERE id IN (SELECT id FROM runs WHERE due_at <= $2::bigint ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
           RETURNING instance, pipeline_id`,
          [now + holdMs, now, limit],
        ),
      )
      return rows.map(keyOf)
    },
    nextDue: async () => {
      const [row] = await db.query('SELECT min(due_at) AS due FROM runs WHERE due_at IS NOT NULL')
      return (row?.due ?? undefined) as number | undefined
    },
    get: async key => {
      const [row] = await selectRuns(db, [key], '')
      if (row === undefined) {
        const memory = await readMemory(db, key)
        return memory && { run: revive(memory), timing: { changedAt: memory.prunedAt }, heardFrom: {} }
      }
      return storedRun(row, await loadJobs(db, [{ id: row.id as number, jobs: 'all' }]))
    },
    ancestor: async (key, jobId) => {
      const [row] = await selectRuns(db, [key], '')
      if (row === undefined) {
        const memory = await readMemory(db, key)
        if (memory === undefined) return undefined
        const { jobs, ...head } = revive(memory)
        return { head, trigger: jobs.get(jobId ?? 0) }
      }
      const id = row.id as number
      const jobs = jobId === undefined ? undefined : await loadJobs(db, [{ id, jobs: [jobId] }])
      const trigger = jobs?.get(id)?.get(jobId ?? 0)
      return { head: headOf(row), ...(trigger === undefined ? {} : { trigger }) }
    },
    count: async () => {
      const [row] = await db.query(
        `SELECT count(*) AS runs, count(*) FILTER (WHERE pipeline IS NULL) AS only_jobs,
                count(*) FILTER (WHERE due_at IS NOT NULL) AS open FROM runs`,
      )
      return { runs: row?.runs as number, onlyJobs: row?.only_jobs as number, open: row?.open as number }
    },
  }
}

/** Work on one run follows the order it was given in; what concerns different runs goes together. */
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

async function erase(session: Session, understood: Understood | undefined): Promise<void> {
  if (understood === undefined) return
  const gone = await session.query('DELETE FROM inbox WHERE id = ANY ($1) AND lease = $2 RETURNING id', [
    understood.ids,
    understood.token,
  ])
  if (gone.length !== understood.ids.length) throw new Lost()
}

async function transact(session: Session, now: number, work: readonly RunWork[]): Promise<void> {
  const keys = work.map(({ key }) => key)
  // Locked in one order by everybody, so that two replicas never wait for each other.
  const locked = await selectRuns(session, keys, 'ORDER BY r.instance, r.pipeline_id FOR UPDATE OF r')
  const rows = [...locked, ...(await reviveRuns(session, unknown(keys, locked)))]
  const byKey = new Map(rows.map(row => [nameOf(keyOf(row)), row]))
  const whole = ({ key, jobs }: RunWork): number | undefined =>
    jobs === 'all' ? (byKey.get(nameOf(key))?.id as number | undefined) : undefined
  for (const slice of await slicesOf(session, work, whole)) await decideAll(session, now, slice, byKey)
}

async function decideAll(
  session: Session,
  now: number,
  work: readonly RunWork[],
  byKey: ReadonlyMap<string, Row>,
): Promise<void> {
  const jobs = await loadJobs(
    session,
    work.flatMap(item => {
      const row = byKey.get(nameOf(item.key))
      return row === undefined ? [] : [{ id: row.id as number, jobs: item.jobs }]
    }),
  )
  const changes = work.flatMap(item => {
    const row = byKey.get(nameOf(item.key))
    const known = row === undefined ? undefined : storedRun(row, jobs)
    const change = item.decide(known, now)
    const { source } = item
    const heardFrom = { ...(source === undefined ? {} : { [source]: now }), ...known?.heardFrom }
    const firstWord = source !== undefined && known !== undefined && known.heardFrom[source] === undefined
    const written = change ?? (firstWord ? { run: known.run, jobs: [], timing: known.timing } : undefined)
    return written === undefined ? [] : [{ id: row?.id as number | undefined, change: written, heardFrom }]
  })
  if (changes.length === 0) return
  const ids = await writeRuns(session, changes)
  await writeJobs(session, changes, ids)
  await listRuns(
    session,
    changes.map(({ change }, index) => ({ id: ids[index] ?? 0, run: change.run })),
    now,
  )
  await writeParts(session, changes, ids, now)
  await noteTriggers(
    session,
    changes.flatMap(({ change: { run, jobs } }, index) =>
      jobs.map(job => ({ runId: ids[index] ?? 0, instance: run.key.instance, job })),
    ),
  )
  await changeAsking(
    session,
    changes.map(({ change }, index) => ({ runId: ids[index] ?? 0, change: change.asking })),
  )
  await moveTotals(
    session,
    changes.flatMap(({ change }) => change.totals ?? []),
    now,
  )
}

function unknown(keys: readonly RunKey[], rows: readonly Row[]): RunKey[] {
  const known = new Set(rows.map(row => nameOf(keyOf(row))))
  return keys.filter(key => !known.has(nameOf(key)))
}

/** Runs that were pruned and are heard of again go on from what is remembered of them. */
async function reviveRuns(session: Session, keys: readonly RunKey[]): Promise<Row[]> {
  const memories = await takeMemories(session, keys)
  if (memories.length === 0) return []
  const changes = memories.map((memory): Written => {
    const run = revive(memory)
    const change = { run, jobs: [...run.jobs.values()], timing: { changedAt: memory.prunedAt } }
    return { id: undefined, change, heardFrom: {} }
  })
  await writeJobs(session, changes, await writeRuns(session, changes))
  return selectRuns(
    session,
    memories.map(({ key }) => key),
    '',
  )
}

interface Written {
  readonly id: number | undefined
  readonly change: RunChange
  readonly heardFrom: StoredRun['heardFrom']
}

/** Another replica has the deliveries: everything is rolled back. */
class Lost extends Error {}

async function writeRuns(session: Session, changes: readonly Written[]): Promise<number[]> {
  const columns = (some: readonly Written[]): unknown[] => [
    some.map(({ change }) => change.run.project.facts.id),
    some.map(({ change }) => plain(change.run.pipeline?.record.facts.status)),
    some.map(({ change }) => JSON.stringify(change.run.project)),
    some.map(({ change }) => (change.run.pipeline === undefined ? null : JSON.stringify(change.run.pipeline))),
    some.map(({ change }) => JSON.stringify(change.run.attempts)),
    some.map(({ heardFrom }) => JSON.stringify(heardFrom)),
    some.map(({ change }) => change.timing.changedAt),
    some.map(({ change }) => change.timing.endedAt ?? null),
    some.map(({ change }) => change.timing.enrichingUntil ?? null),
    some.map(({ change }) => change.timing.dueAt ?? null),
    some.map(({ change }) => plain(change.run.pipeline?.record.facts.name)),
  ]
  const arrays = `$1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[]`
  const names =
    'project_id, status, project, pipeline, attempts, heard_from, changed_at, ended_at, enriching_until, due_at, name'
  const fresh = changes.filter(({ id }) => id === undefined)
  const known = changes.filter(({ id }) => id !== undefined)
  const idOf = new Map<string, number>()
  if (fresh.length > 0) {
    const rows = await session.query(
      `INSERT INTO runs (${names}, instance, pipeline_id)
       SELECT * FROM unnest(${arrays}, $12::text[], $13::bigint[])
       ON CONFLICT (instance, pipeline_id) DO NOTHING RETURNING id, instance, pipeline_id`,
      [
        ...columns(fresh),
        fresh.map(({ change }) => change.run.key.instance),
        fresh.map(({ change }) => change.run.key.pipelineId),
      ],
    )
    // Another replica heard of one of them at the same moment: everything is decided anew, with its row locked.
    if (rows.length < fresh.length) throw new Again()
    for (const row of rows) idOf.set(nameOf(keyOf(row)), row.id as number)
  }
  if (known.length > 0) {
    const set = names
      .split(', ')
      .map(name => `${name} = v.${name}`)
      .join(', ')
    await session.query(
      `UPDATE runs r SET ${set} FROM unnest(${arrays}, $12::bigint[]) AS v (${names}, id) WHERE r.id = v.id`,
      [...columns(known), known.map(({ id }) => id)],
    )
  }
  return changes.map(({ id, change }) => id ?? idOf.get(nameOf(change.run.key)) ?? 0)
}

async function writeJobs(session: Session, changes: readonly Written[], ids: readonly number[]): Promise<void> {
  const jobs = changes.flatMap(({ change }, index) => change.jobs.map(job => ({ run: ids[index], job })))
  if (jobs.length === 0) return
  await session.query(
    `INSERT INTO jobs (run_id, job_id, record, times, frozen)
     SELECT r, j, record, times, nullif(frozen, '')
     FROM unnest($1::bigint[], $2::bigint[], ${textsOf('$3')}, ${textsOf('$4')}, ${textsOf('$5')}) AS w (r, j, record, times, frozen)
     ON CONFLICT (run_id, job_id) DO UPDATE SET record = excluded.record, times = excluded.times, frozen = excluded.frozen`,
    [
      jobs.map(({ run }) => run),
      jobs.map(({ job }) => job.id),
      textList(jobs.map(({ job }) => JSON.stringify(job.record))),
      textList(jobs.map(({ job }) => JSON.stringify(job.times))),
      textList(jobs.map(({ job }) => (job.frozen === undefined ? null : JSON.stringify(job.frozen)))),
    ],
  )
}

async function writeParts(
  session: Session,
  changes: readonly Written[],
  ids: readonly number[],
  now: number,
): Promise<void> {
  const owed = changes.flatMap(({ change }, index) => (change.owed ?? []).map(one => ({ run: ids[index], ...one })))
  if (owed.length === 0) return
  const rows = await session.query(
    `INSERT INTO parts (run_id, attempt, part, view, frozen_at)
     SELECT *, $5::bigint FROM unnest($1::bigint[], $2::int[], $3::int[], ${textsOf('$4')})
     RETURNING id, run_id, attempt, part`,
    [
      owed.map(({ run }) => run),
      owed.map(({ part }) => part.attempt),
      owed.map(({ part }) => part.part),
      textList(owed.map(({ part }) => JSON.stringify(part))),
      now,
    ],
  )
  const nameOfPart = (run: unknown, attempt: unknown, part: unknown): string => JSON.stringify([run, attempt, part])
  const idOf = new Map(rows.map(row => [nameOfPart(row.run_id, row.attempt, row.part), row.id as number]))
  const lanes = owed.flatMap(({ run, part, to }) =>
    to.map(lane => ({ id: idOf.get(nameOfPart(run, part.attempt, part.part)), ...lane })),
  )
  await session.query(
    `INSERT INTO exports (part_id, signal, destination, state, owed_at, due_at)
     SELECT p, s, d, 'owed', $4::bigint, $4::bigint FROM unnest($1::bigint[], $2::text[], $3::text[]) AS o (p, s, d)`,
    [lanes.map(({ id }) => id), lanes.map(({ signal }) => signal), lanes.map(({ destination }) => destination), now],
  )
}

/** PostgreSQL's text holds no NUL; in JSON it is escaped, in a plain column it must go. */
function plain(text: string | undefined): string | null {
  return text?.replaceAll('\u0000', '') ?? null
}
