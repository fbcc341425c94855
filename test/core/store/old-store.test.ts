// A store from before the first release is rejected with an error that says how to fix the problem, and is not modified.
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { openFault } from '../../../src/core/store/sqlite/faults.ts'
import { openPostgres, openSqlite, openSqliteShared } from '../../support/stores.ts'
import { newDatabase } from './new-database.ts'
import { query } from './postgres-server.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

/** Some tables of a store from before the first release, with a pipeline that has not been exported yet. */
const oldSchema = `
  CREATE TABLE kept_deliveries (id integer PRIMARY KEY, event text NOT NULL, reason text NOT NULL);
  CREATE TABLE runs (id integer PRIMARY KEY, instance text NOT NULL, heard_from text NOT NULL);
  CREATE TABLE parts (id integer PRIMARY KEY, run_id integer NOT NULL REFERENCES runs (id), view text NOT NULL, frozen_at bigint NOT NULL);
  CREATE TABLE exports (id integer PRIMARY KEY, part_id integer NOT NULL REFERENCES parts (id), state text NOT NULL, owed_at bigint NOT NULL);
  CREATE TABLE asking (run_id integer PRIMARY KEY, lane text NOT NULL, wants integer NOT NULL, held integer NOT NULL);
  INSERT INTO runs VALUES (1, 'https://git.example.com', '{}');
  INSERT INTO parts VALUES (1, 1, '{}', 1);
  INSERT INTO exports VALUES (1, 1, 'owed', 1);`
const refusal = /pre-release.*Let the version that wrote it export its pending data.*start this version with a new/s
const options = { now: () => 1, maxSize: 2 ** 30 }

describe('an SQLite file from before the first release', () => {
  let folder: string
  let file: string
  beforeEach(() => {
    folder = temporaryFolder()
    file = path.join(folder, 'pipespan.db')
  })

  it.each([
    [1, 0],
    [7, 0],
    [2, 0x50535041],
  ])(
    'rejects an old file with schema %i in serve and in commands, and leaves it unchanged',
    (version, applicationId) => {
      const old = new DatabaseSync(file)
      old.exec(`${oldSchema} PRAGMA user_version = ${version}; PRAGMA application_id = ${applicationId}`)
      old.close()
      expect(() => openSqlite(file, options)).toThrow(refusal)
      expect(() => openSqliteShared(file, options)).toThrow(refusal)
      const after = new DatabaseSync(file)
      expect(after.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()).toEqual({ tables: 5 })
      expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: version })
      expect(after.prepare('SELECT state FROM exports').get()).toEqual({ state: 'owed' })
      after.close()
    },
  )
})

it.each(['pipespan_schema', 'pipespan_version'])(
  'rejects a PostgreSQL database from before the first release without changing it (%s)',
  async table => {
    const url = await newDatabase()
    await query(url, `${oldSchema} CREATE TABLE ${table} (version integer); INSERT INTO ${table} VALUES (8)`)
    await expect(openPostgres(url, { maxSize: 2 ** 30 })).rejects.toThrow(refusal)
    expect(await query(url, `SELECT version FROM ${table}`)).toEqual([{ version: 8 }])
    expect(await query(url, 'SELECT state FROM exports')).toEqual([{ state: 'owed' }])
    expect(await query(url, `SELECT to_regclass('outbox') AS outbox`)).toEqual([{ outbox: null }])
  },
)

// Two kinds of stores that versions between two releases wrote: in one, the next migration step has already been applied; in the other, a statement
// needs a column that no migration creates anymore.
describe.each([
  ['in which the next step has already run', 'PRAGMA user_version = 0', 'DELETE FROM pipespan_store'],
  [
    'with a different column',
    'ALTER TABLE outbox RENAME COLUMN tries TO tried',
    'ALTER TABLE outbox RENAME COLUMN tries TO tried',
  ],
])('a store from a version between two releases, %s', (_, ofFile, ofServer) => {
  const remedy = /a schema that no released version has: .*Let the version that wrote it export its pending data/s
  const use = async (open: () => Promise<Store>): Promise<void> => {
    const store = await open()
    try {
      await store.outbox.deadLetters(10)
    } finally {
      await store.close()
    }
  }

  it('rejects an SQLite store that an unreleased version wrote, and says what to do', async () => {
    const file = path.join(temporaryFolder(), 'pipespan.db')
    await openSqlite(file, options).close()
    const raw = new DatabaseSync(file)
    raw.exec(ofFile)
    raw.close()
    await expect(use(async () => openSqlite(file, options))).rejects.toThrow(remedy)
  })

  it('rejects a PostgreSQL store that an unreleased version wrote, and says what to do', async () => {
    const url = await newDatabase()
    await (await openPostgres(url, options)).close()
    await query(url, ofServer)
    await expect(use(async () => openPostgres(url, options))).rejects.toThrow(remedy)
  })
})

it('rejects a file that another process has locked, and says how to fix this', () => {
  const file = path.join(temporaryFolder(), 'pipespan.db')
  const [other, own] = [new DatabaseSync(file), new DatabaseSync(file)]
  other.exec('CREATE TABLE a (b); BEGIN EXCLUSIVE')
  let locked: unknown
  try {
    own.exec('PRAGMA busy_timeout = 0; INSERT INTO a VALUES (1)')
  } catch (error) {
    locked = error
  }
  for (const one of [other, own]) one.close()
  expect(openFault(file, locked).message).toMatch(/database is locked\. Another process has locked the file/)
})
