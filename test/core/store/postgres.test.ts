import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allExercises } from './all-exercises.ts'
import { postgresBenches } from './benches.ts'
import { openPostgres } from '../../support/stores.ts'
import { columnsOf } from '../../../src/core/store/postgres/statements.ts'
import { forRows } from '../../../src/core/store/sql/steps.ts'
import { query, startPostgres, type PostgresServer } from './postgres-server.ts'
import { runs } from '../../full.ts'
import { t0 } from '../../flow/world.ts'
import { binaryText } from '../../support/binary-text.ts'

// These tests have their own server, because the update of figures over time waits for every open transaction on the server.
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => server.dispose())

const bench = postgresBenches(async () => server.newDatabase())
allExercises('PostgreSQL', bench)

it('reports a PostgreSQL store size that includes all tables', async () => {
  const url = await server.newDatabase()
  const store = await openPostgres(url, { now: () => t0, maxSize: 2 ** 20 })
  try {
    const before = await store.pruning.fullness()
    // PostgreSQL publishes the statistics of a connection when the connection ends.
    await query(
      url,
      `INSERT INTO key_value (name, value)
       SELECT 'a document ' || id, repeat(md5(CAST(id AS text)), 30) FROM generate_series(1, 20000) AS id`,
    )
    await expect.poll(async () => store.pruning.fullness()).toBeGreaterThan(before + 15)
  } finally {
    await store.close()
  }
})

describe('a PostgreSQL database', () => {
  it('accepts arbitrary JSON strings as one parameter, and returns them unchanged', async () => {
    const client = new pg.Client(await server.newDatabase())
    await client.connect()
    const text = fc.oneof(
      fc.constant(null),
      fc.json(),
      binaryText().map(one => JSON.stringify(one)),
    )
    const select = forRows(['int', 'json'], ({ rows }) => `WITH w (n, text) AS (${rows}) SELECT text FROM w ORDER BY n`)
    const property = fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 8 }), async texts => {
      const { rows } = await client.query<{ text: string | null }>(
        select.postgres,
        columnsOf(
          texts.map((text, at) => [at, text]),
          select.types,
        ),
      )
      expect(rows.map(row => row.text)).toEqual(texts)
    })
    await fc.assert(property, runs(200))
    await client.end()
  })

  it('migrates a PostgreSQL database only once if many replicas open it at the same time', async () => {
    const url = await server.newDatabase()
    const stores = await Promise.all(Array.from({ length: 4 }, async () => openPostgres(url, { maxSize: 2 ** 30 })))
    for (const store of stores) await store.proveWritable()
    await Promise.all(stores.map(async store => store.close()))
  })

  it('reports an unreachable PostgreSQL database without its password, and says how to fix the problem', async () => {
    const url = (await server.newDatabase()).replace(/pipespan_\d+$/, 'no_such_database')
    const observed = await openPostgres(url, { maxSize: 1 }).catch((error: unknown) => String(error))
    expect(observed).toMatch(/PostgreSQL store cannot be opened: .*no_such_database.*PIPESPAN_STORE_URL/)
    expect(observed).not.toContain('only-for-this-test')
  })
})
