// Deployments on both databases.
import pg from 'pg'
import { expect, it } from 'vitest'
import { deployments as storedDeployments, deploymentReporter } from '../../src/features/deployments/sql/deployments.ts'
import { reportsBy } from '../../src/core/store/ports/reporter.ts'
import { deploymentsExercise, nothing } from './deployments-exercise.ts'
import { event, instance, minute, rules, t0 } from '../flow/world.ts'
import { mergeObservations } from '../../src/core/take-in/merge-observations.ts'
import { newDatabase } from './new-database.ts'
import { observedEvent } from '../../src/features/deployments/model/deployment.ts'
import { openPostgres } from '../support/stores.ts'
import { bothDatabases } from './benches.ts'

const project = { id: 3, name: 'shop', path: 'acme/shop' }

for (const [name, bench] of bothDatabases()) deploymentsExercise(name, bench)

it('a report that arrives while another replica counts its deployment waits for it, and does not make it due again', async () => {
  const url = await newDatabase()
  let now = t0
  const store = await openPostgres(url, { now: () => now, maxSize: 2 ** 30 })
  const pool = new pg.Pool({ connectionString: url })
  /** The snapshot of a pipeline reports it. */
  const report = async (pipelineId: number, at: number): Promise<void> => {
    const facts = observedEvent({ status: 'success', at, environment: 'staging' })
    const deployment = { instance, project, deploymentId: 1, event: facts }
    const more = { reports: reportsBy(deploymentReporter, [{ report: deployment, countIn: minute }]) }
    const work = mergeObservations([event('running', {}, [], {}, pipelineId)], 'webhook', rules)
    return store.runs.transact(
      work.map(({ decide, ...one }) => ({
        ...one,
        decide: (known, at) => {
          const change = decide(known, at)
          return change && { ...change, ...more }
        },
      })),
    )
  }
  const other = await pool.connect()
  try {
    await report(1, t0)
    now += minute
    await other.query('BEGIN')
    await other.query('UPDATE deployments SET due_at = NULL, counted_at = $1', [now])
    const reported = report(2, t0 + 1_000)
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await expect.poll(async () => (await pool.query(waiting)).rows.length).toBeGreaterThan(0)
    await other.query('COMMIT')
    await reported
    now += minute
    expect(await store.on(storedDeployments).countDue(10, () => nothing)).toEqual([])
    expect(await store.on(storedDeployments).list({ since: 0, until: now, limit: 10 })).toMatchObject([
      { at: t0 + 1_000 },
    ])
  } finally {
    other.release()
    await pool.end()
    await store.close()
  }
})
