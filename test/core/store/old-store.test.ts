// A store of before the first release is refused, with what to do, and left as it is.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { openFault } from '../../../src/core/store/sqlite/faults.ts'
import { openPostgres } from '../../support/stores.ts'
import { openSqlite, openSqliteShared } from '../../support/stores.ts'
import { newDatabase } from './new-database.ts'

/** Some of its tables, with a pipeline that is still to be exported. */
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
  ])('with schema %i is refused by serve and by commands, and stays unchanged', (version, applicationId) => {
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
  })
})

it.each(['pipespan_schema', 'pipespan_version'])(
  'refuses a PostgreSQL database from before the first release without changing it (%s)',
  async table => {
    const url = await newDatabase()
    const client = new pg.Client(url)
    await client.connect()
    try {
      await client.query(`${oldSchema} CREATE TABLE ${table} (version integer); INSERT INTO ${table} VALUES (8)`)
      await expect(openPostgres(url, { maxSize: 2 ** 30 })).rejects.toThrow(refusal)
      expect((await client.query<{ version: number }>(`SELECT version FROM ${table}`)).rows).toEqual([{ version: 8 }])
      expect((await client.query('SELECT state FROM exports')).rows).toEqual([{ state: 'owed' }])
      expect((await client.query(`SELECT to_regclass('outbox') AS outbox`)).rows).toEqual([{ outbox: null }])
    } finally {
      await client.end()
    }
  },
)

describe('a store of a version between two releases is refused with a remedy', () => {
  const remedy = /a schema that no released version has: .*Let the version that wrote it export its pending data/s

  // A migration finds done what it is to do, or a statement misses what no migration makes any more.
  it.each([
    ['whose next step is done already', 'PRAGMA user_version = 0'],
    ['with another column', 'ALTER TABLE outbox RENAME COLUMN tries TO tried'],
  ])('on SQLite: one %s', async (_, change) => {
    const file = path.join(temporaryFolder(), 'pipespan.db')
    await openSqlite(file, options).close()
    const raw = new DatabaseSync(file)
    raw.exec(change)
    raw.close()
    const use = async (): Promise<void> => {
      const store = openSqlite(file, options)
      try {
        await store.outbox.deadLetters(10)
      } finally {
        await store.close()
      }
    }
    await expect(use()).rejects.toThrow(remedy)
  })

  it.each([
    ['whose next step is done already', 'DELETE FROM pipespan_store'],
    ['with another column', 'ALTER TABLE outbox RENAME COLUMN tries TO tried'],
  ])('on PostgreSQL: one %s', async (_, change) => {
    const url = await newDatabase()
    await (await openPostgres(url, options)).close()
    const client = new pg.Client(url)
    await client.connect()
    await client.query(change)
    await client.end()
    const use = async (): Promise<void> => {
      const store = await openPostgres(url, options)
      try {
        await store.outbox.deadLetters(10)
      } finally {
        await store.close()
      }
    }
    await expect(use()).rejects.toThrow(remedy)
  })
})

it('refuses a file that is no database with a fitting remedy', () => {
  const file = path.join(temporaryFolder(), 'pipespan.db')
  writeFileSync(file, 'something else, of some length, so that it is no empty database'.repeat(100))
  expect(() => openSqlite(file, options)).toThrow(/file is not a database\. Restore a backup/)
})

it('refuses a file that another process has locked with a fitting remedy', () => {
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
