// Scrapes the whole daemon while nothing can be written, as on a full disk. That is when metrics are needed most.
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { generatePipeline } from '../../support/generate.ts'
import { newDatabase } from '../../core/store/new-database.ts'
import { openHouse } from '../../console/house.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'

/** Makes every write to the store fail. Returns a function that lets writes succeed again. */
const forbidWrites = {
  SQLite: async (file: string): Promise<() => Promise<void>> => {
    const beside = new DatabaseSync(file)
    const tables = beside
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all()
    const triggers = tables.flatMap(({ name }) =>
      ['INSERT', 'UPDATE', 'DELETE'].map(verb => [String(name), verb] as const),
    )
    for (const [name, verb] of triggers) {
      beside.exec(
        `CREATE TRIGGER full_${name}_${verb} BEFORE ${verb} ON ${name} BEGIN SELECT RAISE(FAIL, 'disk full'); END`,
      )
    }
    return async () => {
      for (const [name, verb] of triggers) beside.exec(`DROP TRIGGER full_${name}_${verb}`)
      beside.close()
    }
  },
  PostgreSQL: async (url: string): Promise<() => Promise<void>> => {
    const beside = new pg.Client(url)
    await beside.connect()
    await beside.query(
      `CREATE FUNCTION full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'disk full' USING ERRCODE = '53100'; END $$`,
    )
    const { rows } = await beside.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
    )
    const each = async (statement: (name: string) => string): Promise<void> => {
      for (const { name } of rows) await beside.query(statement(name))
    }
    await each(
      name =>
        `CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE OR DELETE ON ${name} FOR EACH STATEMENT EXECUTE FUNCTION full()`,
    )
    return async () => {
      await each(name => `DROP TRIGGER full_disk ON ${name}`)
      await beside.end()
    }
  },
}

it.each(['SQLite', 'PostgreSQL'] as const)(
  'reads all metrics, including active runs and the API budget, without writing anything, on %s',
  async engine => {
    const api = closeAfterTest(await RestApi.start({ state: new PlatformState(), now: () => Date.now() }))
    const storeUrl = engine === 'PostgreSQL' ? await newDatabase() : undefined
    const house = closeAfterTest(
      await openHouse({
        ...(storeUrl !== undefined && { PIPESPAN_STORE_URL: storeUrl }),
        PIPESPAN_PLATFORM_URL: api.url,
        PIPESPAN_PLATFORM_TOKEN: 'a-platform-token',
        SERVICE_OBSERVABILITY_EXPORT: 'traces,metrics',
        PIPESPAN_METRICS_INTERVAL: '1h',
      }),
    )
    await house.deliver(generatePipeline(5, 'release').deliveries.slice(0, 12))
    onTestFinished(await forbidWrites[engine](storeUrl ?? house.file))

    for (let scrape = 0; scrape < 2; scrape += 1) {
      const answer = await fetch(`${house.url}/metrics`)
      const text = await answer.text()
      expect(answer.status).toBe(200)
      expect(text).toMatch(/^pipeline_active\w*\{.*\} 1$|^cicd_pipeline_run_active\{.*\} 1$/m)
      expect(text).toMatch(/^pipespan_platform_budget_available \d/m)
      expect(text).toMatch(/^pipespan_inbox_quarantined 0$/m)
    }
  },
)
