// Texts by name for the repositories, leases and counters on PostgreSQL.
import type { Database, Session } from './database.ts'
import { leasesAndCounters } from '../sql/leases.ts'
import { repositories } from '../sql/repositories.ts'
import { postgresStatements } from './statements.ts'
import type { KeyValue } from '../sql/key-value.ts'
import type { Store } from '../ports/store.ts'

export function postgresRepositories(db: Database): Pick<Store, 'repositories' | 'leases' | 'counters'> {
  const keyValue = postgresKeyValue(db)
  return {
    repositories: repositories(keyValue, db.damaged),
    ...leasesAndCounters(postgresStatements(db)),
  }
}

function postgresKeyValue(db: Database): KeyValue {
  const read = async (session: Session, name: string): Promise<string | undefined> =>
    (await session.query('SELECT value FROM key_value WHERE name = $1', [name]))[0]?.value as string | undefined
  return {
    read: async name => read(db, name),
    change: async (name, change) =>
      db.transaction(async (session, now) => {
        // A document that does not exist yet cannot be locked by its row, so its name is.
        await session.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name])
        const { value, result } = change(await read(session, name), now)
        if (value === undefined) await session.query('DELETE FROM key_value WHERE name = $1', [name])
        else {
          await session.query(
            'INSERT INTO key_value VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
            [name, value],
          )
        }
        return result
      }),
    list: async prefix => {
      const rows = await db.query('SELECT name, value FROM key_value WHERE starts_with(name, $1) ORDER BY name', [
        prefix,
      ])
      return rows.map(row => ({ name: row.name as string, value: row.value as string }))
    },
    now: async () => db.now(),
  }
}
