import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPostgres } from '../../src/store/postgres/open-postgres.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { ownOrShared } from './own-or-shared.ts'
import { startPostgres, type PostgresServer } from './postgres-server.ts'
import { t0 } from '../flow/world.ts'
import { day } from '../../src/store/ports/trends.ts'
import { manyRuns } from './many-runs.ts'
import { viewsExercise } from './views-exercise.ts'

// A server of its own: what is taken into figures over time waits for every transaction on the server that is still open.
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => server.dispose())

viewsExercise('SQLite', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-views-'))
  let now = t0
  return {
    open: async ({ maxSize = 2 ** 30 } = {}) => {
      const [file, options] = [path.join(folder, 'p.db'), { now: () => now, maxSize }]
      return ownOrShared(file, options, () => openSqlite(file, options))
    },
    now: () => now,
    move: ms => {
      now += ms
    },
    dispose: async () => rmSync(folder, { recursive: true }),
  }
})

viewsExercise('PostgreSQL', async () => {
  const url = await server.newDatabase()
  let now = t0
  return {
    open: async ({ maxSize = 2 ** 30 } = {}) => openPostgres(url, { now: () => now, maxSize }),
    now: () => now,
    move: ms => {
      now += ms
    },
    dispose: async () => undefined,
  }
})

it('the figures on PostgreSQL leave out nothing that is committed after what has a greater number', async () => {
  const url = await server.newDatabase()
  let now = t0
  const store = await openPostgres(url, { now: () => now, maxSize: 2 ** 30 })
  const pool = new pg.Pool({ connectionString: url })
  const other = await pool.connect()
  try {
    await manyRuns({ store, runs: 1, until: t0 })
    const copy = `INSERT INTO chunks (run_id, attempt, number, content, snapshot_at)
                  SELECT run_id, attempt + $1, number, content, snapshot_at FROM chunks WHERE attempt = 1`
    await other.query('BEGIN')
    await other.query(copy, [1])
    await pool.query(copy, [2])
    now += 100_000
    const { trends } = store.views
    await trends.takeIn(10)
    await other.query('COMMIT')
    while ((await trends.takeIn(10)) === 0);
    while ((await trends.takeIn(10)) > 0);
    const counted = await trends.series({}, { step: day, since: 0, until: t0 + day })
    expect(counted.reduce((sum, { runs }) => sum + runs, 0)).toBe(3)
  } finally {
    other.release()
    await pool.end()
    await store.close()
  }
})
