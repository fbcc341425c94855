// What the pages ask is answered through an index.
import { DatabaseSync } from 'node:sqlite'
import path from 'node:path'
import { expect, it } from 'vitest'
import { countBacklog } from '../../src/core/store/sqlite/backlog.ts'
import { createDamagedRows } from '../../src/core/store/sql/damaged-rows.ts'
import { deadLetters, selectQueues } from '../../src/core/store/sql/outbox.ts'
import { everything } from '../../src/core/store/ports/scope.ts'
import { neighbours } from '../../src/features/deployments/sql/deployment-neighbours.ts'
import { openSqlite } from '../support/stores.ts'
import { preparedOnce } from '../../src/core/store/sqlite/database.ts'
import { queriesUseIndexes } from './query-plans.ts'
import { t0 } from '../flow/world.ts'
import { temporaryFolder } from '../support/after-test.ts'
import { unbounded } from '../../src/core/store/sql/reading.ts'
import { viewsWithin } from '../../src/core/store/read-models/reads.ts'
import type { RunQuery } from '../../src/core/store/ports/views.ts'
import type { Statements } from '../../src/core/store/sql/statements.ts'
import type { StepOf } from '../../src/core/store/sql/steps.ts'

const day = 86_400_000
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

async function askAll(statements: Statements): Promise<void> {
  const views = viewsWithin(unbounded(statements), [])
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
  await views.audit(50)
  await views.audit(50, { at: t0, id: 7 })
  for (const project of [undefined, 'acme/shop'])
    await views.shownEvents({ as: 'merge', project, since: t0 - 30 * day, until: t0, limit: 50 })
  await deadLetters(statements, async () => [])
    .within(everything)
    .deadLetters(100)
}

queriesUseIndexes({
  askAll: async (statements, ask) => {
    await askAll(statements)
    await ask(selectQueues, [])
  },
  onSqlite: async ask => {
    await countBacklog(ask)
  },
})

it('comparing a deployment does not read all deployments of its environment', async () => {
  const file = path.join(temporaryFolder(), 'deployments.db')
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
