// The daemon starts with every configuration that `config check` accepts. The test starts the real daemon with random settings from the whole table
// of options, and with standard variables.
import fc from 'fast-check'
import { createServer } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { allOptions } from '../../../src/daemon/configuration/options.ts'
import { loadConfig, type LoadedConfig } from '../../../src/daemon/configuration/load.ts'
import { newDatabase } from '../../core/store/new-database.ts'
import { profiles, type ProfileName } from '../../../src/daemon/profile.ts'
import { rowsOf, variablesOf } from '../../../src/daemon/configuration/option.ts'
import { runs } from '../../full.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { startDaemon } from '../../../src/daemon/daemon.ts'
import { features } from '../../../src/features.ts'
import { writingOf } from './writings.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const garbage = fc.constantFrom(
  'package.json',
  'test/fixtures/tls/second.key.pem',
  '0',
  '-1',
  '1',
  '1.5',
  '15000',
  '99999999999999',
  'abc',
  'true',
  'none',
  '%',
  ',',
  '{',
  '(',
  '/',
  '=',
)

/** The server that receives the daemon's exports and requests. It accepts everything, so no request leaves this machine. */
const server = createServer((request, response) => request.resume().on('end', () => response.end('{}')))
beforeAll(async () => once(server.listen(0, '127.0.0.1'), 'listening'))
afterAll(() => server.close())

const local = fc
  .constantFrom('http://127.0.0.1', 'http://localhost', 'https://127.0.0.1')
  .chain(host =>
    fc
      .constantFrom('', '/', '/a/b', '/a?b=c')
      .map(rest => () => `${host}:${(server.address() as AddressInfo).port}${rest}`),
  )
  .map(url => url())

const credentials = fc.constantFrom('', 'user:password@', 'user@', 'us%er:p%zz@', ':@')

/** Replacements for values that would access other machines or use a port on this machine. */
const onThisMachine: Record<string, fc.Arbitrary<string>> = {
  'an http or https URL': local,
  'the URL of a proxy': fc.tuple(local, credentials).map(([url, user]) => url.replace('://', `://${user}`)),
  'a listen address': fc.constantFrom('127.0.0.1:0', 'localhost:0', '[::1]:0'),
}

const rows = rowsOf(allOptions(profiles, features)).filter(({ path }) => !['config', 'store.url'].includes(path))
const variables = rows.flatMap(({ option }) => {
  const [variable] = variablesOf(option, profiles.generic).slice(-1)
  return variable === undefined ? [] : [{ variable, noun: option.kind.noun }]
})

/** Standard variables from the specification that are not in the table of options, but that the SDK would read. */
const standard = [
  'OTEL_BLRP_SCHEDULE_DELAY',
  'OTEL_EXPORTER_PROMETHEUS_PORT',
  'OTEL_LOGS_EXPORTER',
  'OTEL_LOG_LEVEL',
  'OTEL_METRICS_EXPORTER',
  'OTEL_NODE_EXPERIMENTAL_SDK_METRICS',
  'OTEL_NODE_RESOURCE_DETECTORS',
  'OTEL_PROPAGATORS',
  'OTEL_TRACES_EXPORTER',
]

const setting = fc
  .constantFrom(...variables)
  .chain(({ variable, noun }) =>
    fc.tuple(
      fc.constant(variable),
      fc.oneof({ weight: 4, arbitrary: onThisMachine[noun] ?? writingOf(noun) }, { weight: 1, arbitrary: garbage }),
    ),
  )
const environment = fc
  .tuple(
    fc.uniqueArray(setting, {
      minLength: 1,
      maxLength: variables.length,
      selector: ([variable]) => variable,
      size: 'max',
    }),
    fc.array(fc.tuple(fc.constantFrom(...standard), garbage), { maxLength: 4 }),
  )
  .map(([settings, others]) => ({ ...Object.fromEntries(others), ...Object.fromEntries(settings) }))

/** Configurations that were once accepted, but then made the start or the metrics scrape fail. */
const reported: [Record<string, string>][] = [
  [{ OTEL_METRIC_EXPORT_INTERVAL: '15000' }],
  [{ OTEL_METRIC_EXPORT_INTERVAL: 'abc', OTEL_METRIC_EXPORT_TIMEOUT: '-1' }],
  [{ OTEL_SDK_DISABLED: 'true' }],
  [{ HTTP_PROXY: 'http://us%er:p%zz@127.0.0.1:1', HTTPS_PROXY: 'http://127.0.0.1:1/a?b=c' }],
  [{ PIPESPAN_TLS_CERT_FILE: 'package.json', PIPESPAN_TLS_KEY_FILE: 'package.json' }],
]

/** Replacements for the default ports, which another program on this machine may use. */
const freePorts = { PIPESPAN_LISTEN: '127.0.0.1:0', PIPESPAN_ADMIN_LISTEN: '127.0.0.1:0' }

/** Returns the settings that remain after all invalid ones have been removed, fault by fault, as an operator would do it. */
function corrected(env: Record<string, string>): { env: Record<string, string>; loaded: LoadedConfig<ProfileName> } {
  const loaded = loadConfig({ env, profiles, features })
  if (loaded.ok) return { env, loaded }
  const wrong = loaded.faults.flatMap(({ source }) => (source.from === 'environment' ? [source.variable] : []))
  const [named = ''] = loaded.faults.map(({ setting = '' }) => setting)
  const left = Object.fromEntries(Object.entries(env).filter(([name]) => !wrong.includes(name)))
  if (Object.keys(left).length === Object.keys(env).length) throw new Error(`${named}: no variable is named`)
  return corrected({ ...freePorts, ...left })
}

async function starts(given: Record<string, string>, store: string): Promise<void> {
  const { env, loaded } = corrected({
    ...freePorts,
    PIPESPAN_SELF_TELEMETRY: 'true',
    ...given,
    PIPESPAN_STORE_URL: store,
    OTEL_EXPORTER_OTLP_ENDPOINT:
      given.OTEL_EXPORTER_OTLP_ENDPOINT ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  })
  vi.unstubAllEnvs()
  for (const [name, value] of Object.entries(env)) if (name.startsWith('OTEL_')) vi.stubEnv(name, value)
  const daemon = await startDaemon({ config: loaded.config, features, log: silentLog() })
  try {
    const token = loaded.config.admin.token.current()?.reveal()
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const { status } = await fetch(`${daemon.adminUrl}/metrics`, { headers })
    expect(status).toBe(200)
  } finally {
    await daemon.stop(0)
  }
}

describe('a configuration that config check accepts', () => {
  it('starts with every accepted configuration on SQLite', async () => {
    await fc.assert(
      fc.asyncProperty(environment, async env => {
        const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-starts-'))
        try {
          await starts(env, `sqlite:${path.join(folder, 'p.db')}`)
        } finally {
          rmSync(folder, { recursive: true })
        }
      }),
      { ...runs(100), examples: reported },
    )
  })

  it('starts with every accepted configuration on PostgreSQL', async () => {
    await fc.assert(
      fc.asyncProperty(environment, async env => starts(env, await newDatabase())),
      runs(10),
    )
  })
})
