// A scrape of the whole daemon where nothing can be written, as on a full disk: the moment at which metrics are wanted most.
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { generatePipeline } from '../../src/demo/platform/generate.ts'
import { openHouse } from '../pages/house.ts'
import { PlatformState } from '../../src/demo/platform/state.ts'
import { RestApi } from '../../src/demo/platform/rest-api.ts'

it('reads the metrics, runs under way and the budget of the platform among them, without writing anything', async () => {
  const api = await RestApi.start({ state: new PlatformState(), now: () => Date.now() })
  onTestFinished(async () => api.close())
  const house = await openHouse({
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: 'a-platform-token',
    SERVICE_OBSERVABILITY_EXPORT: 'traces,metrics',
    PIPESPAN_METRICS_INTERVAL: '1h',
  })
  onTestFinished(async () => house.close())
  await house.deliver(generatePipeline(5, 'release').deliveries.slice(0, 12))

  const beside = new DatabaseSync(house.file)
  onTestFinished(() => beside.close())
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
  onTestFinished(() => triggers.forEach(([name, verb]) => beside.exec(`DROP TRIGGER full_${name}_${verb}`)))

  for (let scrape = 0; scrape < 2; scrape += 1) {
    const answer = await fetch(`${house.url}/metrics`)
    const text = await answer.text()
    expect(answer.status).toBe(200)
    expect(text).toMatch(/^pipeline_active\w*\{.*\} 1$|^cicd_pipeline_run_active\{.*\} 1$/m)
    expect(text).toMatch(/^pipespan_platform_budget_available \d/m)
    expect(text).toMatch(/^pipespan_inbox_size 0$/m)
  }
})
