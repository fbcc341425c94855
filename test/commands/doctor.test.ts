// Tests the doctor on a complete setup, and on the same setup broken in one way at a time.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { listen } from '../support/after-test.ts'
import { mergeObservations } from '../../src/core/take-in/merge-observations.ts'
import { event, job, rules, t0 } from '../flow/world.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { loadConfig } from '../../src/daemon/configuration/load.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { restFaults, restJson } from '../support/rest-faults.ts'
import { runCommand } from '../e2e/run-command.ts'
import { silentLog } from '../../src/lib/log.ts'
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts'
import { startInstance, type ObservabilityInstance } from '../support/observability-instance.ts'
import type { RestReply } from '../../src/simulator/platform/rest-replies.ts'
import { features } from '../../src/features.ts'
import { hooksOf, type RestHook } from '../support/rest-hooks.ts'

interface Reported {
  readonly check: string
  readonly level: string
  readonly what: string
  readonly remedy?: string
}

const project = '301'
const tls = path.join(import.meta.dirname, '..', 'fixtures', 'tls')
const signingToken = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
let folder: string
let receiver: OtlpReceiver
let platform: RestApi
let platformState: PlatformState
let instance: ObservabilityInstance
let daemon: Daemon
let hook: RestHook
let env: Record<string, string>
let clockOff = 0

/** The daemon's environment variables. The doctor's variables may differ from these. */
let usual: Record<string, string>

async function open(): Promise<void> {
  folder = mkdtempSync(path.join(tmpdir(), 'pipespan-doctor-'))
  receiver = await OtlpReceiver.start()
  platformState = new PlatformState()
  platform = await RestApi.start({ state: platformState, now: () => Date.now() + clockOff })
  instance = await startInstance({ enforcement: false })
  const [port = 0, adminPort = 0] = await freePorts(2)
  usual = {
    PIPESPAN_LISTEN: `127.0.0.1:${port}`,
    PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
    PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'p.db')}`,
    PIPESPAN_WEBHOOK_TOKEN: 'a-webhook-token',
    PIPESPAN_PLATFORM_URL: platform.url,
    PIPESPAN_PLATFORM_TOKEN: 'a-platform-token',
    PIPESPAN_POLL_PROJECTS: project,
    // The request budget is large, because the doctor runs of all tests send requests to the same platform.
    PIPESPAN_PLATFORM_BUDGET: '100000',
    PIPESPAN_PUBLIC_URL: 'https://pipespan.example.com',
    PIPESPAN_OBSERVABILITY_URL: instance.url,
    PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey,
    SERVICE_OBSERVABILITY_EXPORT: 'traces',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  }
  await startWith(usual)
}

async function startWith(variables: Record<string, string>): Promise<void> {
  const loaded = loadConfig({ env: variables, profiles, features })
  if (!loaded.ok) throw new Error(loaded.faults.map(({ what }) => what).join())
  daemon = await startDaemon({ config: loaded.config, features, log: silentLog() })
}

async function close(): Promise<void> {
  await daemon.stop(0)
  await Promise.all([receiver.close(), platform.close(), instance.close()])
  rmSync(folder, { recursive: true })
}

/** Restarts the setup after a test that leaves something in the store. */
function afterwardsAnew(): void {
  onTestFinished(async () => {
    await close()
    await open()
  })
}

beforeAll(open)
afterAll(close)
beforeEach(() => {
  clockOff = 0
  env = { ...usual }
  instance.enforced = false
  receiver.demandToken(undefined)
  hook = { id: 17, url: 'https://pipespan.example.com/webhooks', owner: { project: Number(project) } }
  hooksOf(platform).hooks.splice(0, Infinity, hook)
  platform.misbehave = ({ path: asked }) => (asked === '/user' ? restJson({ id: 1 }) : undefined)
})

async function run(...args: string[]): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await runCommand(['doctor', ...args], env)
  return { code, text: stdout + stderr }
}

/** Runs the doctor, and returns the exit code and all checks that are not fine. */
async function examined(): Promise<{ code: number; reported: Reported[] }> {
  const { code, text } = await run('--json')
  const { findings } = JSON.parse(text) as { findings: Reported[] }
  return { code, reported: findings.filter(({ level }) => level === 'warning' || level === 'failure') }
}

/** Expects exactly these checks not to be fine, and the exit code to match the worst of them. */
async function finds(...reported: Partial<Reported>[]): Promise<void> {
  expect(await examined()).toMatchObject({ code: reported.some(({ level }) => level === 'failure') ? 2 : 1, reported })
}

/** Makes the platform respond to a path with the given reply. */
function answering(wanted: RegExp, reply: () => RestReply): void {
  const before = platform.misbehave
  platform.misbehave = (request, real) => (wanted.test(request.path) ? reply() : before(request, real))
}

it("prints a line for each of the doctor's checks and exits with 0 if everything is right", async () => {
  const { code, text } = await run()
  expect(text).not.toMatch(/^[!✗]/m)
  expect(
    text
      .split('\n')
      .filter(line => line.startsWith('✓'))
      .map(line => /^✓ (\w+)/.exec(line)?.[1]),
  ).toEqual([
    'configuration',
    'store',
    'daemon',
    'platform',
    'platform',
    'hooks',
    'clock',
    'budget',
    'instances',
    'export',
    'enforcement',
  ])
  expect(text).toContain('All checks passed.')
  expect(code).toBe(0)
  for (const secret of ['a-webhook-token', 'a-platform-token', instance.apiKey]) expect(text).not.toContain(secret)
})

it('checks which data a job token can read, because a job token has no user', async () => {
  env.PIPESPAN_PLATFORM_TOKEN_TYPE = 'job'
  answering(/^\/user$/, () => restFaults.wrongToken())
  const { code, reported } = await examined()
  expect([code, reported]).toEqual([0, []])
  expect(platform.asked.filter(({ path: asked, headers }) => asked === '/user' && 'job-token' in headers)).toEqual([])
  answering(/pipelines$/, () => restFaults.wrongToken())
  expect((await examined()).reported).toContainEqual(expect.objectContaining({ check: 'platform', level: 'failure' }))
})

it('checks which data a token can read if it may not read its own user', async () => {
  answering(/^\/user$/, () => restFaults.missingScope())
  expect(await examined()).toEqual({ code: 0, reported: [] })
})

const atNobody = async (variable: string, scheme = ''): Promise<void> => {
  const [port = 0] = await freePorts(1)
  env[variable] = `${scheme}127.0.0.1:${port}`
}
const failure = (check: string, remedy: string, what?: RegExp): Partial<Reported> => ({
  ...{ check, level: 'failure', remedy },
  ...(what && { what: expect.stringMatching(what) as string }),
})
const warning = (check: string, remedy: string, what?: RegExp): Partial<Reported> => ({
  ...failure(check, remedy, what),
  level: 'warning',
})

const broken: readonly (readonly [what: string, arrange: () => unknown, ...found: Partial<Reported>[]])[] = [
  [
    'a configuration that cannot be used',
    () => (env.PIPESPAN_SETTLE = '5 seconds'),
    {
      ...{ check: 'configuration', level: 'failure' },
      what: 'PIPESPAN_SETTLE: "5 seconds" is not a duration. Write a number with its unit, such as 250ms, 5s, 1h or 7d.',
    },
  ],
  [
    'a store that cannot be created',
    () => {
      writeFileSync(path.join(folder, 'file'), '')
      env.PIPESPAN_STORE_URL = `sqlite:${path.join(folder, 'file', 'p.db')}`
    },
    failure('store', 'Set PIPESPAN_STORE_URL to a file in a writable folder.', /cannot be created: .* is not a folder/),
  ],
  [
    'a nearly full store',
    () => (env.PIPESPAN_STORE_MAX_SIZE = '1KiB'),
    warning(
      'store',
      'Raise PIPESPAN_STORE_MAX_SIZE, or shorten PIPESPAN_RETENTION: when the store is full, webhooks are refused.',
      /nearly full: \d\.\d MiB of 0\.0 MiB\.$/,
    ),
  ],
  [
    'that no daemon is running',
    async () => atNobody('PIPESPAN_LISTEN'),
    warning('daemon', 'Start it with `pipespan serve`, or run the doctor where it runs.', /ECONNREFUSED/),
  ],
  [
    'a daemon with another webhook secret',
    () => {
      // The setup is restarted, because the daemon counts the delivery that it rejects.
      afterwardsAnew()
      env.PIPESPAN_WEBHOOK_TOKEN = 'a-newer-webhook-token'
    },
    failure('daemon', 'Restart it with this configuration, or configure the same secret here.'),
  ],
  [
    'an insufficient scope of the token',
    () => answering(/\/pipelines$/, restFaults.missingScope),
    failure('platform', 'Create a token that may read the API, and set PIPESPAN_PLATFORM_TOKEN to it.', /403 at GET/),
  ],
  [
    'a project without a hook',
    () => (hooksOf(platform).hooks.length = 0),
    failure('hooks', 'Create one with `pipespan hooks ensure --project 301`.'),
  ],
  [
    'a disabled hook that lacks events',
    () => {
      const shown = {
        ...{ id: 17, url: hook.url, pipeline_events: true, job_events: false, token_present: true },
        ...{ alert_status: 'temporarily_disabled', disabled_until: '2026-06-01T12:00:00Z' },
        custom_webhook_template: '{"id": {{object_attributes.id}}}',
      }
      answering(/\/hooks$/, () => restJson([shown]))
    },
    failure(
      'hooks',
      'Find out why its deliveries failed, then send a test event from its page on the platform to enable it again.',
      /is temporarily disabled until 2026-06-01T12:00:00\.000Z/,
    ),
    failure(
      'hooks',
      "Remove the template on the webhook's page on the platform: only the default payload can be decoded.",
    ),
    warning('hooks', 'Repair it with `pipespan hooks ensure`.', /does not send job events/),
  ],
  [
    'a hook with another secret',
    () => {
      const refused = {
        id: 1,
        trigger: 'pipeline_hooks',
        request_headers: {},
        request_data: {},
        response_status: '401',
      }
      answering(/\/events$/, () => restJson([refused]))
    },
    failure('hooks', 'Set the secret again with `pipespan hooks ensure --write-secret`.', /answered with 401/),
  ],
  [
    'deliveries of another instance',
    async () => {
      afterwardsAnew()
      await daemon.store.runs.transact(mergeObservations([event('running', {}, [])], 'webhook', rules))
    },
    warning(
      'instances',
      "Set PIPESPAN_PLATFORM_URL to the platform's own external URL, or remove these webhooks.",
      /https:\/\/git\.example\.com \(1\)/,
    ),
  ],
  [
    'an unreachable backend',
    async () => atNobody('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://'),
    failure('export', 'Check the host and port of the endpoint, and that the backend listens there.', /ECONNREFUSED/),
  ],
  [
    'a certificate of an unknown authority',
    async () => {
      const [cert, key] = ['crt', 'key'].map(end => readFileSync(path.join(tls, `localhost.${end}`)))
      const backend = createServer({ cert, key }, (_request, response) => response.end())
      env.OTEL_EXPORTER_OTLP_ENDPOINT = `https://localhost:${await listen(backend)}`
    },
    failure(
      'export',
      'Set OTEL_EXPORTER_OTLP_CERTIFICATE to the CA that signed its certificate, and check http versus https.',
      /self-signed certificate/,
    ),
  ],
  [
    'enforcement without a token',
    () => (instance.enforced = true),
    failure('enforcement', 'Create one with `pipespan tokens create`, and set it as the destination’s token.'),
  ],
]

it.each(broken.map(([what, arrange, ...found]) => ({ what, arrange, found })))(
  'reports $what when `pipespan doctor` runs',
  async ({ arrange, found }) => {
    await arrange()
    await finds(...found)
  },
)

it('reports a platform that rejects the token', async () => {
  answering(/./, restFaults.wrongToken)
  const { code, reported } = await examined()
  expect(code).toBe(2)
  expect(reported[0]).toMatchObject(
    failure(
      'platform',
      'Check PIPESPAN_PLATFORM_TOKEN and PIPESPAN_PLATFORM_TOKEN_TYPE: the token may have expired or been revoked.',
    ),
  )
})

it.each<readonly [string, (server: Server) => void, RegExp]>([
  [
    'a web page',
    server =>
      server.on('request', (_, answer: ServerResponse) =>
        answer.setHeader('content-type', 'text/html').end('<!-- x --><html>'),
      ),
    /200 with a web page/,
  ],
  [
    'a web page that claims to be JSON',
    server =>
      server.on('request', (_, answer: ServerResponse) =>
        answer.setHeader('content-type', 'application/json').end('<div>'),
      ),
    /200 with a web page/,
  ],
  [
    'a 404 without a body',
    server => server.on('request', (_, answer: ServerResponse) => answer.writeHead(404).end()),
    /404 with an empty body/,
  ],
  [
    'a health check of its own',
    server => server.on('request', (_, answer: ServerResponse) => answer.end('{"status":"ok"}')),
    /200 with JSON of another shape/,
  ],
  [
    'another protocol',
    server => server.on('connection', (socket: Socket) => socket.end('+PONG\r\n')),
    /its response is not HTTP/,
  ],
  [
    'a closed connection',
    server => server.on('connection', (socket: Socket) => socket.end()),
    /it closes the connection/,
  ],
])("detects another service at the daemon's address that responds with %s", async (_, behave, what) => {
  const server = createHttpServer()
  behave(server)
  const posted: string[] = []
  server.on('request', ({ method }: IncomingMessage) => posted.push(method ?? ''))
  env.PIPESPAN_LISTEN = `127.0.0.1:${await listen(server)}`
  const { code, reported } = await examined()
  expect(code).toBe(2)
  expect(reported).toMatchObject([{ check: 'daemon', level: 'failure' }])
  expect(reported[0]?.what).toMatch(/^Something listens at http:\/\/127\.0\.0\.1:\d+, but it is not Pipespan: /)
  expect(reported[0]?.what).toMatch(what)
  // The webhook secret is not sent to another service.
  expect(posted).not.toContain('POST')
})

it('detects a service without TLS at an HTTPS address', async () => {
  const server = createHttpServer((_, answer) => answer.end('hello'))
  env.PIPESPAN_LISTEN = `127.0.0.1:${await listen(server)}`
  env.PIPESPAN_TLS_CERT_FILE = path.join(tls, 'localhost.crt')
  env.PIPESPAN_TLS_KEY_FILE = path.join(tls, 'localhost.key')
  const { reported } = await examined()
  expect(reported).toMatchObject([
    { check: 'daemon', level: 'failure', what: expect.stringMatching(/it does not speak HTTPS\.$/) as string },
  ])
})

/** Sends deliveries with a wrong webhook secret. */
async function sendWrong(count: number): Promise<void> {
  const wrong = { 'x-gitlab-event': 'Pipeline Hook', 'x-gitlab-token': 'the-platforms-secret' }
  const headers = { 'content-type': 'application/json', ...wrong }
  for (let sent = 0; sent < count; sent += 1)
    expect((await fetch(`${daemon.url}/webhooks`, { method: 'POST', headers, body: '{}' })).status).toBe(401)
}

it("reports, after five deliveries with a wrong webhook secret, that the platform's secret differs from the daemon's", async () => {
  afterwardsAnew()
  await daemon.stop(0)
  await startWith(usual)
  await sendWrong(4)
  expect(await examined()).toEqual({ code: 0, reported: [] })
  await sendWrong(1)
  await finds(warning('webhooks', expect.stringContaining('to the value of PIPESPAN_WEBHOOK_TOKEN') as string))
})

it('does not send the admin token to a service other than the daemon', async () => {
  const seen: IncomingMessage['headers'][] = []
  const server = createHttpServer(({ headers }, answer) => {
    seen.push(headers)
    answer.end('hello')
  })
  env.PIPESPAN_ADMIN_LISTEN = `127.0.0.1:${await listen(server)}`
  env.PIPESPAN_ADMIN_TOKEN = 'an-admin-token-of-tests'
  await examined()
  expect(seen).not.toEqual([])
  expect(JSON.stringify(seen)).not.toContain('an-admin-token-of-tests')
})

it('reports a daemon that verifies signatures but has no token to identify the platform', async () => {
  afterwardsAnew()
  delete env.PIPESPAN_WEBHOOK_TOKEN
  env.PIPESPAN_WEBHOOK_SIGNING_TOKEN = signingToken
  await daemon.stop(0)
  await startWith(env)
  const { findings } = JSON.parse((await run('--json')).text) as { findings: Reported[] }
  expect(findings.filter(({ check }) => check === 'daemon')).toEqual([
    {
      check: 'daemon',
      level: 'fine',
      what: `The daemon at ${daemon.url} is ready and accepts the webhook secret.`,
      remedy: expect.stringContaining('Set PIPESPAN_WEBHOOK_TOKEN too') as string,
    },
  ])
})

it("checks the token by requesting lists if the platform does not reveal the token's user", async () => {
  answering(/^\/user$/, () => restFaults.notFound('Not Found'))
  expect(await examined()).toEqual({ code: 0, reported: [] })
  answering(/\/pipelines$/, restFaults.missingScope)
  expect((await examined()).reported).toMatchObject([{ check: 'platform', level: 'failure' }])
})

it("recognises the daemon's hook even if parts of its URL are masked", async () => {
  const masked = { ...hook, url: 'https://pipespan.example.com/{path}', masked: ['path'] }
  hooksOf(platform).hooks.splice(0, Infinity, masked)
  const { reported } = await examined()
  expect(reported.filter(({ check }) => check === 'hooks')).toEqual([])
})

it.each([
  [true, false, {}, 'warning', 'no signing token: its deliveries are accepted by their token alone'],
  [
    true,
    false,
    { PIPESPAN_WEBHOOK_REQUIRE_SIGNATURE: 'true' },
    'failure',
    'no signing token: its deliveries are refused',
  ],
  [
    ...([false, true, {}, 'warning'] as const),
    'no secret token: the daemon cannot reject forged deliveries before it reads their bodies',
  ],
  [false, false, {}, 'failure', 'no secret token and no signing token: its deliveries are refused'],
  [false, undefined, {}, 'failure', 'no secret token: its deliveries are refused'],
])(
  'reports a secret that a hook lacks although the daemon has it (hook has a token: %j, a signing token: %j, other settings: %j)',
  async (token, signing, more, level, what) => {
    Object.assign(env, { PIPESPAN_WEBHOOK_SIGNING_TOKEN: signingToken, ...more })
    const present = { token_present: token, signing_token_present: signing }
    answering(/\/hooks$/, () =>
      restJson([{ id: 17, url: hook.url, pipeline_events: true, job_events: true, ...present }]),
    )
    expect((await examined()).reported).toEqual([
      { check: 'hooks', level, what: `Hook 17 of 301 has ${what}.`, remedy: 'Set it with `pipespan hooks ensure`.' },
    ])
  },
)

it("reports that the daemon's and the platform's clocks differ", async () => {
  clockOff = -240_000
  const began = Date.now()
  const { code, reported } = await examined()
  const took = (Date.now() - began) / 1_000
  expect(code).toBe(1)
  expect(reported).toMatchObject([
    { check: 'clock', remedy: 'Synchronize both with NTP: beyond 300 s signed webhooks are refused.' },
  ])
  const off = Number(/^The platform's clock is (\d+) s behind this machine's\.$/.exec(reported[0]?.what ?? '')?.[1])
  // The doctor assumes that a request takes half of its duration to reach the platform, and the platform's time is in whole seconds. The tolerance
  // allows for both.
  expect(Math.abs(off - 240)).toBeLessThanOrEqual(2 + took / 2)
})

it('reports that nothing is exported if exports are turned off', async () => {
  env.SERVICE_OBSERVABILITY_EXPORT = 'none'
  const { text } = await run()
  expect(text).toContain('- export: Nothing is exported (PIPESPAN_OBSERVABILITY_EXPORT=none).')
})

it('reports a backend that rejects the token', async () => {
  receiver.demandToken('another-token')
  env.SERVICE_OBSERVABILITY_TOKEN = 'a-token-of-yesterday'
  const { code, reported } = await examined()
  expect(code).toBe(2)
  expect(reported).toMatchObject([
    {
      check: 'export',
      remedy: 'Configure a valid token or header; the daemon re-reads a token file without a restart.',
    },
  ])
  expect(reported[0]?.what).toMatch(/^"default" for traces \(.*\) does not accept the credentials: HTTP 401: /)
  expect(JSON.stringify(reported)).not.toContain('a-token-of-yesterday')
})

it('reports an endpoint that is not an OTLP receiver', async () => {
  env.OTEL_EXPORTER_OTLP_ENDPOINT = `${receiver.url}/v1/traces`
  const { code, reported } = await examined()
  expect(code).toBe(2)
  expect(reported).toMatchObject([
    { check: 'configuration', what: expect.stringContaining('The paths of the signals are appended') as string },
    { check: 'export', remedy: 'Check the endpoint: a base URL without /v1/…, usually on port 4318.' },
  ])
  expect(reported[1]?.what).toMatch(/\/v1\/traces\/v1\/traces\) is not an OTLP\/HTTP receiver: HTTP 404: /)
})

it('reports an API budget that the platform has paused', async () => {
  afterwardsAnew()
  const { budgets } = daemon.store.repositories
  await expect.poll(async () => budgets.all()).not.toEqual([])
  const [{ account } = { account: '' }] = await budgets.all()
  await budgets.change({ account }, (_, now) => ({
    document: { account, tokens: 1, at: now, pausedUntil: now + 3_000_000 },
    result: undefined,
  }))
  const { reported } = await examined()
  const paused = reported.find(({ check }) => check === 'budget')
  expect(paused?.what).toMatch(/rate limit .* (2\d{3}|3000) s\.$/)
})

it('reports job logs that the platform refuses to serve', async () => {
  afterwardsAnew()
  env.PIPESPAN_JOB_SECTIONS = 'failed'
  const { refusedEndpoints } = daemon.store.repositories
  const refused = {
    instance: platform.url,
    what: 'log',
    project: 3,
    path: 'acme/shop',
    times: 3,
    message: 'It may not.',
  }
  await refusedEndpoints.put({ ...refused, since: await daemon.store.now() })
  const { reported } = await examined()
  expect(reported).toEqual([
    { check: 'jobs', level: 'warning', what: 'Job logs of acme/shop are not requested for a day: It may not.' },
  ])
})

it('reports configured report types that no job has', async () => {
  afterwardsAnew()
  env.PIPESPAN_REPORTS = 'coverage'
  const finished = async (pipelineId: number, artifactSizes: Record<string, number>): Promise<void> => {
    const jobs = [job(pipelineId, 'unit', 'success', { started: 1, finished: 50 }, { artifactSizes })]
    const observed = event('success', { finishedAt: t0 + 60_000 }, jobs, {}, pipelineId)
    const key = { instance: platform.url, pipelineId }
    await daemon.store.runs.transact(mergeObservations([{ ...observed, key }], 'webhook', { ...rules, settle: 0 }))
    await expect
      .poll(async () => (await daemon.store.views.lastFinished(10)).map(({ run }) => run.key.pipelineId))
      .toContain(pipelineId)
  }
  await finished(7, { trace: 5 })
  expect((await examined()).reported).toMatchObject([
    {
      ...{ check: 'jobs', level: 'warning' },
      what: 'No job of the last pipeline has a report of cobertura or jacoco.',
    },
  ])
  await finished(8, { jacoco: 5 })
  expect((await examined()).reported).toEqual([])
})

it('requests the cross-project lists if no projects are configured', async () => {
  delete env.PIPESPAN_POLL_PROJECTS
  const { text } = await run()
  expect(text).toContain("✓ platform: The token can read its user's pipelines in all projects.")
  expect(text).toContain('✓ platform: The token can read the projects that its user is a member of.')
  answering(/^\/pipelines$/, () => restFaults.notFound('Not Found'))
  await finds({
    check: 'platform',
    level: 'failure',
    what: "The platform has no list of a user's pipelines in all projects (404 at GET /pipelines).",
    remedy: expect.stringContaining('PIPESPAN_POLL_PROJECTS') as string,
  })
  answering(/^\/pipelines$/, restFaults.missingScope)
  expect((await examined()).reported).toMatchObject([
    { check: 'platform', level: 'failure', what: expect.stringContaining('403 at GET /pipelines') as string },
  ])
  env.PIPESPAN_POLL_CROSS_PROJECT = 'false'
  expect((await run()).text).toContain('- platform: Nothing is polled: PIPESPAN_POLL_CROSS_PROJECT is off')
})
