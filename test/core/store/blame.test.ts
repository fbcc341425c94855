// Tests whether a failed write is blamed on the data or on the store, using errors of real databases.
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { DataError, StoreError } from '../../../src/lib/fault.ts'
import { instance, takeInOf } from '../../flow/world.ts'
import { openOwnDatabase as openFile } from '../../../src/core/store/sqlite/database.ts'
import { openDatabase } from '../../../src/core/store/postgres/database.ts'
import { openPostgres } from '../../support/stores.ts'
import { pipelineEvent } from '../../bounds/pipelines.ts'
import { query, startPostgres, type PostgresServer } from './postgres-server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => server.dispose())

describe('PostgreSQL errors', () => {
  const cases: readonly [what: string, sql: string, family: typeof DataError | typeof StoreError][] = [
    ['a number that is too large', `SELECT 1::int / 0`, DataError],
    ['a text that is no number', `SELECT 'x'::int`, DataError],
    ['a value that must not be missing', `INSERT INTO quarantined_deliveries (event) VALUES (NULL)`, DataError],
    ['a connection that an administrator ends', `SELECT pg_terminate_backend(pg_backend_pid())`, StoreError],
    ['a server that only reads', `SELECT set_config('transaction_read_only', 'on', true)`, StoreError],
    ...['08006', '25006', '53100', '53300', '55P03', '57014', '57P01', '57P02', '57P03', '58030', 'XX000'].map(
      code =>
        [`a server that says ${code}`, `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}'; END $$`, StoreError] as [
          string,
          string,
          typeof StoreError,
        ],
    ),
  ]

  it('blames the data only for errors about the data, inside and outside a transaction', async () => {
    const db = closeAfterTest(await openDatabase(await server.newDatabase(), {}))
    for (const [what, sql, family] of cases) {
      const inside = db.transaction(async session => {
        await session.query(sql)
        await session.query(`INSERT INTO key_value VALUES ('x', '1')`)
      })
      await expect(inside, what).rejects.toBeInstanceOf(family)
      if (!sql.includes('set_config')) await expect(db.query(sql), what).rejects.toBeInstanceOf(family)
      expect(await db.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
    }
  })

  it('blames the store if the server is unreachable or has no free connections', async () => {
    const url = await server.newDatabase()
    const db = closeAfterTest(await openDatabase(url, {}))
    await query(
      url,
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} CONNECTION LIMIT 0; CREATE ROLE lowly LOGIN PASSWORD 'x'`,
    )
    await expect(openDatabase(url.replace(/pipespan:[^@]*/, 'lowly:x'), {})).rejects.toBeInstanceOf(StoreError)
    await server.stop('immediate')
    try {
      await expect(db.query('SELECT 1')).rejects.toBeInstanceOf(StoreError)
      await expect(db.transaction(async session => session.query('SELECT 1'))).rejects.toBeInstanceOf(StoreError)
    } finally {
      await server.start()
    }
    expect(await db.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('stores deliveries whose connection was cut when they are resent, quarantines none, and counts none twice', async () => {
    const url = await server.newDatabase()
    const store = closeAfterTest(await openPostgres(url, { maxSize: 2 ** 30 }))
    // For a while, every second connection that stores deliveries is cut, even while deliveries are stored one at a time.
    await query(
      url,
      `CREATE SEQUENCE blink;
       CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n bigint := nextval('blink'); BEGIN
         IF n % 2 = 1 AND n < 60 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
         RETURN NULL;
       END $$;
       CREATE TRIGGER cut AFTER INSERT ON delivery_keys FOR EACH STATEMENT EXECUTE FUNCTION cut()`,
    )
    const takeIn = takeInOf(store)
    const ids = Array.from({ length: 60 }, (_, at) => at + 1)
    let failures = 0
    const send = async (id: number): Promise<void> => {
      const delivery = { key: `of ${id}`, event: 'Pipeline Hook', instance, source: 'webhook' as const }
      const body = Buffer.from(pipelineEvent({ id }))
      for (;;) {
        try {
          expect(await takeIn.take({ ...delivery, body })).toBe('accepted')
          return
        } catch (error) {
          expect(error).toBeInstanceOf(StoreError)
          failures += 1
        }
      }
    }
    await Promise.all(ids.map(send))
    expect(failures).toBeGreaterThan(0)
    expect(takeIn.counters).toMatchObject({ processed: ids.length, unparseable: 0 })
    expect(await store.quarantine.count()).toBe(0)
    expect((await store.runs.count()).runs).toBe(ids.length)
  })
})

describe('SQLite errors', () => {
  it('blames the data only for errors about the data in SQLite', () => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'pipespan.db')
    const db = closeAfterTest(openFile(file, { now: () => 0 }))
    const write = (sql: string): (() => unknown) => {
      return () => db.transaction(() => db.prepare(sql).run())
    }
    const note = `INSERT INTO key_value VALUES (hex(randomblob(8)), hex(randomblob(100000)))`
    expect(write(`INSERT INTO quarantined_deliveries (event) VALUES (NULL)`)).toThrow(DataError)
    expect(write(`INSERT INTO key_value VALUES ('x', zeroblob(2000000000))`)).toThrow(DataError)

    db.prepare('PRAGMA max_page_count = 1').get()
    expect(write(note)).toThrow(StoreError)
    expect(write(note)).toThrow(/Free disk space/)
    db.prepare('PRAGMA max_page_count = 1000000').get()
    db.prepare('PRAGMA query_only = ON').run()
    expect(write(note)).toThrow(StoreError)
    db.prepare('PRAGMA query_only = OFF').run()
    db.prepare('PRAGMA busy_timeout = 0').get()
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    expect(write(note)).toThrow(StoreError)
    other.exec('ROLLBACK')
    other.close()
    expect(write(note)).not.toThrow()
  })
})
