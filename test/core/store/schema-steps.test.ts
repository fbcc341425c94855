// The schema step of a later version upgrades a store in place. The previous version can still open the upgraded store, but older versions cannot.
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { migrate as migratePostgres, postgresMigrations } from '../../../src/core/store/postgres/migrate.ts'
import { migrate as migrateSqlite, sqliteMigrations } from '../../../src/core/store/sqlite/migrate.ts'
import { newDatabase } from './new-database.ts'
import { openPostgres } from '../../support/stores.ts'
import { openSqlite } from '../../support/stores.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const options = { now: () => 1, maxSize: 2 ** 30 }
const next = `ALTER TABLE counters ADD COLUMN note text; UPDATE counters SET note = 'kept'`

/** For each engine, functions that open a store of this version and upgrade it with the steps of later versions. */
const engines = [
  {
    name: 'SQLite',
    make: () => {
      const file = path.join(temporaryFolder(), 'pipespan.db')
      const open = async (): Promise<Store> => Promise.resolve(openSqlite(file, options))
      const upgrade = async (steps: readonly string[]): Promise<unknown[]> => {
        const connection = new DatabaseSync(file)
        migrateSqlite(connection, [], [...sqliteMigrations, ...steps])
        const notes = connection.prepare('SELECT name, note FROM counters').all()
        connection.close()
        return Promise.resolve(notes)
      }
      return Promise.resolve({ open, upgrade })
    },
  },
  {
    name: 'PostgreSQL',
    make: async () => {
      const url = await newDatabase()
      const open = async (): Promise<Store> => openPostgres(url, options)
      const upgrade = async (steps: readonly string[]): Promise<unknown[]> => {
        const pool = new pg.Pool({ connectionString: url })
        await migratePostgres(pool, [], [...postgresMigrations, ...steps])
        const { rows } = await pool.query<{ name: string; note: string }>('SELECT name, note FROM counters')
        await pool.end()
        return rows
      }
      return { open, upgrade }
    },
  },
]

describe.each(engines)('a store on $name', ({ make }) => {
  it('upgrades a store in place with the schema step of a later version, and still opens it with this version', async () => {
    const { open, upgrade } = await make()
    const first = await open()
    await first.counters.add('deliveries', 3)
    await first.close()
    expect(await upgrade([next])).toEqual([{ name: 'deliveries', note: 'kept' }])
    const again = await open()
    expect(Object.fromEntries(await again.counters.all())).toMatchObject({ deliveries: 3 })
    await again.close()
  })

  it('rejects a store whose schema is two versions newer, and says what to do', async () => {
    const { open, upgrade } = await make()
    await (await open()).close()
    await upgrade([next, 'ALTER TABLE counters ADD COLUMN other text'])
    const own = sqliteMigrations.length
    await expect(open()).rejects.toThrow(
      `has schema ${own + 2}; this version supports schemas up to ${own + 1}. Run the Pipespan version`,
    )
  })
})
