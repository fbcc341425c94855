// A store of before the first release is refused, with what to do, and left as it is.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPostgres } from '../../src/store/postgres/open-postgres.ts'
import { openSqlite, openSqliteShared } from '../../src/store/sqlite/open-sqlite.ts'
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

describe('an SQLite file of before the first release', () => {
  let folder: string
  let file: string
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'pipespan-old-'))
    file = path.join(folder, 'pipespan.db')
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it.each([1, 7, 10])('is refused at its schema %i, to serve it and beside, and nothing in it changes', version => {
    const old = new DatabaseSync(file)
    old.exec(`${oldSchema} PRAGMA user_version = ${version}`)
    old.close()
    expect(() => openSqlite(file, options)).toThrow(refusal)
    expect(() => openSqliteShared(file, options)).toThrow(refusal)
    const after = new DatabaseSync(file)
    expect(after.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()).toEqual({ tables: 5 })
    expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: version })
    expect(after.prepare('SELECT state FROM exports').get()).toEqual({ state: 'owed' })
    after.close()
  })

  it('has left deliveries beside it: a new file in its place is refused until they are exported', async () => {
    mkdirSync(`${file}-inbox`)
    const name = '0000000000000001-1234abcd.journal'
    writeFileSync(path.join(`${file}-inbox`, name), 'deliveries')
    expect(() => openSqlite(file, options)).toThrow(refusal)
    expect(existsSync(file)).toBe(false)
    expect(readdirSync(`${file}-inbox`)).toEqual([name])
    rmSync(`${file}-inbox`, { recursive: true })
    await openSqlite(file, options).close()
  })
})

it('a PostgreSQL database of before the first release is refused, and nothing in it changes', async () => {
  const url = await newDatabase()
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(
      `${oldSchema} CREATE TABLE pipespan_schema (version integer); INSERT INTO pipespan_schema VALUES (8)`,
    )
    await expect(openPostgres(url, { maxSize: 2 ** 30 })).rejects.toThrow(refusal)
    const { rows } = await client.query<{ version: number }>('SELECT version FROM pipespan_schema')
    expect(rows).toEqual([{ version: 8 }])
    expect((await client.query('SELECT state FROM exports')).rows).toEqual([{ state: 'owed' }])
    expect((await client.query(`SELECT to_regclass('outbox') AS outbox`)).rows).toEqual([{ outbox: null }])
  } finally {
    await client.end()
  }
})
