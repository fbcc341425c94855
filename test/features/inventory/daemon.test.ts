// The shipped daemon reports what its platform has: the simulated platform's real REST API in, a real OTLP receiver out, a kill between.
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { Daemon } from '../../e2e/daemon.ts'
import { OtlpReceiver } from '../../support/otlp-receiver.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'

it('sends the inventory gauges, and continues after a kill without new requests', async () => {
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

it('asks for the includes of a project again after a push that touched its CI file', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const api = closeAfterTest(await RestApi.start({ state: new PlatformState(), now: () => Date.now() }))
  const daemon = await Daemon.start({
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: 'pat-1',
    PIPESPAN_INVENTORY_INCLUDES: 'brightwater/shop/storefront',
    PIPESPAN_EVENTS: 'push',
    SERVICE_OBSERVABILITY_EXPORT: 'metrics,logs',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  })
  const asked = (): number => api.asked.filter(({ path }) => path.endsWith('/ci/lint')).length
  await expect.poll(asked).toBe(1)
  const push = async (file: string, id: string): Promise<void> => {
    const project = {
      id: 301,
      name: 'Storefront',
      path_with_namespace: 'brightwater/shop/storefront',
      default_branch: 'main',
      web_url: `${api.url}/brightwater/shop/storefront`,
    }
    const commits = [{ id, added: [], modified: [file], removed: [] }]
    const body = {
      object_kind: 'push',
      before: '0'.repeat(40),
      after: id,
      ref: 'refs/heads/main',
      project_id: 301,
      project,
      commits,
      total_commits_count: 1,
    }
    expect((await daemon.post(JSON.stringify(body), { 'x-service-event': 'Push Hook' })).status).toBe(202)
  }
  await push('README.md', 'a'.repeat(40))
  await receiver.until(() => receiver.logs.length === 1)
  await push('.gitlab-ci.yml', 'b'.repeat(40))
  await expect.poll(asked).toBe(2)
  const found = (await (await fetch(`${daemon.adminUrl}/api/components`)).json()) as {
    projects: number
    components: { name: string }[]
  }
  expect(found.projects).toBe(1)
  expect(found.components.map(({ name }) => name)).toContain('brightwater/ci-templates:/templates/deploy.yml')
})
