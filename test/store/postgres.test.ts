import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askingExercise } from './enrichment-queue-exercise.ts'
import { damageExercise } from './damage-exercise.ts'
import { exercise } from './exercise.ts'
import { openPostgres } from '../../src/store/postgres/open-postgres.ts'
import { pruningExercise } from './pruning-exercise.ts'
import { toldExercise } from './restored-jobs-exercise.ts'
import { settlerExercise, type BareBench } from './settler-exercise.ts'
import { totalsExercise } from './totals-exercise.ts'
import { textList, textsOf } from '../../src/store/postgres/text-lists.ts'
import { startPostgres, type PostgresServer } from './postgres-server.ts'
import { t0 } from '../flow/world.ts'
import { runs } from '../full.ts'

// A server of its own: what is taken into figures over time waits for every transaction on the server that is still open.
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => server.dispose())

const bench = async (): Promise<BareBench> => {
  const url = await server.newDatabase()
  let now = t0
  return {
    open: async ({ maxSize = 2 ** 30, log } = {}) => openPostgres(url, { now: () => now, maxSize, log }),
    now: () => now,
    move: ms => {
      now += ms
    },
    sql: async text => {
      const client = new pg.Client(url)
      await client.connect()
      await client.query(text)
      await client.end()
    },
    dispose: async () => undefined,
  }
}
exercise('PostgreSQL', bench)
pruningExercise('PostgreSQL', bench)
toldExercise('PostgreSQL', bench)
totalsExercise('PostgreSQL', bench)
askingExercise('PostgreSQL', bench)
settlerExercise('PostgreSQL', bench)
damageExercise('PostgreSQL', bench)

describe('a PostgreSQL database', () => {
  it('takes any JSON texts as one parameter, and gives them back as they are', async () => {
    const client = new pg.Client(await server.newDatabase())
    await client.connect()
    const text = fc.oneof(
      fc.constant(null),
      fc.json(),
      fc.string({ unit: 'binary' }).map(one => JSON.stringify(one)),
    )
    const property = fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 8 }), async texts => {
      const numbers = texts.map((_, at) => at)
      const { rows } = await client.query<{ text: string | null }>(
        `SELECT nullif(text, '') AS text FROM unnest($1::int[], ${textsOf('$2')}) AS w (n, text) ORDER BY n`,
        [numbers, textList(texts)],
      )
      expect(rows.map(row => row.text)).toEqual(texts)
    })
    await fc.assert(property, runs(200))
    await client.end()
  })

  it('is migrated once, however many replicas open it at the same moment', async () => {
    const url = await server.newDatabase()
    const stores = await Promise.all(Array.from({ length: 4 }, async () => openPostgres(url, { maxSize: 2 ** 30 })))
    for (const store of stores) await store.proveWritable()
    await Promise.all(stores.map(async store => store.close()))
  })

  it('that cannot be reached is told with what to check, and without its password', async () => {
    const url = (await server.newDatabase()).replace(/pipespan_\d+$/, 'no_such_database')
    const told = await openPostgres(url, { maxSize: 1 }).catch((error: unknown) => String(error))
    expect(told).toMatch(/PostgreSQL store cannot be opened: .*no_such_database.*PIPESPAN_STORE_URL/)
    expect(told).not.toContain('only-for-this-test')
  })
})
