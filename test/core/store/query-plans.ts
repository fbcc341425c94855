// Checks that page queries use an index: no statement scans a whole table.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { countFigures } from '../../support/counted-figures.ts'
import { createDamagedRows } from '../../../src/core/store/sql/damaged-rows.ts'
import { manyRuns } from './many-runs.ts'
import { newDatabase } from './new-database.ts'
import { openPostgres, openSqlite } from '../../support/stores.ts'
import { preparedOnce } from '../../../src/core/store/sqlite/database.ts'
import { t0 } from '../../flow/world.ts'
import type { Ask, Statements } from '../../../src/core/store/sql/statements.ts'
import type { Row } from '../../../src/core/store/sql/columns.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

export interface Asked {
  /** Runs all queries once. */
  readonly askAll: (statements: Statements, ask: Ask) => Promise<void>
  /**
   * Whether a line of SQLite's query plan means that a whole table is scanned. If the function is missing or returns undefined, the default check
   * decides.
   */
  readonly isScan?: (sql: string, detail: string) => boolean | undefined
}

/** Matches lines of SQLite's query plans that scan a list rather than a table. The statement contains this list, or has just read it. */
const listsOfOurs = /^SCAN (known|walked|queues|subjects|newest_\d+|(\d+ )?CONSTANT ROW|\(subquery)/

/**
 * Whether a query plan line means that a whole table is scanned. Two kinds of reads are allowed: reading an index in its own order up to a LIMIT, and
 * reading an index that contains only the backlog.
 */
function isUsualScan(sql: string, detail: string): boolean {
  if (!detail.startsWith('SCAN') || listsOfOurs.test(detail)) return false
  if (/^SCAN listed_runs USING (COVERING )?INDEX listed_by_(time|finish|project|pipeline)$/.test(detail))
    return !sql.includes('LIMIT')
  return !/^SCAN (o|outbox) USING (COVERING )?INDEX outbox_(pending|dead)/.test(detail)
}

export function queriesUseIndexes({ askAll, isScan }: Asked): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-plan-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  describe('page queries', () => {
    it('runs page queries without a full table scan on SQLite', async () => {
      const file = path.join(folder, 'p.db')
      await fill(openSqlite(file, { now: () => t0, maxSize: 2 ** 40 }), 1_500)
      const db = new DatabaseSync(file)
      const plans: [string, string][] = []
      const ask: Ask = async (sql, values) => {
        const plan = db.prepare(`EXPLAIN QUERY PLAN ${preparedOnce(sql)}`).all(...values)
        plans.push(...plan.map(({ detail }): [string, string] => [sql, String(detail)]))
        return db.prepare(sql).all(...values)
      }
      await askAll(
        statementsOf(ask, place => `SELECT value FROM json_each(${place})`),
        ask,
      )
      db.close()
      expect(plans.length).toBeGreaterThan(20)
      expect(plans.filter(([sql, detail]) => isScan?.(sql, detail) ?? isUsualScan(sql, detail))).toEqual([])
    })

    it('uses an index for every query of the pages on PostgreSQL', async () => {
      const url = await newDatabase()
      await fill(await openPostgres(url, { now: () => t0, maxSize: 2 ** 40 }), 200)
      // There is only one connection, so that its settings apply to all queries.
      const client = new pg.Pool({ connectionString: url, max: 1 })
      try {
        // PostgreSQL scans small tables as a whole because that is faster. With this setting, it does so only if there is no index.
        await client.query('ANALYZE; SET enable_seqscan = off')
        const scans: string[] = []
        const ask: Ask = async (sql, values) => {
          const placed = sql.replace(/\?(\d+)/g, '$$$1')
          const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${placed}`, [...values])
          scans.push(...rows.map(row => row['QUERY PLAN']).filter(line => line.includes('Seq Scan')))
          return (await client.query<Row>(placed, [...values])).rows.map(numbers)
        }
        await askAll(
          statementsOf(ask, place => `SELECT CAST(${place} AS bigint)`),
          ask,
        )
        expect(scans).toEqual([])
      } finally {
        await client.end()
      }
    })
  })
}

async function fill(store: Store, runs: number): Promise<void> {
  await manyRuns({ store, runs, until: t0 })
  await countFigures(store)
  await store.close()
}

function statementsOf(ask: Ask, listed: Statements['listed']): Statements {
  const all: Statements['all'] = async (sql, values = []) => ask(sql, values)
  return { all, listed, damaged: createDamagedRows(undefined) } as unknown as Statements
}

/** Converts large numbers, which a plain client returns as strings. */
function numbers(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value,
    ]),
  )
}
