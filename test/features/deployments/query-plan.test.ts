// Tests that counting a deployment is fast, however many deployments its environment has.
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import path from 'node:path'
import { createDamagedRows } from '../../../src/core/store/sql/damaged-rows.ts'
import { instance, t0 } from '../../flow/world.ts'
import { neighbours } from '../../../src/features/deployments/sql/deployment-neighbours.ts'
import { openSqlite } from '../../support/stores.ts'
import { preparedOnce } from '../../../src/core/store/sqlite/database.ts'
import { temporaryFolder } from '../../support/after-test.ts'
import type { StepOf } from '../../../src/core/store/sql/steps.ts'

it('compares a deployment with earlier ones without reading all deployments of its environment', async () => {
  const file = path.join(temporaryFolder(), 'deployments.db')
  await openSqlite(file, { now: () => t0, maxSize: 2 ** 40 }).close()
  const db = new DatabaseSync(file)
  const insert = db.prepare(
    `INSERT INTO deployments (instance, project_id, job_id, environment, outcome, revision, happened_at, finished_at, content, known_at, due_at)
     VALUES ('${instance}', 100, ?1, 'production', 'succeeded', 'e83c516', ?1, ?1, '{"event":{"facts":{}}}', ?1, ?1)`,
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
  // Queries search deployments by end time using only the index, and read single rows by id.
  const narrow =
    /rowid=\?|COVERING INDEX deployments_of_environment \(instance=\? AND project_id=\? AND environment=\? AND .*finished_at/
  const searches = plans.filter(detail => detail.startsWith('SEARCH deployments'))
  expect(searches).toHaveLength(7)
  // However many deployments ended at the same time, the index finds the preceding ones by id.
  expect(searches.filter(detail => detail.includes('finished_at=? AND id<?'))).toHaveLength(1)
  expect(searches.filter(detail => !narrow.test(detail))).toEqual([])
  expect(
    plans.filter(detail => detail.startsWith('SCAN') && !/^SCAN (newest|recent|of_(same_time|others))$/.test(detail)),
  ).toEqual([])
})
