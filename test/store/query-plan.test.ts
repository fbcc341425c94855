// What the pages ask is answered through an index: no statement reads a table from end to end.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { day, hour, trendOrders } from '../../src/core/store/ports/trends.ts'
import { manyRuns } from './many-runs.ts'
import { openPostgres } from '../support/stores.ts'
import { preparedOnce } from '../../src/core/store/sqlite/database.ts'
import { openSqlite } from '../support/stores.ts'
import { deadLetters, selectQueues } from '../../src/core/store/sql/outbox.ts'
import { everything, type Scope } from '../../src/core/store/ports/scope.ts'
import { readings } from '../../src/core/store/sql/reading.ts'
import { viewsWithin } from '../../src/core/store/read-models/reads.ts'
import { newDatabase } from './new-database.ts'
import { t0 } from '../flow/world.ts'
import { createDamagedRows } from '../../src/core/store/sql/damaged-rows.ts'
import { costGroups } from '../../src/core/store/ports/costs.ts'
import { countBacklog } from '../../src/core/store/sqlite/backlog.ts'
import { neighbours } from '../../src/features/deployments/sql/deployment-neighbours.ts'
import type { Ask, Statements } from '../../src/core/store/sql/statements.ts'
import type { Row } from '../../src/core/store/sql/columns.ts'
import type { StepOf } from '../../src/core/store/sql/steps.ts'
import type { RunQuery } from '../../src/core/store/ports/views.ts'
import type { Store } from '../../src/core/store/ports/store.ts'

const key = { instance: 'https://git.example.com', pipelineId: 1_003 }
const equals: Partial<RunQuery>[] = [
  {},
  { text: 'prices' },
  { project: 'acme/shop/api' },
  { ref: 'main' },
  { status: 'failed' },
  { source: 'push' },
  { job: 'unit' },
  { job: 'unit', project: 'acme/shop/api' },
  { project: 'acme/shop/api', ref: 'main', status: 'failed', source: 'push', text: 'amina' },
]

/** What SQLite says of a list that the statement itself has, or has just read. */
const listsOfOurs = /^SCAN (known|walked|queues|subjects|newest_\d+|(\d+ )?CONSTANT ROW|\(subquery)/

/** Everything that the pages ask, once. */
async function askAll(ask: Ask, listed: Statements['listed'], scope: Scope): Promise<void> {
  const all: Statements['all'] = async (sql, values = []) => ask(sql, values)
  const statements = { all, listed, damaged: createDamagedRows(undefined) } as unknown as Statements
  const views = viewsWithin(readings(statements)(scope))
  await views.inStatus(['running', 'failed'], 20)
  await views.countInStatus(['running', 'failed'])
  await views.lastFinished(20)
  await views.silentInStatus(['running', 'failed'], t0, 20)
  await views.newestFirstSeen()
  await views.countFinished(t0)
  await views.projects(100)
  await views.find(100, key.pipelineId)
  await views.children(key)
  await views.listedKeys(20)
  await views.chunks(key)
  await views.chunksOf([{ id: 1 }, { id: 2 }])
  await views.sections(key, 100)
  await views.sections(key, 20, 1)
  await views.outboxOf(key)
  for (const query of equals) {
    const { next } = await views.search({ ...query, limit: 20 })
    const { text: _, job: __, ...counted } = query
    await views.countRuns(counted)
    await views.countRuns({ ...counted, since: t0 - day, until: t0 })
    await views.search({
      ...query,
      since: t0 - day,
      until: t0,
      limit: 20,
      after: next ?? { createdAt: t0, pipelineId: 1 },
    })
  }
  const { trends, costs } = views
  const query = { step: day, since: t0 - 30 * day, until: t0 } as const
  await trends.series({}, { ...query, step: hour })
  await trends.series({ projectId: 100, job: 'unit' }, query)
  const kind = { branch: 'default', source: 'push', pipelineName: 'Nightly' } as const
  await trends.series({}, { ...query, ...kind })
  await trends.extent({})
  await trends.paths(100)
  await trends.extent({ projectId: 100, job: 'unit' })
  for (const projectId of [undefined, 100]) {
    await trends.names({ ...query, projectId }, 20)
    for (const runner of [undefined, 'a runner']) {
      for (const ref of [undefined, 'main']) await trends.retained({ ...query, ...kind, projectId, ref, runner })
    }
  }
  await trends.ofJobs({ instance: key.instance, projectId: 100 }, ['', 'unit', 'lint'], query)
  for (const by of trendOrders) {
    await trends.projects(by, query, 20)
    await trends.jobs(by, query, 10)
    await trends.jobs(by, { ...query, ...kind, projectId: 100 }, 10)
  }
  for (const by of costGroups) {
    for (const projectId of [undefined, 100]) await costs.lines(by, { since: t0 - 30 * day, until: t0, projectId }, 20)
  }
  for (const projectId of [undefined, 100])
    await costs.retained({ since: t0 - 30 * day, until: t0, projectId, limit: 20, max: 100 })
  await views.audit(50)
  await views.audit(50, { at: t0, id: 7 })
  for (const project of [undefined, 'acme/shop'])
    await views.shownEvents({ as: 'merge', project, since: t0 - 30 * day, until: t0, limit: 50 })
  await deadLetters(statements, async () => [])
    .within(scope)
    .deadLetters(100)
}

async function fill(store: Store, runs: number): Promise<void> {
  await manyRuns({ store, runs, until: t0 })
  while ((await store.views.trends.takeIn(500)) > 0);
  await store.close()
}

describe('on SQLite', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-plan-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  /** Reading an index in its own order up to a LIMIT, or one that holds only the backlog, is no reading of a table. */
  function isScan(sql: string, detail: string): boolean {
    // Figures are kept for long: a search that does not start at the time asked for reads all of it.
    // The least project after another one is one step of an index.
    if (sql.includes('min(project_id)') && detail.endsWith('(step=? AND project_id>?)')) return false
    if (detail.startsWith('SEARCH trends')) return !detail.includes('bucket>')
    if (!detail.startsWith('SCAN') || listsOfOurs.test(detail)) return false
    if (/^SCAN listed_runs USING (COVERING )?INDEX listed_by_(time|finish|project|pipeline)$/.test(detail))
      return !sql.includes('LIMIT')
    return !/^SCAN (o|outbox) USING (COVERING )?INDEX outbox_(pending|dead)/.test(detail)
  }

  it('the queries of the pages scan no table', async () => {
    const file = path.join(folder, 'p.db')
    await fill(openSqlite(file, { now: () => t0, maxSize: 2 ** 40 }), 1_500)
    const db = new DatabaseSync(file)
    const plans: [string, string][] = []
    const ask: Ask = async (sql, values) => {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${preparedOnce(sql)}`).all(...values)
      plans.push(...plan.map(({ detail }): [string, string] => [sql, String(detail)]))
      return db.prepare(sql).all(...values)
    }
    await askAll(ask, place => `SELECT value FROM json_each(${place})`, everything)
    await countBacklog(ask)
    db.close()
    expect(plans.length).toBeGreaterThan(60)
    expect(plans.filter(([sql, detail]) => isScan(sql, detail))).toEqual([])
  })

  it('comparing a deployment does not read all deployments of its environment', async () => {
    const file = path.join(folder, 'deployments.db')
    await openSqlite(file, { now: () => t0, maxSize: 2 ** 40 }).close()
    const db = new DatabaseSync(file)
    const insert = db.prepare(
      `INSERT INTO deployments (instance, project_id, job_id, environment, outcome, revision, happened_at, finished_at, content, known_at, due_at)
       VALUES ('${key.instance}', 100, ?1, 'production', 'succeeded', 'e83c516', ?1, ?1, '{"event":{"facts":{}}}', ?1, ?1)`,
    )
    for (const at of [1, 2, 3]) insert.run(at)
    const plans: string[] = []
    const [own = {}] = db.prepare('SELECT * FROM deployments WHERE job_id = 2').all()
    const steps = neighbours(own, createDamagedRows(undefined))
    for (let step = steps.next(); step.done !== true;) {
      const [sql, values] = step.value as StepOf
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${preparedOnce(sql)}`).all(...values)
      plans.push(...plan.map(({ detail }) => String(detail)))
      step = steps.next(db.prepare(sql).all(...values))
    }
    db.close()
    // In the order of their ends, by the index alone; and one row by its id.
    const narrow =
      /rowid=\?|COVERING INDEX deployments_of_environment \(instance=\? AND project_id=\? AND environment=\? AND .*finished_at/
    const searches = plans.filter(detail => detail.startsWith('SEARCH deployments'))
    expect(searches).toHaveLength(7)
    // However many ended at the same time: those before it by id are a place in the index.
    expect(searches.filter(detail => detail.includes('finished_at=? AND id<?'))).toHaveLength(1)
    expect(searches.filter(detail => !narrow.test(detail))).toEqual([])
    expect(
      plans.filter(detail => detail.startsWith('SCAN') && !/^SCAN (newest|recent|of_(same_time|others))$/.test(detail)),
    ).toEqual([])
  })
})

describe('on PostgreSQL', () => {
  it('the queries of the pages use an index', async () => {
    const url = await newDatabase()
    await fill(await openPostgres(url, { now: () => t0, maxSize: 2 ** 40 }), 200)
    // One connection: what is set for it holds for all that is asked.
    const client = new pg.Pool({ connectionString: url, max: 1 })
    try {
      // A small table is read whole because that is quicker. Where there is no index, it is read whole even so.
      await client.query('ANALYZE; SET enable_seqscan = off')
      const scans: string[] = []
      const ask: Ask = async (sql, values) => {
        const placed = sql.replace(/\?(\d+)/g, '$$$1')
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${placed}`, [...values])
        scans.push(...rows.map(row => row['QUERY PLAN']).filter(line => line.includes('Seq Scan')))
        return (await client.query<Row>(placed, [...values])).rows.map(numbers)
      }
      await askAll(ask, place => `SELECT CAST(${place} AS bigint)`, everything)
      await ask(selectQueues, [])
      expect(scans).toEqual([])
    } finally {
      await client.end()
    }
  })
})

/** A bare client gives large numbers as text. */
function numbers(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value,
    ]),
  )
}
