// Creates a store that looks like one after long use. It contains runs that a real daemon stored, in every table, and copies of these runs.
import { closeSync, cpSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import path from 'node:path'
import { countsOf, startDaemon, startServer, storeFile, temporaryFolder } from './processes.ts'
import { countFigures } from '../test/support/counted-figures.ts'
import { load, type Hook } from './load.ts'
import { oneOf, pipelineEvent } from './payload.ts'
import { openSqlite } from '../src/core/store/sqlite/open-sqlite.ts'
import { sendsNothing } from '../src/core/store/ports/outbox.ts'
import { plansOf } from './plans.ts'

/** The number of runs that a real daemon processed and exported. All other runs are copies of them. */
const realRuns = 1_000
/** The number of days over which a million runs are spread. */
const days = 6
const hour = 3_600_000
/** The tables that grow with the number of runs, in addition to the tables with a `run_id` column. */
const filled = ['runs', 'chunks', 'deployments', 'delivery_keys']
const day = 24 * hour

/** The environment of a daemon that serves a filled store. The size limit is high, so that the daemon deletes no data. */
export const filledEnv = { PIPESPAN_STORE_MAX_SIZE: '200GiB' } as const

export interface FilledStore extends Disposable {
  readonly folder: string
  /** Returns the first of a million pipeline ids that are not in the store yet. Each call returns a different range. */
  newPipelines(): number
}

/** Creates a filled store. `runs` is a multiple of 1,000. */
export async function filledStore(runs: number): Promise<FilledStore> {
  real ??= takeInReal()
  const folder = temporaryFolder()
  cpSync(await real, folder.path, { recursive: true })
  if (runs > realRuns) multiply(path.join(folder.path, storeFile), runs / realRuns)
  let millions = 0
  return {
    folder: folder.path,
    newPipelines: () => (millions += 1) * 1_000_000,
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

let real: Promise<string> | undefined
let shared: Promise<FilledStore> | undefined

/**
 * Returns a store with a million runs (quick: 100,000) that all benchmarks of a suite share, because filling it takes minutes. The store is deleted
 * when the process ends.
 */
export async function sharedStore(quick: boolean): Promise<FilledStore> {
  shared ??= filledStore(quick ? 100_000 : 1_000_000)
  return shared
}

/** Lets a daemon process and export small pipelines of many projects, then stops the daemon. Returns the folder of its store. */
async function takeInReal(): Promise<string> {
  const { path: folder } = temporaryFolder()
  await using sink = await startServer('sink.ts')
  await using daemon = await startDaemon({ backend: sink.port, folder })
  const template = oneOf(plansOf('small', 200).map(plan => pipelineEvent(plan, 1)))
  let pipeline = 0
  const next = (): Hook | undefined =>
    pipeline < realRuns ? { event: 'Pipeline Hook', template, pipeline: pipeline++, isFinish: true } : undefined
  const end = new AbortController()
  const { ended } = load({ ports: [daemon.port], next, signal: end.signal })
  while ((await countsOf(sink)).pipelines < realRuns) await Promise.race([ended, sleep(20)])
  end.abort()
  await ended
  await daemon.stop()
  // A daemon would compute the trend figures some seconds after the last export, so they are computed here.
  const store = openSqlite(path.join(folder, storeFile), {
    now: () => Date.now(),
    maxSize: 2 ** 40,
    encode: sendsNothing,
  })
  await countFigures(store)
  await store.close()
  return folder
}

/** Multiplies the rows of the store. Ids and times are shifted, as if the daemon had run for days. */
function multiply(file: string, times: number): void {
  const db = new DatabaseSync(file)
  db.exec(`
    PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -500000; BEGIN`)
  const highest = (table: string): number => db.prepare(`SELECT max(id) AS id FROM ${table}`).get()?.id as number
  const moves: Record<string, number> = {
    ...{ run_id: highest('runs'), 'runs.id': highest('runs'), 'deployments.id': highest('deployments') },
    ...{ chunk_id: highest('chunks'), 'chunks.id': highest('chunks') },
    ...{ pipeline_id: realRuns, job_id: realRuns * 10_000, first_job: realRuns * 10_000 },
  }
  // The daemon was stopped before it counted the deployments in its store, so they are marked as counted.
  db.exec('UPDATE deployments SET due_at = NULL, counted_at = known_at WHERE due_at IS NOT NULL')
  const apart = Math.floor((days * day) / times)
  for (const { name, columns } of tablesOf(db)) {
    if (!columns.includes('run_id') && !filled.includes(name)) continue
    const values = columns.map(column => {
      const by = moves[`${name}.${column}`] ?? moves[column]
      if (by !== undefined) return `${column} + ${by} * n`
      if (column === 'key') return 'lower(hex(randomblob(18)))'
      if (column === 'revision') return 'lower(hex(randomblob(20)))'
      return (column.endsWith('_at') || column === 'pending_since') && column !== 'due_at'
        ? `${column} - ${apart} * (${times} - n)`
        : column
    })
    db.exec(`CREATE TEMP TABLE real_${name} AS SELECT * FROM ${name}`)
    // The copies are inserted table by table, so that each table grows at its end.
    db.prepare(
      `WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < ${times} - 1)
       INSERT INTO ${name} (${columns.join(', ')}) SELECT ${values.join(', ')} FROM copies CROSS JOIN real_${name}`,
    ).run()
  }
  // The trend figures are copied separately, because they have a row for every day and, for some days, a row for every hour. Rows that exist already
  // are skipped.
  db.exec('CREATE TEMP TABLE real_trends AS SELECT * FROM trends')
  const trends = (tablesOf(db).find(({ name }) => name === 'trends')?.columns ?? []).join(', ')
  const earlier = db.prepare(
    `INSERT OR IGNORE INTO trends (${trends})
     SELECT ${trends.replace('bucket', 'bucket - step * ?1')} FROM real_trends WHERE step * ?1 < ?2`,
  )
  for (let step = 1; step < (days * day) / hour; step += 1) earlier.run(step, days * day)
  db.exec('COMMIT; PRAGMA journal_mode = WAL')
  db.close()
  // The file is synced, because the system would otherwise write pending data during the measurement.
  const written = openSync(file, 'r+')
  fsyncSync(written)
  closeSync(written)
}

function tablesOf(db: DatabaseSync): { name: string; columns: string[] }[] {
  const columns = db.prepare('SELECT name FROM pragma_table_info(?)')
  return db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`)
    .all()
    .map(table => table.name as string)
    .map(name => ({ name, columns: columns.all(name).map(column => column.name as string) }))
}
