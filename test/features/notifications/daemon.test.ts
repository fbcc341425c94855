// Tests notifications on the shipped daemon: what each receiver gets, in which format and from which time on, and that no URL is shown.
// `killed-daemon.test.ts` tests kills.
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Daemon } from '../../e2e/daemon.ts'
import { MessageReceiver } from '../../support/message-receiver.ts'
import { pipelineEvent } from '../../bounds/pipelines.ts'

const secretPath = '/services/T0PSECRET/B0PSECRET/hook-token-nobody-sees'
/** Returns a default branch pipeline that has just ended. */
function ended(id: number, status: 'success' | 'failed', project = { id: 3, path: 'acme/shop' }): string {
  const event = JSON.parse(pipelineEvent({ id, status, jobs: 1 })) as {
    object_attributes: object
    project: object
    builds: object[]
  }
  const finishedAt = new Date().toISOString()
  return JSON.stringify({
    ...event,
    object_attributes: { ...event.object_attributes, finished_at: finishedAt },
    project: {
      ...event.project,
      ...{ id: project.id, path_with_namespace: project.path, default_branch: 'main' },
      web_url: `https://git.example.com/${project.path}`,
    },
    builds: event.builds.map(job => ({ ...job, status, finished_at: finishedAt, name: 'unit <!channel>' })),
  })
}

function fixture(name: string, more: object): string {
  const file = path.join(import.meta.dirname, '..', '..', 'fixtures', 'events', `${name}.json`)
  return JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...more })
}

async function receiver(): Promise<MessageReceiver> {
  return closeAfterTest(await MessageReceiver.start())
}

const unset = { OTEL_EXPORTER_OTLP_ENDPOINT: undefined, SERVICE_OBSERVABILITY_EXPORT: undefined }

function configured(notifications: string): NodeJS.ProcessEnv {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, `observability: { export: none }\nnotifications:\n${notifications}`)
  return { ...unset, PIPESPAN_CONFIG: file, PIPESPAN_ENRICH_DEADLINE: '1s' }
}

it('sends each notification rule only its own subjects and projects, in its format', async () => {
  const [slack, mail, ops] = [await receiver(), await receiver(), await receiver()]
  const env = configured(`
  - { name: slack, url: '${slack.url}${secretPath}', format: slack, of: default-branch, projects: { include: 'acme/**' } }
  - { name: mail, url: '${mail.url}/emails', format: email, of: [default-branch], to: team@example.com, projects: { exclude: 'acme/**' } }
  - { name: ops, url: '${ops.url}/events', of: [deployments, tokens], headers: { Authorization: 'Bearer ops-token' } }
`)
  const daemon = await Daemon.start(env)
  const tried = await daemon.command('notify', 'slack')
  expect([tried.code, tried.stdout]).toEqual([0, 'slack has accepted a test message.\n'])
  expect(slack.accepted.splice(0)).toMatchObject([
    { path: secretPath, body: { text: expect.stringContaining('Test message') as string } },
  ])
  mail.status = 403
  const refused = await daemon.command('notify', 'mail')
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('mail did not accept a test message: HTTP 403: no.'),
  ])
  mail.status = 200
  expect((await daemon.command('notify', 'chat')).stderr).toContain('There is no chat. Use one of: slack, mail, ops.')
  const post = async (body: string, hook: string): Promise<void> =>
    expect(
      (await daemon.post(body, { 'x-service-event': hook, 'x-service-instance': 'https://git.example.com' })).status,
    ).toBe(202)
  await post(ended(1, 'failed'), 'Pipeline Hook')
  await post(ended(2, 'failed', { id: 4, path: 'other/tool' }), 'Pipeline Hook')
  await expect.poll(() => slack.accepted.length + mail.accepted.length).toBe(2)
  expect(slack.accepted[0]?.body.text).toMatch(
    /^:x: \*acme\/shop: main is broken\*\nPipeline 1 failed in unit &lt;!channel&gt;/,
  )
  expect(mail.accepted[0]?.body).toMatchObject({ to: ['team@example.com'], subject: 'other/tool: main is broken' })

  const soon = new Date(Date.now() + 6 * 86_400_000).toISOString().slice(0, 10)
  const token = { object_attributes: { user_id: 91, id: 26, name: 'group bot', expires_at: soon } }
  await post(fixture('access_token-group', token), 'Resource Access Token Hook')
  const later = { object_attributes: { ...token.object_attributes, id: 27, expires_at: '2099-01-01' } }
  await post(fixture('access_token-group', later), 'Resource Access Token Hook')
  const deployment = (id: number, status: string, environment: object = {}): string =>
    fixture('deployment', {
      ...{ status, deployment_id: id, deployable_id: id * 10, status_changed_at: new Date().toISOString() },
      ...environment,
    })
  const review = { environment: 'review/1', environment_tier: 'development' }
  await post(deployment(14, 'failed', review), 'Deployment Hook')
  await post(deployment(15, 'failed'), 'Deployment Hook')
  await expect.poll(() => ops.accepted.length).toBe(2)
  await post(deployment(16, 'failed'), 'Deployment Hook')
  await post(deployment(17, 'success'), 'Deployment Hook')
  await expect.poll(() => ops.accepted.length).toBe(3)
  const sent = ops.accepted.map(({ body: { type, data } }) => [type, (data as { title: string }).title])
  expect(sent.toSorted()).toEqual([
    ['com.pipespan.deployment.failed', 'team/shop: a deployment to production failed'],
    ['com.pipespan.deployment.recovered', 'team/shop: production is deployed again'],
    ['com.pipespan.token.expiring', `team: access token group bot expires on ${soon}`],
  ])
  expect(ops.accepted[0]?.headers).toMatchObject({
    authorization: 'Bearer ops-token',
    'idempotency-key': ops.accepted[0]?.body.id,
  })

  const pages = ['/exports', '/api/config'].map(async page => (await fetch(daemon.adminUrl + page)).text())
  const shown = await daemon.command('config', 'check', '--show')
  expect(shown.stdout).toContain('notifications[0].url')
  const checked = await daemon.command('doctor')
  expect(checked.stdout).toContain('✓ notifications: "slack" responds.')
  const routed = await daemon.command('doctor', '--project', 'acme/shop')
  expect(routed.stdout).toContain('Messages about acme/shop are sent to "slack"')
  await slack.close()
  const away = await daemon.command('doctor')
  expect(away.stdout).toContain('✗ notifications: "slack" cannot be reached')
  expect(JSON.stringify([await Promise.all(pages), shown, checked, away, daemon.output])).not.toContain('T0PSECRET')
})

it('applies a notification rule added by a reload to events from then on', async () => {
  const chat = await receiver()
  const env = configured('  []\n')
  const daemon = await Daemon.start({ ...env, PIPESPAN_SETTLE: '0s' })
  const post = async (body: string): Promise<void> => expect((await daemon.post(body)).status).toBe(202)
  await post(ended(1, 'failed'))
  const file = env.PIPESPAN_CONFIG ?? ''
  writeFileSync(file, readFileSync(file, 'utf8').replace('[]', `- { name: chat, url: '${chat.url}/hook' }`))
  const reloads = async (): Promise<unknown> =>
    fetch(`${daemon.adminUrl}/api/config`).then(
      async answer => ((await answer.json()) as { reloads: { applied: number } }).reloads.applied,
      () => undefined,
    )
  daemon.signal('SIGHUP')
  await expect.poll(reloads).toBe(1)
  // This pipeline is found late: it ended before the rule existed.
  const early = JSON.parse(ended(2, 'failed')) as { object_attributes: { finished_at: string } }
  early.object_attributes.finished_at = new Date(Date.now() - 60_000).toISOString()
  await post(JSON.stringify(early))
  await post(ended(3, 'success'))
  await post(ended(4, 'failed'))
  await expect.poll(() => chat.accepted.length).toBe(1)
  expect(chat.accepted[0]?.body).toMatchObject({ type: 'com.pipespan.default_branch.broken' })
  expect(JSON.stringify(chat.accepted)).toContain('Pipeline 4 failed')
})
