import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openPostgres } from '../../src/store/postgres/open-postgres.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { startPostgres, type PostgresServer } from './postgres-server.ts'
import { t0 } from '../flow/world.ts'
import { viewsExercise } from './views-exercise.ts'

viewsExercise('SQLite', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-views-'))
  let now = t0
  return {
    open: async ({ maxSize = 2 ** 30 } = {}) => openSqlite(path.join(folder, 'p.db'), { now: () => now, maxSize }),
    now: () => now,
    move: ms => {
      now += ms
    },
    dispose: async () => rmSync(folder, { recursive: true }),
  }
})

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => server.dispose())

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
