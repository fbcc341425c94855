// Tests one shipped daemon with two simulated platforms and three tokens. Pipelines of both platforms are exported, and a revoked token affects only
// its own projects.
import { afterAll, expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { Daemon } from './daemon.ts'
import { deliveryOf, headersOf, type Delivery } from '../../src/simulator/platform/delivery.ts'
import { Lifecycle } from '../../src/simulator/platform/lifecycle.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { projects, type SimProject } from '../../src/simulator/platform/world.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { restRefusals } from '../../src/simulator/platform/rest-replies.ts'
import { scenarios } from '../../src/simulator/platform/scenarios.ts'
import { startPostgres } from '../core/store/postgres-server.ts'
import { Timeline } from '../../src/simulator/platform/timeline.ts'

const minute = 60_000

/** Starts a platform whose pipelines end before the daemon sees them. Both platforms use the same pipeline ids. */
async function openPlatform(headerPrefix: string) {
  const state = new PlatformState()
  const api = closeAfterTest(await RestApi.start({ state, now: () => Date.now(), pushesAreActivity: true }))
  const valid = new Set<string>()
  const tokenOf = ({ headers }: (typeof api.asked)[number]): string => String(headers['private-token'])
  api.misbehave = request => (valid.has(tokenOf(request)) ? undefined : restRefusals.wrongToken())
  let now = Date.now() - 60 * minute
  const timeline = new Timeline(now)
  const random = new Random(11)
  const deliveries: Delivery[] = []
  const lifecycle = new Lifecycle(state, timeline, random, news => {
    const delivery = deliveryOf(news, { instance: api.url, newest: true }, random)
    if (delivery.kind === 'pipeline') deliveries.push(delivery)
  })
  return {
    ...{ api, valid },
    run: (project: SimProject): number => {
      const { id } = lifecycle.create({ ...scenarios.small(new Random(3)), project, acts: [] })
      now += 3 * minute
      timeline.runUntil(now)
      return id
    },
    /** Sends the last webhook about a pipeline, and resolves to the response status. */
    post: async (webhooks: string, id: number, token: string): Promise<number> => {
      const delivery = deliveries.findLast(({ pipelineId }) => pipelineId === id)!
      const headers = headersOf(delivery, { headerPrefix, instance: api.url, token }, Date.now(), random)
      const body = Buffer.from(delivery.body)
      return (
        await fetch(webhooks, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
      ).status
    },
    /** Returns the tokens of all requests about a project's pipelines. */
    tokensFor: ({ id }: SimProject): Set<string> =>
      new Set(api.asked.filter(one => one.path.startsWith(`/projects/${id}/pipelines/`)).map(tokenOf)),
  }
}

const postgres = await startPostgres()
afterAll(async () => postgres.dispose())

it.each(['sqlite', 'postgres'] as const)(
  'exports pipelines from two platforms with three tokens, one of them revoked, with %s',
  async engine => {
    const store = engine === 'sqlite' ? {} : { PIPESPAN_STORE_URL: await postgres.newDatabase() }
    const [cloud, onprem] = [await openPlatform('X-Service-'), await openPlatform('X-Gitlab-')]
    for (const token of ['pat-rest', 'pat-shop']) cloud.valid.add(token)
    onprem.valid.add('pat-onprem')
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const config = path.join(temporaryFolder(), 'pipespan.yaml')
    writeFileSync(
      config,
      `platforms:
  - name: cloud
    url: ${cloud.api.url}
    token: pat-rest
    budget: 60000
    tokens:
      - groups: [brightwater/shop]
        token: pat-shop
        budget: 60000
    webhook: {token: secret-of-cloud}
  - name: onprem
    url: ${onprem.api.url}
    profile: gitlab
    token: pat-onprem
    budget: 60000
    webhook: {token: secret-of-onprem}
poll: {interval: 1s}
enrich_deadline: 2s
`,
    )
    const daemon = await Daemon.start({
      ...{
        ...store,
        PIPESPAN_CONFIG: config,
        PIPESPAN_WEBHOOK_TOKEN: undefined,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      },
    })
    const pipelineSpans = () => receiver.spans.filter(({ kind }) => kind === 'server')
    const exported = async (id: number, of: { api: RestApi }) => {
      const isIt = ({ attributes }: (typeof receiver.spans)[number]): boolean =>
        attributes['pipeline.id'] === id && (attributes['cicd.pipeline.run.url.full'] as string).startsWith(of.api.url)
      await receiver.until(() => pipelineSpans().some(isIt))
      return pipelineSpans().find(isIt)!
    }

    // The daemon polls each project with the project's own token.
    const [shop, infra] = [cloud.run(projects.storefront), cloud.run(projects.infra)]
    const other = onprem.run(projects.storefront)
    expect(other).toBe(shop)
    const spans = [await exported(shop, cloud), await exported(infra, cloud), await exported(other, onprem)]
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(3)
    expect(spans.map(({ resource }) => resource.attributes['vcs.provider.name'])).toEqual([
      'platform',
      'platform',
      'gitlab',
    ])
    expect(cloud.tokensFor(projects.storefront)).toEqual(new Set(['pat-shop']))
    expect(cloud.tokensFor(projects.infra)).toEqual(new Set(['pat-rest']))

    // A delivery is quarantined if it was sent with the webhook secret of another platform.
    expect(await onprem.post(daemon.webhooks, other, 'secret-of-cloud')).toBe(202)
    expect(await onprem.post(daemon.webhooks, other, 'guessed')).toBe(401)
    expect(await onprem.post(daemon.webhooks, other, 'secret-of-onprem')).toBe(202)
    await daemon.process.logged('a delivery is quarantined')
    const { stdout: quarantined } = await daemon.command('inbox', 'list')
    expect(quarantined).toContain('the webhook secret of the platform cloud')
    expect(quarantined.match(/webhook secret/g)).toHaveLength(1)

    cloud.valid.delete('pat-shop')
    await daemon.process.logged(
      ({ kind, platform }) => kind === 'unauthorized' && platform === 'cloud/brightwater/shop',
    )
    const [late, next, third] = [
      cloud.run(projects.storefront),
      cloud.run(projects.infra),
      onprem.run(projects.storefront),
    ]
    expect(await cloud.post(daemon.webhooks, late, 'secret-of-cloud')).toBe(202)
    // Pipelines that the revoked token covers are exported at the deadline, with what their webhooks contain. Pipelines of the other tokens are found
    // and completed as before.
    await Promise.all([exported(late, cloud), exported(next, cloud), exported(third, onprem)])
    const problems = daemon.process.log.filter(({ level, kind }) => level >= 40 && kind === 'unauthorized')
    for (const { msg } of problems) expect(msg).toContain('Check `token` and `token_type`:')
    expect(new Set(problems.map(({ platform }) => platform))).toEqual(new Set(['cloud/brightwater/shop']))
    expect((await fetch(`${daemon.adminUrl}/readyz`)).status).toBe(200)
    const doctor = await daemon.command('doctor')
    expect(doctor.stdout).toMatch(/platform: cloud\/brightwater\/shop: The platform does not accept the token/)
    expect(doctor.stdout).not.toMatch(/✗ platform: (cloud|onprem):/)
    const unchosen = await daemon.command('backfill', '--since', '1d', '--dry-run')
    expect(unchosen.stderr).toContain('Name one with --platform: cloud, cloud/brightwater/shop, onprem.')
    const chosen = await daemon.command('backfill', '--since', '1d', '--dry-run', '--platform', 'onprem')
    expect(chosen.code).toBe(0)
    const url = 'https://pipespan.example.com/webhooks'
    const ensure = ['hooks', 'ensure', '--dry-run', '--project', '301', '--url', url, '--platform', 'onprem']
    const ensured = await daemon.command(...ensure)
    expect(ensured.stdout).toContain('would be created 1')
    const hookRequests = [cloud, onprem].map(
      ({ api }) => api.asked.filter(one => one.path === '/projects/301/hooks').length,
    )
    expect(hookRequests).toEqual([0, 1])

    cloud.valid.add('pat-shop')
    const again = cloud.run(projects.checkout)
    await exported(again, cloud)
    expect((await daemon.stop()).code).toBe(0)
  },
)
