// Tests that a reload removes no setting that protects data or people, even if the file is truncated.
import { expect, it } from 'vitest'
import { plain, several, whole, yamlOf } from './whole.ts'
import { reloadConfig } from '../../../src/daemon/configuration/reload.ts'
import { running } from './running-config.ts'

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
