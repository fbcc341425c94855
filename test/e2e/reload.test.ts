// Tests a configuration reload: which settings change, which do not, and that meanwhile no data is lost or sent twice.
import { afterAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { appendFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Daemon } from './daemon.ts'
import { type OtlpReceiver, patient, pipelinesAt, startReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { startPostgres } from '../core/store/postgres-server.ts'

const pipelineHook = { 'x-service-event': 'Pipeline Hook' }
const unset = { OTEL_EXPORTER_OTLP_ENDPOINT: undefined, SERVICE_OBSERVABILITY_EXPORT: undefined, ...patient }

interface Live {
  readonly digest: string
  readonly since: number
  readonly restart: readonly string[]
  readonly refused?: { readonly faults: readonly string[] }
  readonly reloads: { readonly applied: number; readonly refused: number }
}

const live = async ({ adminUrl }: Daemon): Promise<Live> =>
  fetch(`${adminUrl}/api/config`).then(
    async answer => (await answer.json()) as Live,
    // The request may fail while the pages are restarted.
    () => ({ digest: '', since: 0, restart: [], reloads: { applied: -1, refused: -1 } }),
  )

async function reloaded(daemon: Daemon, applied: number): Promise<void> {
  daemon.signal('SIGHUP')
  await expect.poll(async () => (await live(daemon)).reloads.applied).toBe(applied)
}

const postgres = await startPostgres()
afterAll(async () => postgres.dispose())

describe.each(['sqlite', 'postgres'] as const)('reload with the store in %s', engine => {
  it('applies changed filters, attributes and destinations on reload, and neither loses nor repeats anything meanwhile', async () => {
    const [first, second] = [await startReceiver(), await startReceiver()]
    const file = path.join(temporaryFolder(), 'pipespan.yaml')
    const write = (...lines: string[]): void =>
      writeFileSync(file, ['observability: { export: [traces] }', 'settle: 0s', ...lines].join('\n'))
    const to = (name: string, { url }: OtlpReceiver): string => `  - { name: ${name}, endpoint: '${url}' }`
    write('destinations:', to('first', first))
    const store = engine === 'sqlite' ? {} : { PIPESPAN_STORE_URL: await postgres.newDatabase() }
    const daemon = await Daemon.start({ ...unset, ...store, PIPESPAN_CONFIG: file, PIPESPAN_SETTLE: undefined })
    const before = await live(daemon)
    let id = 0
    const ended = new AbortController()
    const posted: number[] = []
    const posting = (async () => {
      while (!ended.signal.aborted) {
        id += 1
        const { status } = await daemon.post(pipelineEvent({ id }))
        expect(status).toBe(202)
        posted.push(id)
      }
    })()
    await first.until(() => pipelinesAt(first).length > 20)
    write(
      'destinations:',
      to('first', first),
      to('second', second),
      'attributes: { rules: [{ set: { team: payments } }] }',
    )
    await reloaded(daemon, 1)
    const takenBySecond = id
    await second.until(() => pipelinesAt(second).length > 20)
    // Data that was pending for a removed destination is not sent.
    await first.until(() => posted.every(one => one > takenBySecond || pipelinesAt(first).includes(one)))
    write('destinations:', to('second', second), 'refs: { exclude: [none] }')
    await reloaded(daemon, 2)
    const seen = pipelinesAt(second).length
    await second.until(() => pipelinesAt(second).length > seen + 20)
    ended.abort()
    await posting
    // Several requests are sent concurrently, so the last pipeline may arrive before others.
    const missing = (): number[] => {
      const [atFirst, atSecond] = [new Set(pipelinesAt(first)), new Set(pipelinesAt(second))]
      return posted.filter(one => !atSecond.has(one) && (one > takenBySecond || !atFirst.has(one)))
    }
    await expect.poll(missing).toEqual([])
    for (const ids of [pipelinesAt(first), pipelinesAt(second)]) expect(ids).toEqual([...new Set(ids)])
    const teams = new Set(second.spans.filter(({ kind }) => kind === 'server').map(({ attributes }) => attributes.team))
    expect(teams).toEqual(new Set(['payments', undefined]))
    const after = await live(daemon)
    expect(after.digest).not.toBe(before.digest)
    expect(after.since).toBeGreaterThan(before.since)
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  })
})

it('changes nothing on reload if the file is invalid or the daemon cannot start with it, and reports why', async () => {
  const backend = await startReceiver()
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  const good = `destinations: [{ name: a, endpoint: '${backend.url}', token: hunter2-hunter2 }]`
  writeFileSync(file, good)
  const daemon = await Daemon.start({ ...unset, PIPESPAN_CONFIG: file, PIPESPAN_SETTLE: '0s' })
  const before = await live(daemon)
  writeFileSync(file, `${good}\nsettle: soon\nunknown: 1`)
  daemon.signal('SIGHUP')
  await expect.poll(async () => (await live(daemon)).reloads.refused).toBe(1)
  const after = await live(daemon)
  expect([after.digest, after.since]).toEqual([before.digest, before.since])
  expect(after.refused?.faults.join(' ')).toMatch(/settle.*unknown/s)
  expect(await (await fetch(daemon.adminUrl)).text()).toContain('The changed configuration was not applied')
  // The certificate file is only read when the exporter starts.
  writeFileSync(file, `${good}\notlp: { certificate: ${file} }\nadmin: { listen: '${new URL(daemon.url).host}' }`)
  daemon.signal('SIGHUP')
  await expect.poll(async () => (await live(daemon)).reloads.refused).toBe(2)
  expect((await daemon.post(pipelineEvent({ id: 7 }))).status).toBe(202)
  await backend.until(() => pipelinesAt(backend).includes(7))
  expect(await (await fetch(`${daemon.adminUrl}/metrics`)).text()).toMatch(
    /^pipespan_config_reloads_total{outcome="refused"} 2$/m,
  )
  expect(daemon.output).not.toContain('hunter2')
  writeFileSync(file, `${good}\nrefs: { exclude: [x] }`)
  daemon.signal('SIGHUP')
  daemon.signal('SIGHUP')
  await expect.poll(async () => (await live(daemon)).reloads).toEqual({ applied: 1, refused: 2 })
  expect((await live(daemon)).refused).toBeUndefined()
})

it('keeps its secrets while the configuration file is rewritten slowly, and when the file is empty', async () => {
  const backend = await startReceiver()
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  const lines = [
    'destinations:',
    `  - { name: a, endpoint: '${backend.url}' }`,
    'admin:',
    '  token: an-admin-token-of-tests',
    'webhook:',
    '  token: a-secret-of-the-file',
    "pages: { hide: ['secret/**'] }",
  ]
  writeFileSync(file, lines.join('\n'))
  const env = { ...unset, PIPESPAN_CONFIG: file, PIPESPAN_CONFIG_WATCH: 'true', PIPESPAN_WEBHOOK_TOKEN: undefined }
  const daemon = await Daemon.start(env)
  const statuses = async (): Promise<unknown[]> => {
    const webhook = await fetch(`${daemon.url}/webhooks`, { method: 'POST', body: '{}', headers: pipelineHook })
    const page = await fetch(`${daemon.adminUrl}/api/config`).catch(() => ({ status: 401 }))
    return [webhook.status, page.status]
  }
  const config = async (): Promise<Live | undefined> =>
    fetch(`${daemon.adminUrl}/api/config`, { headers: { authorization: 'Bearer an-admin-token-of-tests' } }).then(
      async answer => (await answer.json()) as Live,
      () => undefined,
    )
  writeFileSync(file, '')
  daemon.signal('SIGHUP')
  await expect.poll(async () => (await config())?.refused?.faults.join()).toMatch(/The file has no settings/)
  expect(await statuses()).toEqual([401, 401])
  for (const line of [...lines, 'projects: { exclude: [none] }']) {
    appendFileSync(file, `${line}\n`)
    expect(await statuses()).toEqual([401, 401])
    await sleep(500)
  }
  await expect.poll(async () => (await config())?.reloads.applied).toBe(1)
  expect(await statuses()).toEqual([401, 401])
})

it('expands header templates and uses a platform token once a reload has introduced them', async () => {
  const backend = await startReceiver()
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  const write = (header: string, more = ''): void =>
    writeFileSync(
      file,
      `observability: { export: [traces] }\ndestinations: [{ name: a, endpoint: '${backend.url}', headers: { X-Scope-OrgID: '${header}' } }]\n${more}`,
    )
  write('everybody')
  const daemon = await Daemon.start({ ...unset, PIPESPAN_CONFIG: file, PIPESPAN_SETTLE: '0s' })
  write('tenant-{group}')
  await reloaded(daemon, 1)
  const event = JSON.parse(pipelineEvent({ id: 1 })) as { project: object }
  for (const [id, group] of ['alpha', 'beta'].entries()) {
    const body = { ...(JSON.parse(pipelineEvent({ id: id + 1 })) as object) }
    const project = { ...event.project, id: id + 1, path_with_namespace: `${group}/app` }
    expect((await daemon.post(JSON.stringify({ ...body, project }))).status).toBe(202)
  }
  await backend.until(() => pipelinesAt(backend).length === 2)
  expect(new Set(backend.requests.map(({ headers }) => headers['x-scope-orgid']))).toEqual(
    new Set(['tenant-alpha', 'tenant-beta']),
  )
  const platform = "platform: { url: 'http://127.0.0.1:9'"
  write('tenant-{group}', `${platform}, token: one }`)
  await reloaded(daemon, 2)
  await daemon.process.logged(({ msg }) => msg.startsWith('polls '))
  const sources = async (): Promise<string> => (await fetch(`${daemon.adminUrl}/sources`)).text()
  const none = 'none: details that webhooks leave out are not fetched'
  expect(await sources()).not.toContain(none)
  write('tenant-{group}', `${platform} }`)
  await reloaded(daemon, 3)
  expect(await sources()).toContain(none)
})
