// Tests the store through a real PgBouncer in transaction mode, in which each transaction may use a different server connection. With
// PIPESPAN_TEST_FULL=1, all store tests are run; otherwise only tests of features that poolers are known to break. If PgBouncer is not installed, the
// tests are skipped with a message.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enrichmentQueueExercise } from './enrichment-queue-exercise.ts'
import { exercise } from './exercise.ts'
import { takeKeys } from './taking-in-exercise.ts'
import { postgresBenches } from './benches.ts'
import { hasPgBouncer, startPgBouncer, type PgBouncer } from './pgbouncer.ts'
import { isFull } from '../../e2e/load.ts'
import { openPostgres } from '../../support/stores.ts'
import { pruningExercise } from './pruning-exercise.ts'
import { newDatabase } from './new-database.ts'

if (!hasPgBouncer) process.stderr.write('pgbouncer is not installed: the store is not tried through it\n')

let pooler: PgBouncer
beforeAll(async () => {
  if (!hasPgBouncer) return
  pooler = await startPgBouncer(await newDatabase())
})
afterAll(async () => {
  if (!hasPgBouncer) return
  await pooler.stop()
})

const bench = postgresBenches(async () => pooler.through(await newDatabase()))

describe.skipIf(!hasPgBouncer)('PostgreSQL through PgBouncer in transaction mode', () => {
  it('lets replicas migrate an empty database together, takes in each delivery once, and leaves no setting or lock behind', async () => {
    const direct = await newDatabase()
    const stores = await Promise.all(
      [1, 2, 3].map(async () => openPostgres(pooler.through(direct), { maxSize: 2 ** 30 })),
    )
    try {
      const names = Array.from({ length: 60 }, (_, at) => `delivery ${at}`)
      // Two replicas take in each delivery at the same moment, with fewer server connections than clients. Only a few deliveries are taken in at
      // once, because a client that waits too long for a connection is told to retry.
      const outcomes: unknown[] = []
      for (let from = 0; from < names.length; from += 12) {
        const taken = names
          .slice(from, from + 12)
          .flatMap(name => [0, 1].map(async at => (stores[at] === undefined ? [] : takeKeys(stores[at], name))))
        outcomes.push(...(await Promise.all(taken)))
      }
      expect(outcomes.flat().filter(isNew => isNew === true)).toHaveLength(names.length)
      const counter = { account: 'shared' }
      const counts = await Promise.all(
        Array.from({ length: 12 }, async (_, at) =>
          stores[at % 3]?.repositories.budgets.change(counter, known => ({
            document: { ...counter, tokens: (known?.tokens ?? 0) + 1, at: 0 },
            result: undefined,
          })),
        ),
      )
      expect(await stores[0]?.repositories.budgets.get(counter)).toMatchObject({ tokens: counts.length })
    } finally {
      for (const store of stores) await store.close()
    }
    const client = new pg.Client(pooler.through(direct))
    await client.connect()
    for (let asked = 0; asked < 8; asked += 1) {
      const { rows } = await client.query(
        `SELECT current_setting('statement_timeout') AS t, current_setting('idle_in_transaction_session_timeout') AS i,
                (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory'
                  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS locks`,
      )
      expect(rows).toEqual([{ t: '0', i: '0', locks: 0 }])
    }
    await client.end()
  })
})

if (hasPgBouncer && isFull) {
  exercise('PostgreSQL through PgBouncer', bench)
  pruningExercise('PostgreSQL through PgBouncer', bench)
  enrichmentQueueExercise('PostgreSQL through PgBouncer', bench)
}
