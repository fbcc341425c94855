import { expect, it } from 'vitest'
import { writeFileSync } from 'node:fs'
import { fileWith } from './given.ts'
import { loadConfig, type LoadedConfig, type LoadOptions } from '../../../src/daemon/configuration/load.ts'
import { profiles, type ProfileName } from '../../../src/daemon/profile.ts'
import { plain, several, whole, yamlOf } from './whole.ts'
import { features } from '../../../src/features.ts'
import { reloadConfig } from '../../../src/daemon/configuration/reload.ts'

function running(yaml: string): {
  loaded: LoadedConfig<ProfileName>
  options: LoadOptions<ProfileName>
  write: (yaml: string) => void
} {
  const file = fileWith(yaml)
  const options = { env: {}, file, profiles, features }
  const loaded = loadConfig(options)
  if (!loaded.ok) throw new Error('The configuration of this test has faults.')
  return { loaded, options, write: text => writeFileSync(file, text) }
}

it('changes nothing if the configuration has not changed', () => {
  const { loaded, options } = running('webhook: { token: abc }\nstore: { url: "postgres://u:p@db/x" }')
  expect(reloadConfig(loaded, options)).toEqual({ ok: true, loaded, changed: [], restart: new Map() })
})

it('applies changed secrets alone, whether they are in the configuration file or in files that it names', () => {
  const { loaded, options, write } = running(
    'webhook: { token: abc }\ndestinations: [{ name: a, endpoint: http://a, headers: { x: one } }]',
  )
  const { token } = loaded.config.webhook
  write('webhook: { token: [def, ghi] }\ndestinations: [{ name: a, endpoint: http://a, headers: { x: two } }]')
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: true, loaded, changed: [] })
  expect(token.current()?.map(one => one.reveal())).toEqual(['def', 'ghi'])
  expect(loaded.config.destinations[0]?.headers.current()?.get('x')?.reveal()).toBe('two')
  write(
    `webhook: { token_file: ${fileWith('from-file', 'token')} }\ndestinations: [{ name: a, endpoint: http://a, headers: { x: two } }]`,
  )
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: true, changed: [] })
  expect(token.current()?.map(one => one.reveal())).toEqual(['from-file'])
})

it('applies new settings, except those that require a restart, which it lists without secrets', () => {
  const { loaded, options, write } = running(
    'webhook: { token: abc }\nsettle: 5s\nstore: { url: "postgres://u:one@db/x", max_size: 1GiB }\n',
  )
  write(
    'webhook: { token: def }\nsettle: 10s\nstore: { url: "postgres://u:two@db/x", max_size: 2GiB }\nrefs: { include: [main] }\n',
  )
  const found = reloadConfig(loaded, options)
  if (!found.ok) throw new Error('It has faults.')
  const { file } = options
  expect(found.changed).toEqual(['webhook.token', 'settle', 'refs.include'])
  expect([...found.restart.values()]).toEqual([
    `store.url: another value (${file}:3:15) needs a restart to apply; postgres://db/x stays in use until then.`,
    `store.max_size: 2GiB (${file}:3:50) needs a restart to apply; 1GiB stays in use until then.`,
  ])
  const { config } = found.loaded
  expect([config.settle, config.refs.include, config.store]).toEqual([10_000, ['main'], loaded.config.store])
  expect(config.webhook.token.current()?.[0]?.reveal()).toBe('def')
  expect(loaded.config.settle).toBe(5000)
  // The next reload lists the settings that require a restart again, because they still differ.
  const again = reloadConfig(found.loaded, options)
  expect(again).toMatchObject({ ok: true, loaded: found.loaded, changed: [] })
  expect(again.ok && [...again.restart.keys()]).toEqual(['store.url', 'store.max_size'])
})

it('applies nothing from a configuration with a different profile', () => {
  const { loaded, options, write } = running('platform: { profile: generic }')
  write('platform: { profile: gitlab }\nsettle: 10s')
  const found = reloadConfig(loaded, options)
  expect(found).toMatchObject({ ok: true, loaded, changed: [] })
  expect(found.ok && [...found.restart.keys()]).toEqual(['platform.profile'])
})

it('changes nothing if the new configuration has faults', () => {
  const { loaded, options, write } = running('webhook: { token: abc }')
  write('webhook: { token: def }\nsettle: soon')
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: false, faults: [{ setting: 'settle' }] })
  expect(loaded.config.webhook.token.current()?.[0]?.reveal()).toBe('abc')
})

it("applies each destination's own token on a reload, even if the destinations are listed in another order", () => {
  const one = '{ name: one, endpoint: http://one, token: '
  const two = '{ name: two, endpoint: http://two, token: '
  const { loaded, options, write } = running(`destinations: [${one}a}, ${two}b}]`)
  write(`destinations: [${two}e}, ${one}f}]`)
  const found = reloadConfig(loaded, options)
  const tokens = found.ok
    ? found.loaded.config.destinations.map(({ name, token }) => [name, token.current()?.reveal()])
    : []
  expect(tokens).toEqual([
    ['two', 'e'],
    ['one', 'f'],
  ])
})

it('rejects a file without settings, and a file that is still being written', () => {
  for (const text of ['', '# nothing\n', '---\n', 'null\n', '{}\n', 'webhook:\n', 'pages: {}\n']) {
    const { loaded, options, write } = running(yamlOf(whole))
    write(text)
    expect(reloadConfig(loaded, options)).toMatchObject({ ok: false, faults: [{ what: 'The file has no settings.' }] })
  }
})

it.each([
  ['one platform', whole],
  ['several platforms', several],
])('keeps every protective setting if the file is truncated at the end of any line, with %s', (_, tree) => {
  const text = yamlOf(tree)
  const { loaded, options } = running(text)
  const protectedBy = ({ admin, pages, redact, attributes, webhook, platforms }: typeof loaded.config): unknown =>
    plain([
      admin.token,
      admin.trustedHeader,
      pages.hide,
      redact,
      attributes.drop,
      webhook,
      platforms.map(one => one.webhook),
    ])
  const ends = [...text.matchAll(/\n/g)].map(({ index }) => index + 1)
  const cut = ends.map(end => text.slice(0, end))
  // Simulates an editor that writes the sections in reverse order, so that truncation removes different settings.
  const reversed = Object.fromEntries(Object.entries(tree).reverse())
  const other = yamlOf(reversed)
  cut.push(...[...other.matchAll(/\n/g)].map(({ index }) => other.slice(0, index + 1)))
  let applied = 0
  for (const part of cut) {
    const found = reloadConfig(loaded, { ...options, text: part })
    if (!found.ok) continue
    applied += 1
    const { config } = found.loaded
    expect(config.otlp.endpoint ?? config.destinations[0]).toBeDefined()
    const before = new Map(loaded.config.destinations.map(one => [one.name, one.projects]))
    for (const { name, projects } of config.destinations) expect(projects).toEqual(before.get(name))
    const kept = config.platforms.length === loaded.config.platforms.length
    if (kept) expect(protectedBy(config)).toEqual(protectedBy(loaded.config))
  }
  expect(applied).toBeGreaterThan(0)
})

it.each([
  ['webhook.token', 'webhook: { token: abc }', 'webhook: {}'],
  [
    'webhook.token',
    'webhook: { token: abc, signing_token: whsec_c2VjcmV0 }',
    'webhook: { signing_token: whsec_c2VjcmV0 }',
  ],
  ['webhook.signing_token', 'webhook: { token: abc, signing_token: whsec_c2VjcmV0 }', 'webhook: { token: abc }'],
  ['admin.token', 'admin: { token: 0123456789abcdef }', 'admin:'],
  ['pages.hide', "pages: { hide: ['secret/**'] }", 'pages: {}'],
  ['pages.hide', "pages: { hide: ['secret/**'] }", 'pages: { hide: [] }'],
  ['redact', 'redact: [key-.]', 'redact: []'],
  ['attributes.drop', 'attributes: { drop: [a] }', 'attributes:'],
  ['platforms', "platforms: [{ name: a, url: 'http://a', webhook: { token: abc } }]", 'platforms: []'],
  [
    'platforms[0].webhook.token',
    "platforms: [{ name: a, url: 'http://a', webhook: { token: abc } }]",
    "platforms: [{ name: a, url: 'http://a' }]",
  ],
  [
    'platforms[1].webhook.token',
    "platforms: [{ name: a, url: 'http://a', webhook: { token: abc } }]",
    "platforms: [{ name: b, url: 'http://b' }, { name: a, url: 'http://a' }]",
  ],
  ['destinations', "destinations: [{ name: a, endpoint: 'http://a' }]", 'destinations: []'],
  ['destinations', 'otlp: { endpoint: http://a }', 'otlp:'],
  [
    'observability.export',
    'otlp: { endpoint: http://a }',
    'otlp: { endpoint: http://a }\nobservability: { export: none }',
  ],
  [
    'destinations[0].projects.include',
    "destinations: [{ name: a, endpoint: 'http://a', projects: { include: ['a/**'] } }]",
    "destinations: [{ name: a, endpoint: 'http://a' }]",
  ],
  [
    'destinations[0].headers',
    "destinations: [{ name: a, endpoint: 'http://a', headers: { x: '{group}' } }]",
    "destinations: [{ name: a, endpoint: 'http://a', headers: { x: all } }]",
  ],
])('does not remove the protective setting %s on a reload', (setting, before, after) => {
  const { loaded, options, write } = running(`settle: 5s\n${before}`)
  const was = plain(loaded.config)
  write(`settle: 6s\n${after}`)
  const found = reloadConfig(loaded, options)
  expect(found).toMatchObject({
    ok: false,
    faults: [{ setting, remedy: expect.stringContaining('Restart the daemon to apply') as string }],
  })
  expect(plain(loaded.config)).toEqual(was)
})

const listed = `attributes:
  drop:
    - pipeline.user.*
    - vcs.change.*
  hash:
    - a.b
    - c.d
redact:
  - ACME-[0-9a-f]{32}
  - CORP-[0-9a-f]{32}
pages:
  hide:
    - secret/**
    - other/**
projects:
  exclude:
    - private/**
    - old/**
admin:
  token: an-admin-token-that-is-long
  trusted_header: X-Auth-Request-Email
  trusted_proxies:
    - 10.1.0.0/16
    - 10.2.0.0/16
  people:
    - who: ['*']
      role: viewer
      projects:
        exclude:
          - secret/**
          - other/**
webhook:
  token: one-secret
destinations:
  - endpoint: http://a
    name: alpha-eu
    projects:
      exclude:
        - beta/**
        - gamma/**
    headers:
      x-team: '{group}'
      x-scope-orgid: '{project.id}'
  - endpoint: http://b
    name: beta
    projects:
      include:
        - beta/**
`

it('keeps every entry of a protective setting if the file is truncated at any character, whichever section is last', () => {
  const { loaded, options } = running(listed)
  const protections = ({ attributes, redact, pages, projects, admin, webhook }: typeof loaded.config): unknown =>
    plain([attributes.drop, attributes.hash, redact, pages.hide, projects, admin, webhook])
  const destinations = ({ destinations: all }: typeof loaded.config): Map<string, unknown> =>
    new Map(all.map(({ name, projects, headers }) => [name, plain([projects, headers.current()])]))
  const [before, backends] = [protections(loaded.config), destinations(loaded.config)]
  const parts = listed.split(/\n(?=\w)/).map(part => part.trimEnd())
  let applied = 0
  for (const [at] of parts.entries()) {
    const text = [...parts.slice(at), ...parts.slice(0, at), ''].join('\n')
    // If the file is truncated earlier, the last section is missing altogether. Another order of the sections tests that case.
    for (let end = text.length - parts.at(at - 1)!.length; end < text.length; end += 1) {
      const found = reloadConfig(loaded, { ...options, text: text.slice(0, end) })
      if (!found.ok) continue
      applied += 1
      expect(protections(found.loaded.config)).toEqual(before)
      for (const [name, its] of destinations(found.loaded.config)) expect(its).toEqual(backends.get(name))
    }
  }
  expect(applied).toBeGreaterThan(0)
})

it('applies a list with replaced or added entries, or with fewer entries if that shows nothing to more people', () => {
  for (const [before, after] of [
    ['pages: { hide: [secret/a, secret/b] }', 'pages: { hide: [secret/**] }'],
    ['pages: { hide: [secret/a] }', 'pages: { hide: [secret/a, secret/b] }'],
    ['webhook: { token: [an-old-one, a-new-one] }', 'webhook: { token: a-new-one }'],
    ['webhook: { token: [a-new-one, an-old-one] }', 'webhook: { token: a-new-one }'],
    [
      "destinations: [{ name: a, endpoint: 'http://a', projects: { include: ['a/**', 'b/**'] } }]",
      "destinations: [{ name: a, endpoint: 'http://a', projects: { include: ['a/**'] } }]",
    ],
  ] as const) {
    const { loaded, options, write } = running(`settle: 5s\n${before}`)
    write(`settle: 6s\n${after}`)
    expect(reloadConfig(loaded, options)).toMatchObject({ ok: true })
  }
})

it('removes one of several destinations, and a header without templates', () => {
  const { loaded, options, write } = running(
    "destinations: [{ name: a, endpoint: 'http://a', headers: { x: one } }, { name: b, endpoint: 'http://b' }]",
  )
  write("destinations: [{ name: a, endpoint: 'http://a' }]")
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: true, restart: new Map() })
})

it('applies a secret file with changed templates only at a reload', () => {
  const secret = fileWith('x-scope-orgid=one', 'headers')
  const { loaded, options } = running(`destinations: [{ name: a, endpoint: 'http://a', headers_file: ${secret} }]`)
  const shown = (): string | undefined =>
    loaded.config.destinations[0]?.headers.current()?.get('x-scope-orgid')?.reveal()
  expect(shown()).toBe('one')
  writeFileSync(secret, 'x-scope-orgid=tenant-{group}')
  loaded.config.destinations[0]?.headers.reload()
  expect(shown()).toBe('one')
  const found = reloadConfig(loaded, options)
  expect(found).toMatchObject({ ok: true, changed: ['destinations[0].headers'] })
  expect(found.ok && found.loaded.config.destinations[0]?.headers.current()?.get('x-scope-orgid')?.reveal()).toBe(
    'tenant-{group}',
  )
  writeFileSync(secret, '')
  expect(reloadConfig(loaded, options)).toMatchObject({
    ok: false,
    faults: [{ what: expect.stringContaining('is empty') as string }],
  })
})
