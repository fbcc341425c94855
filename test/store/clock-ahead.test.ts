import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {} from 'vitest'
import { clockAheadExercise } from './clock-ahead-exercise.ts'
import { openPostgres } from '../../src/store/postgres/open-postgres.ts'
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts'
import { newDatabase } from './new-database.ts'
import { t0 } from '../flow/world.ts'

clockAheadExercise('SQLite', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-ahead-'))
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

clockAheadExercise('PostgreSQL', async () => {
  const url = await newDatabase()
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
