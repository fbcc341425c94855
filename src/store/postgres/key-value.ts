// Texts by name for the repositories, leases and counters on PostgreSQL.
import type { Database, Session } from './database.ts'
import { repositories } from '../sql/repositories.ts'
import type { KeyValue } from '../sql/key-value.ts'
import type { Store } from '../ports/store.ts'

export function postgresRepositories(db: Database): Pick<Store, 'repositories' | 'leases' | 'counters'> {
  const keyValue = postgresKeyValue(db)
  return {
    repositories: repositories(keyValue, db.damaged),
    leases: {
      take: async (name, holder, ms) => {
        const now = await db.now()
        const rows = await db.query(
          `INSERT INTO leases VALUES ($1, $2, $3::bigint)
           ON CONFLICT (name) DO UPDATE SET holder = $2, until = $3::bigint
             WHERE leases.holder = $2 OR leases.until <= $4::bigint
           RETURNING 1`,
          [name, holder, now + ms, now],
        )
        return rows.length === 1
      },
      release: async (name, holder) => {
        await db.query('DELETE FROM leases WHERE name = $1 AND holder = $2', [name, holder])
      },
    },
    counters: {
      add: async (name, by) => {
        await db.query(
          `INSERT INTO counters VALUES ($1, $2::bigint)
           ON CONFLICT (name) DO UPDATE SET value = counters.value + $2::bigint`,
          [name, by],
        )
      },
      all: async () =>
        new Map(
          (await db.query('SELECT name, value FROM counters ORDER BY name')).map(row => [
            row.name as string,
            row.value as number,
          ]),
        ),
    },
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
