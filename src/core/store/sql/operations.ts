// The store's operations that are the same for both databases.
import { bringBack } from './too-far-ahead.ts'
import { enrichmentQueue } from '../ports/enrichment-queue.ts'
import { quarantine } from '../ports/quarantine.ts'
import { repositories } from './repositories.ts'
import { addToCounter } from './fold-totals.ts'
import { totals } from '../ports/totals.ts'
import { unbounded } from './reading.ts'
import { viewsWithin } from '../read-models/reads.ts'
import type { SharedStore, StoreOptions } from '../ports/store.ts'
import type { Statements } from './statements.ts'
import { number, record, text } from './columns.ts'

export function operations(sql: Statements, options: Pick<StoreOptions, 'parts'>) {
  const { damaged } = sql
  const { parts = [] } = options
  return {
    enrichment: enrichmentQueue(sql),
    repositories: repositories(sql),
    totals: totals(sql),
    parts,
    on: make => make(sql),
    views: viewsWithin(unbounded(sql), parts),
    quarantine: quarantine(sql),
    damaged,
    now: async () => sql.now(),
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
    bringBack: async () => bringBack(sql, parts),
  } satisfies Partial<SharedStore>
}

const counter = record({ name: text('name'), value: number('value') })
