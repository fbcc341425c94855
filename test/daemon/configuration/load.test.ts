import { describe, expect, it } from 'vitest'
import { inspect } from 'node:util'
import { writeFileSync } from 'node:fs'
import { faultOf, faults, fileWith, good } from './given.ts'
import { describeConfig } from '../../../src/daemon/configuration/reader.ts'
import { loadConfig } from '../../../src/daemon/configuration/load.ts'
import { features } from '../../../src/features.ts'
import { profiles } from '../../../src/daemon/profile.ts'

const noSecret: unknown = faultOf('webhook.token', 'Set webhook.signing_token or webhook.token.')

describe('the precedence of the file, variables and defaults', () => {
  it('uses the defaults without a file or variables', () => {
    const { config, warnings } = good({})
    expect(config.listen).toEqual({ host: '127.0.0.1', port: 8080 })
    expect(config.settle).toBe(5000)
    expect(config.observability.export).toEqual(['traces', 'metrics', 'logs'])
    expect(config.store.url).toEqual({ engine: 'sqlite', path: './data/pipespan.db' })
    expect(config.webhook.token.current()).toBeUndefined()
    expect(warnings).toEqual([noSecret])
  })

  it('prefers the file over the default, and the variable over the file', () => {
    const yaml = 'settle: 6s\nblocked_after: 2h\n'
    const { config, settings } = good({ PIPESPAN_SETTLE: '7s' }, yaml)
    expect([config.settle, config.blockedAfter, config.staleAfter]).toEqual([7000, 7_200_000, 604_800_000])
    const sources = Object.fromEntries(settings.map(({ path, source }) => [path, source]))
    expect(sources.settle).toEqual({ from: 'environment', variable: 'PIPESPAN_SETTLE' })
    expect(sources.blocked_after).toMatchObject({ from: 'file', line: 2, column: 16 })
    expect(sources.stale_after).toEqual({ from: 'default' })
  })

  it.each(['', '  ', '\t'])('treats a blank variable (%j) as unset', blank => {
    expect(good({ PIPESPAN_SETTLE: blank, PIPESPAN_CONFIG: blank }, 'settle: 6s').config.settle).toBe(6000)
    expect(good({ SERVICE_OBSERVABILITY_TOKEN: blank }).config.observability.token.current()).toBeUndefined()
  })

  it.each(['settle:', 'settle: ""', 'settle: null', 'webhook:', 'destinations:'])(
    'treats a blank key (%s) as unset',
    yaml => {
      expect(good({}, `remember: 10d\n${yaml}`).config).toMatchObject({ settle: 5000, destinations: [] })
    },
  )

  it('reports an invalid value in the file even if a variable overrides it', () => {
    expect(faults({ PIPESPAN_SETTLE: '7s' }, 'settle: soon')).toEqual([
      '1:9: settle: "soon" is not a duration. Write a number with its unit, such as 250ms, 5s, 1h or 7d.',
    ])
  })

  it('reads the file that PIPESPAN_CONFIG names', () => {
    const loaded = loadConfig({ env: { PIPESPAN_CONFIG: fileWith('settle: 8s') }, profiles, features })
    expect(loaded).toMatchObject({ ok: true, config: { settle: 8000 } })
  })

  it.each([
    ['https_proxy', 'HTTPS_PROXY', 'http://lower:1'],
    ['HTTPS_PROXY', 'https_proxy', 'http://upper:1'],
  ])('reads %s and prefers the lower-case spelling', (set, other, url) => {
    const { config } = good({ [set]: url, [other]: '' })
    expect(config.httpsProxy?.reveal()).toBe(url)
    expect(good({ HTTP_PROXY: 'upper:1', http_proxy: 'lower:1' }).config.httpProxy?.reveal()).toBe('http://lower:1')
  })

  it('keeps strings as written that YAML would parse as numbers or booleans', () => {
    const { config } = good({}, 'webhook: { token: [0123, 1e5, yes] }\nresource: { attributes: { zip: 01234 } }')
    expect(config.webhook.token.current()?.map(token => token.reveal())).toEqual(['0123', '1e5', 'yes'])
    expect(config.resource.attributes).toEqual({ zip: '01234' })
  })
})

describe('faults in the configuration', () => {
  it('reports all faults in the file and in the environment together', () => {
    const yaml = 'settle: soon\nlog: { level: loud }\nwebhok: {}\n'
    expect(faults({ PIPESPAN_LISTEN: 'nowhere', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, yaml)).toEqual([
      '1:9: settle: "soon" is not a duration. Write a number with its unit, such as 250ms, 5s, 1h or 7d.',
      '2:15: log.level: "loud" is not one of `trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`. Write one of trace, debug, info, warn, error, fatal, silent.',
      '3:1: webhok: Unknown setting. Did you mean webhook?',
      'PIPESPAN_LISTEN: "nowhere" is not a listen address. Write host and port, such as 127.0.0.1:8080, or "[::]:8080" in quotes for every address.',
      expect.stringMatching(/^OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" .* Remove it, and use an OTLP\/HTTP endpoint/),
    ])
  })

  it.each([
    ['/no/such/file.yaml', 'The configuration file "/no/such/file.yaml" cannot be read (ENOENT).'],
    ['/', 'The configuration file "/" is not a regular file, or is larger than 1 MiB.'],
  ])('reports an unusable configuration file: %s', (file, message) => {
    const remedy = 'Use a YAML file that this process can read.'
    expect(loadConfig({ env: {}, file, profiles, features })).toMatchObject({
      ok: false,
      faults: [{ what: message, remedy }],
    })
    expect(faults({ PIPESPAN_CONFIG: file })).toEqual([`PIPESPAN_CONFIG: ${message} ${remedy}`])
  })

  it('reports a file that is nested too deeply', () => {
    expect(faults({}, `refs: ${'['.repeat(10_000)}${']'.repeat(10_000)}`)).toEqual([
      expect.stringMatching(/^1:\d+: The file is nested too deeply\. /),
    ])
  })

  it('reports only the syntax error of an invalid YAML file', () => {
    expect(faults({ PIPESPAN_LISTEN: '[::]:8080' }, 'webhook: { token: abc')).toHaveLength(1)
  })

  it.each([
    ['127.0.0.1:1', 0],
    ['127.9.8.7:1', 0],
    ['localhost:1', 0],
    ['[::1]:1', 0],
    ['0.0.0.0:1', 1],
    ['[::]:1', 1],
    ['10.0.0.1:1', 1],
    ['example.com:1', 1],
  ])('reports a missing webhook secret for %s only if other hosts can reach it', (listen, count) => {
    expect(faults({ PIPESPAN_LISTEN: listen })).toHaveLength(count)
    expect(faults({ PIPESPAN_LISTEN: listen, PIPESPAN_WEBHOOK_TOKEN: 'abc' })).toEqual([])
    expect(faults({ PIPESPAN_LISTEN: listen, PIPESPAN_WEBHOOK_SIGNING_TOKEN: 'whsec_c2VjcmV0' })).toEqual([])
  })

  it('reports an empty list of tokens as a fault', () => {
    expect(faults({ PIPESPAN_LISTEN: '[::]:1', PIPESPAN_WEBHOOK_TOKEN: ' , ' })).toEqual([
      faultOf('PIPESPAN_WEBHOOK_TOKEN', 'Copy it again, as one line of printable ASCII.'),
    ])
  })

  it('reports a client key without a certificate, unless the general certificate applies to it', () => {
    const key = 'test/fixtures/tls/first.key.pem'
    const certificate = 'test/fixtures/tls/first.cert.pem'
    const both = { OTEL_EXPORTER_OTLP_CLIENT_KEY: key, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: certificate }
    expect(faults({ ...both, OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: key })).toEqual([])
    expect(faults({ OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: key })).toHaveLength(1)
    expect(faults({ OTEL_EXPORTER_OTLP_CLIENT_KEY: key })).toEqual([
      faultOf('OTEL_EXPORTER_OTLP_CLIENT_KEY', 'Set both or neither.'),
    ])
  })
})

describe('secrets in the configuration', () => {
  it('reads secrets from a file without the trailing line break', () => {
    const file = fileWith('abc,def\r\n', 'token')
    const { config } = good({ PIPESPAN_WEBHOOK_TOKEN_FILE: file })
    expect(config.webhook.token.current()?.map(token => token.reveal())).toEqual(['abc', 'def'])
  })

  it('reports a fault if a secret is set both as a value and as a file', () => {
    expect(faults({ SERVICE_OBSERVABILITY_TOKEN: 'abc', SERVICE_OBSERVABILITY_TOKEN_FILE: '/x' })).toEqual([
      faultOf('SERVICE_OBSERVABILITY_TOKEN', 'Keep one of the two.'),
    ])
  })

  it('prefers a secret in a variable over a secret file named in the YAML, and does not read that file', () => {
    const { config } = good({ PIPESPAN_WEBHOOK_TOKEN: 'abc' }, 'webhook: { token_file: /no/such/file }')
    expect(config.webhook.token.current()?.[0]?.equals('abc')).toBe(true)
  })

  it.each(['hunter2\n', 'hun\tter2', 'hunter2\u0000', 'hunter2\u007f', 'hunter2\u0085'])(
    'rejects a secret with a control character (%j)',
    token => {
      expect(faults({ SERVICE_OBSERVABILITY_TOKEN: token })).toEqual([
        faultOf('SERVICE_OBSERVABILITY_TOKEN', 'Copy it again, as one line of printable ASCII.'),
      ])
      expect(faults({ PIPESPAN_WEBHOOK_TOKEN: token })).toHaveLength(1)
    },
  )

  it('never prints secrets along with the configuration', () => {
    const file = fileWith('hunter2', 'secret')
    const loaded = good({
      PIPESPAN_WEBHOOK_TOKEN: 'hunter2',
      PIPESPAN_WEBHOOK_SIGNING_TOKEN: 'whsec_hunter2h',
      SERVICE_OBSERVABILITY_TOKEN_FILE: file,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=hunter2',
      HTTPS_PROXY: 'http://user:hunter2@proxy:3128',
      PIPESPAN_STORE_URL: 'postgres://user:hunter2@db/pipespan?password=hunter2',
    })
    loaded.config.observability.token.current()
    const printed = [inspect(loaded, { depth: 20, showHidden: true }), JSON.stringify(loaded), describeConfig(loaded)]
    for (const text of printed) expect(text).not.toContain('hunter2')
    expect(printed[2]).toContain('https_proxy = http://[secret]@proxy:3128 (HTTPS_PROXY)')
    expect(printed[2]).toContain('store.url = postgres://db/pipespan (PIPESPAN_STORE_URL)')
    expect(printed[2]).toContain('otlp.headers = x-api-key=[secret] (OTEL_EXPORTER_OTLP_HEADERS)')
    expect(printed[2]).toContain('webhook.token = [secret] (PIPESPAN_WEBHOOK_TOKEN)')
  })
})

it.each([
  '',
  ' \n',
  '\uFEFF',
  '# settle: 5s\n',
  '---\n',
  '---\n...\n',
  'null',
  '~',
  '{}',
  '""',
  'webhook:\n',
  'pages: {}\nredact:\n',
])('rejects a file without settings (%j)', yaml => {
  expect(faults({ PIPESPAN_WEBHOOK_TOKEN: 'abc' }, yaml)).toEqual([
    faultOf('1:1', 'Write at least one setting, or start without a configuration file.'),
  ])
})

it('accepts a byte order mark and Windows line endings', () => {
  const file = fileWith('')
  writeFileSync(file, '\uFEFFsettle: 6s\r\nlog:\r\n  level: warn\r\n')
  expect(loadConfig({ env: {}, file, profiles, features })).toMatchObject({
    ok: true,
    config: { settle: 6000, log: { level: 'warn' } },
  })
})
