// Notes about runs being settled and outbox entries being encoded, on PostgreSQL: one row each. No replica gets an item
// that another one has leased, so an existing row means that its replica has crashed.
import { z } from 'zod'
import { circumstances } from '../sql/circumstances.ts'
import { maxDeaths, type UnderWay, type UnderWayNote } from '../ports/under-way.ts'
import type { Database } from './database.ts'

export function postgresUnderWay(db: Database): UnderWay {
  return { settling: note(db, 'settling'), encoding: note(db, 'encoding') }
}

const row = z.object({ alone: z.boolean(), deaths: z.number(), under: z.string() })

/** The row must survive a crash of this process, not of the server, so the commit need not wait for the disk. */
const unsynced = `(SELECT set_config('synchronous_commit', 'off', true)) AS setting`

function note(db: Database, work: string): UnderWayNote {
  const rowOf = (name: string): string => `under way/${work}/${name}`
  let begun: readonly string[] = []
  /** Notes about finished work that are not deleted yet. */
  let outlived: readonly string[] = []

  async function clear(): Promise<void> {
    if (outlived.length === 0) return
    const names = outlived
    await db.query(`DELETE FROM key_value USING ${unsynced} WHERE name = ANY ($1)`, [names])
    outlived = outlived.slice(names.length)
  }

  return {
    begin: async names =>
      unlessAway([], async () => {
        await clear()
        const rows = await db.query(
          `INSERT INTO key_value SELECT name, $2 FROM unnest($1::text[]) AS names (name), ${unsynced}
           ON CONFLICT (name) DO NOTHING RETURNING name`,
          [names.map(rowOf), JSON.stringify({ alone: names.length === 1, deaths: 0, under: circumstances })],
        )
        begun = rows.map(({ name }) => name as string)
        const own = new Set(begun)
        return names.filter(name => !own.has(rowOf(name)))
      }),
    beginAlone: async name =>
      unlessAway(0, async () =>
        db.transaction(async session => {
          const [found] = await session.query('SELECT value FROM key_value WHERE name = $1 FOR UPDATE', [rowOf(name)])
          const before = found && row.parse(JSON.parse(found.value as string))
          const counts = before?.under === circumstances
          const deaths = counts ? Math.min(maxDeaths, before.deaths + (before.alone ? 1 : 0)) : 0
          await session.query(
            'INSERT INTO key_value VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
            [rowOf(name), JSON.stringify({ alone: true, deaths, under: circumstances })],
          )
          begun = deaths < maxDeaths ? [rowOf(name)] : []
          return deaths
        }),
      ),
    end: async () => {
      outlived = [...outlived, ...begun]
      begun = []
      await unlessAway(undefined, clear)
    },
    forget: async name => {
      outlived = [...outlived, rowOf(name)]
      await unlessAway(undefined, clear)
    },
  }
}

/** Without a database no note is written; the work itself will fail with the right error. */
async function unlessAway<T>(otherwise: T, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch {
    return otherwise
  }
}
