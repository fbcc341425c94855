// Tests the doctor on a complete setup, and on the same setup broken in one way at a time.
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import path from 'node:path'
import { expect, it } from 'vitest'
import { doctorWorld, failure, warning, type Reported } from './doctor-world.ts'
import { event, rules } from '../flow/world.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { hooksOf } from '../support/rest-hooks.ts'
import { listen } from '../support/after-test.ts'
import { mergeObservations } from '../../src/core/take-in/merge-observations.ts'
import { restFaults, restJson } from '../support/rest-faults.ts'

const tls = path.join(import.meta.dirname, '..', 'fixtures', 'tls')
const world = doctorWorld()

it("prints a line for each of the doctor's checks and exits with 0 if everything is right", async () => {
  const { code, text } = await world.run()
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
  for (const secret of ['a-webhook-token', 'a-platform-token', world.instance.apiKey])
    expect(text).not.toContain(secret)
})

const atNobody = async (variable: string, scheme = ''): Promise<void> => {
  const [port = 0] = await freePorts(1)
  world.env[variable] = `${scheme}127.0.0.1:${port}`
}

const broken: readonly (readonly [what: string, arrange: () => unknown, ...found: Partial<Reported>[]])[] = [
  [
    'a configuration that cannot be used',
    () => (world.env.PIPESPAN_SETTLE = '5 seconds'),
    {
      ...{ check: 'configuration', level: 'failure' },
      what: 'PIPESPAN_SETTLE: "5 seconds" is not a duration. Write a number with its unit, such as 250ms, 5s, 1h or 7d.',
    },
  ],
  [
    'a store that cannot be created',
    () => {
      writeFileSync(path.join(world.folder, 'file'), '')
      world.env.PIPESPAN_STORE_URL = `sqlite:${path.join(world.folder, 'file', 'p.db')}`
    },
    failure('store', 'Set PIPESPAN_STORE_URL to a file in a writable folder.', /cannot be created: .* is not a folder/),
  ],
  [
    'a nearly full store',
    () => (world.env.PIPESPAN_STORE_MAX_SIZE = '1KiB'),
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
      world.restartAfterTest()
      world.env.PIPESPAN_WEBHOOK_TOKEN = 'a-newer-webhook-token'
    },
    failure('daemon', 'Restart it with this configuration, or configure the same secret here.'),
  ],
  [
    'an insufficient scope of the token',
    () => world.answering(/\/pipelines$/, restFaults.missingScope),
    failure('platform', 'Create a token that may read the API, and set PIPESPAN_PLATFORM_TOKEN to it.', /403 at GET/),
  ],
  [
    'a project without a hook',
    () => (hooksOf(world.platform).hooks.length = 0),
    failure('hooks', 'Create one with `pipespan hooks ensure --project 301`.'),
  ],
  [
    'a disabled hook that lacks events',
    () => {
      const shown = {
        ...{ id: 17, url: world.hook.url, pipeline_events: true, job_events: false, token_present: true },
        ...{ alert_status: 'temporarily_disabled', disabled_until: '2026-06-01T12:00:00Z' },
        custom_webhook_template: '{"id": {{object_attributes.id}}}',
      }
      world.answering(/\/hooks$/, () => restJson([shown]))
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
      world.answering(/\/events$/, () => restJson([refused]))
    },
    failure('hooks', 'Set the secret again with `pipespan hooks ensure --write-secret`.', /answered with 401/),
  ],
  [
    'deliveries of another instance',
    async () => {
      world.restartAfterTest()
      await world.daemon.store.runs.transact(mergeObservations([event('running', {}, [])], 'webhook', rules))
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
      world.env.OTEL_EXPORTER_OTLP_ENDPOINT = `https://localhost:${await listen(backend)}`
    },
    failure(
      'export',
      'Set OTEL_EXPORTER_OTLP_CERTIFICATE to the CA that signed its certificate.',
      /self-signed certificate/,
    ),
  ],
  [
    'enforcement without a token',
    () => (world.instance.enforced = true),
    failure('enforcement', 'Create one with `pipespan tokens create`, and set it as the destination’s token.'),
  ],
]

it.each(broken.map(([what, arrange, ...found]) => ({ what, arrange, found })))(
  'reports $what when `pipespan doctor` runs',
  async ({ arrange, found }) => {
    await arrange()
    await world.finds(...found)
  },
)

it('reports that nothing is exported if exports are turned off', async () => {
  world.env.SERVICE_OBSERVABILITY_EXPORT = 'none'
  const { text } = await world.run()
  expect(text).toContain('- export: Nothing is exported (PIPESPAN_OBSERVABILITY_EXPORT=none).')
})

it('reports a backend that rejects the token', async () => {
  world.receiver.demandToken('another-token')
  world.env.SERVICE_OBSERVABILITY_TOKEN = 'a-token-of-yesterday'
  const { code, reported } = await world.examined()
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
  world.env.OTEL_EXPORTER_OTLP_ENDPOINT = `${world.receiver.url}/v1/traces`
  const { code, reported } = await world.examined()
  expect(code).toBe(2)
  expect(reported).toMatchObject([
    { check: 'configuration', what: expect.stringContaining('The paths of the signals are appended') as string },
    { check: 'export', remedy: 'Check the endpoint: a base URL without /v1/…, usually on port 4318.' },
  ])
  expect(reported[1]?.what).toMatch(/\/v1\/traces\/v1\/traces\) is not an OTLP\/HTTP receiver: HTTP 404: /)
})
