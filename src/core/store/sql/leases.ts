// The SQL of leases and counters, for both databases.
import { number, record, text } from './columns.ts'
import type { Statements } from './statements.ts'
import type { Store } from '../ports/store.ts'

export function leasesAndCounters(sql: Statements): Pick<Store, 'leases' | 'counters'> {
  return {
    leases: {
      take: async (name, holder, ms) => {
        const now = await sql.now()
        const taken = await sql.change(
          `INSERT INTO leases (name, holder, until) VALUES (?1, ?2, ?3)
           ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
             WHERE leases.holder = excluded.holder OR leases.until <= ?4`,
          [name, holder, now + ms, now],
        )
        return taken === 1
      },
      release: async (name, holder) => {
        await sql.change('DELETE FROM leases WHERE name = ?1 AND holder = ?2', [name, holder])
      },
    },
    counters: {
      add: async (name, by) => {
        await sql.change(addToCounter, [name, by])
      },
      all: async () => {
        const rows = (await sql.all('SELECT name, value FROM counters ORDER BY name')).map(counter)
        return new Map(rows.map(({ name, value }) => [name, value]))
      },
    },
  }
}

const counter = record({ name: text('name'), value: number('value') })

/** Values: the counter's name, and by how much. */
export const addToCounter = `
  INSERT INTO counters (name, value) VALUES (?1, ?2)
  ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value`
