// Tests the inventory on the shipped daemon: it reads the simulated platform's real REST API and exports to a real OTLP receiver, with a kill in
// between.
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { Daemon } from '../../e2e/daemon.ts'
import { openSqliteShared } from '../../support/stores.ts'
import { OtlpReceiver } from '../../support/otlp-receiver.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'

it('exports the inventory gauges, and continues after a kill without repeating requests', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const api = closeAfterTest(await RestApi.start({ state: new PlatformState(), now: () => Date.now() }))
  const env = {
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: 'pat-1',
    PIPESPAN_PLATFORM_PROFILE: 'gitlab',
    PIPESPAN_INVENTORY_AGENTS: 'brightwater/platform/infrastructure',
    PIPESPAN_INVENTORY_FEATURE_FLAGS: '301',
    PIPESPAN_STORE_URL: `sqlite:${temporaryFolder()}/pipespan.db`,
    PIPESPAN_METRICS_INTERVAL: '200ms',
    GITLAB_OBSERVABILITY_EXPORT: 'metrics',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  }
  const names = () => new Set(receiver.metrics.map(({ name }) => name))
  const reported = () => names().has('gitlab.agent.token.last_used') && names().has('gitlab.feature_flag.active')
  const first = await Daemon.start(env)
  await receiver.until(reported)
  const flags = receiver.metrics.find(({ name }) => name === 'gitlab.feature_flag.active')
  expect(flags?.resource.attributes).toMatchObject({ 'service.name': 'Storefront', 'service.instance.id': '301' })
  const scraped = async (): Promise<string> => (await fetch(`${first.adminUrl}/metrics`)).text()
  await expect.poll(scraped).toMatch(/^gitlab_agent_count\{.*} 2$/m)
  await first.kill()
  const asked = api.asked.length
  receiver.clear()
  await Daemon.start(env)
  await receiver.until(reported)
  expect(api.asked.slice(asked).filter(({ path }) => /agents|flags/.test(path))).toEqual([])
})

it('makes the includes of a project due after a push that changed its CI file', async () => {
  const api = closeAfterTest(await RestApi.start({ state: new PlatformState(), now: () => Date.now() }))
  const file = `${temporaryFolder()}/pipespan.db`
  const daemon = await Daemon.start({
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: 'pat-1',
    PIPESPAN_INVENTORY_INCLUDES: 'brightwater/shop/storefront',
    PIPESPAN_EVENTS: 'push',
    PIPESPAN_STORE_URL: `sqlite:${file}`,
    SERVICE_OBSERVABILITY_EXPORT: 'metrics',
  })
  const { repositories } = closeAfterTest(openSqliteShared(file, { now: () => Date.now(), maxSize: 2 ** 30 }))
  const isDue = async (): Promise<boolean[]> =>
    (await repositories.inventoryStates.all()).map(({ nextAt }) => nextAt <= Date.now())
  await expect.poll(isDue).toEqual([false])
  const push = {
    ...{ object_kind: 'push', ref: 'refs/heads/main', before: '0'.repeat(40), after: 'b'.repeat(40) },
    project: { id: 301, path_with_namespace: 'brightwater/shop/storefront', default_branch: 'main' },
    commits: [{ id: 'b'.repeat(40), added: [], modified: ['.gitlab-ci.yml'], removed: [] }],
  }
  expect((await daemon.post(JSON.stringify(push), { 'x-service-event': 'Push Hook' })).status).toBe(202)
  expect(await isDue()).toEqual([true])
})
