// Tests patterns for projects and people, wherever they can be configured. The patterns are case-insensitive, and may be limited to one platform.
import { describe, expect, it } from 'vitest'
import path from 'node:path'
import { writeFileSync } from 'node:fs'
import { createPriceTable } from '../../../src/core/take-in/price-table.ts'
import { createSelection } from '../../../src/core/take-in/selection.ts'
import { exportDestinations, messageDestinations } from '../../../src/daemon/export.ts'
import { identifier } from '../../../src/console/access/person.ts'
import { literalOf } from '../../../src/core/telemetry/custom-attributes.ts'
import { loadConfig } from '../../../src/daemon/configuration/load.ts'
import { platformNames } from '../../../src/daemon/connections.ts'
import { platformViews } from '../../../src/daemon/configuration/platforms.ts'
import { profiles, type ProfileName } from '../../../src/daemon/profile.ts'
import { scopesOf } from '../../../src/daemon/scopes.ts'
import { temporaryFolder } from '../../support/after-test.ts'
import type { Config } from '../../../src/daemon/configuration/options.ts'
import { features } from '../../../src/features.ts'
import type { JobView } from '../../../src/model/job.ts'

function load(yaml: string) {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, yaml)
  return loadConfig({ env: {}, file, profiles, features })
}

function configOf(yaml: string): Config<ProfileName> {
  const loaded = load(yaml)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults))
  return loaded.config
}

const places = [
  ...(['projects.exclude', 'pages.hide', 'admin.people'] as const),
  ...(['costs.rules', 'attributes.rules', 'destinations', 'notifications'] as const),
]
type Place = (typeof places)[number]

/** Returns one function for each place where a project pattern can be configured. The function reports whether the pattern selects a project. */
function decisionsOf(config: Config<ProfileName>): Record<Place, (path: string, instance: string) => boolean> {
  const platformOf = platformNames(config)
  const [destination] = exportDestinations(config, features).destinations.filter(({ name }) => name === 'one')
  const [notification] = messageDestinations(config, features)
  const rate = createPriceTable(config.costs.rules, platformOf)!
  const scopeOf = scopesOf(config)
  const own = { include: config.admin.people[0]?.projects.include ?? [], exclude: [] }
  return {
    'projects.exclude': (path, instance) => !createSelection(config, platformOf).project(path, instance),
    'pages.hide': (path, instance) => !scopeOf(undefined).sees({ path, instance }),
    // Hidden projects are hidden from everyone, so a person sees the project only without `pages.hide`.
    'admin.people': (path, instance) =>
      scopesOf({ ...config, pages: { ...config.pages, hide: [] } })(own).sees({ path, instance }),
    'costs.rules': (path, instance) => rate({} as JobView, { id: 1, path }, instance) !== undefined,
    'attributes.rules': (path, instance) =>
      literalOf(config.attributes.rules, 'team', platformOf)(path, '', instance) === 'x',
    destinations: (path, instance) => destination?.takes?.({ path, instance, projectId: 1 }) === true,
    notifications: (path, instance) => notification?.takes?.({ path, instance }) === true,
  }
}

const everywhere = (pattern: string): string => `
projects: {exclude: ['${pattern}']}
pages: {hide: ['${pattern}']}
costs: {rules: [{name: all, per_minute: 1, match: {project: ['${pattern}']}}]}
attributes: {rules: [{projects: {include: ['${pattern}']}, set: {team: x}}]}
destinations: [{name: one, endpoint: 'http://localhost:4318', projects: {include: ['${pattern}']}}]
notifications: [{name: chat, url: 'https://chat.example.com/x', format: slack, projects: {include: ['${pattern}']}}]
admin: {trusted_header: X-User, trusted_proxies: [127.0.0.1], token: an-admin-token-of-32-characters-x, people: [{who: ['*'], role: viewer, projects: {include: ['${pattern}']}}]}
`
const two = `
platforms:
  - {name: cloud, url: 'https://git.example.com', webhook: {token: one-secret}}
  - {name: internal, url: 'https://git.internal.example.com', webhook: {token: another-secret}}
`
const [cloud, internal] = ['https://git.example.com', 'https://git.internal.example.com']

describe('a project pattern', () => {
  it.each(places)('matches a project pattern case-insensitively in %s', place => {
    const chooses = decisionsOf(configOf(everywhere('Secret/**')))[place]
    for (const one of ['secret/upper', 'Secret/Upper', 'SECRET/x'])
      expect([one, chooses(one, cloud)]).toEqual([one, true])
    expect(chooses('public/secret', cloud)).toBe(false)
  })

  it.each(places)("selects only a platform's projects if the pattern begins with that platform, in %s", place => {
    const chooses = decisionsOf(configOf(two + everywhere('Internal:org/**')))[place]
    expect([chooses('org/app', internal), chooses('Org/App', internal)]).toEqual([true, true])
    expect([
      chooses('org/app', cloud),
      chooses('internal/org', internal),
      chooses('org/app', 'https://other.example.com'),
    ]).toEqual([false, false, false])
  })

  it.each(places)('selects all projects of a platform, in %s', place => {
    const chooses = decisionsOf(configOf(two + everywhere('internal:**')))[place]
    expect(['app', 'org/app', 'org/team/.app'].map(one => chooses(one, internal))).toEqual([true, true, true])
    expect(chooses('org/app', cloud)).toBe(false)
  })

  it("applies a pattern for one platform only to that platform's projects, even in commands that use only one of several platforms", () => {
    for (const { platform, config } of platformViews(configOf(two + everywhere('internal:org/**')))) {
      const [destination] = exportDestinations(config, features).destinations.filter(({ name }) => name === 'one')
      const instance = platform === 'cloud' ? cloud : internal
      expect([platform, destination?.takes?.({ path: 'org/app', instance, projectId: 1 })]).toEqual([
        platform,
        platform === 'internal',
      ])
    }
  })

  it('rejects a pattern for a platform that is not configured, in every setting', () => {
    const loaded = load(two + everywhere('internl:org/**'))
    const faults = loaded.ok ? [] : loaded.faults.map(({ setting, what, remedy }) => `${setting} ${what} ${remedy}`)
    expect(faults).toHaveLength(7)
    for (const fault of faults)
      expect(fault).toMatch(
        /“internl:org\/\*\*” is for the platform internl, which is not configured\. Use one of these prefixes, or none: cloud:, internal:/,
      )
  })
})

it('matches patterns for people case-insensitively, so that a different spelling does not make a different person', () => {
  const people = [
    { who: ['contractor@*'], role: 'viewer', projects: { include: ['a/**'], exclude: [] } },
    { who: ['*@corp.com'], role: 'operator' },
  ] as const
  const identify = identifier({ header: 'x-user', proxies: ['10.0.0.1'], people })
  for (const name of ['contractor@corp.com', 'Contractor@corp.com', 'CONTRACTOR@Corp.com']) {
    const person = identify({ raw: { socket: { remoteAddress: '10.0.0.1' }, rawHeaders: ['X-User', name] } } as never)
    expect(person).toMatchObject({ name, role: 'viewer' })
  }
})

describe('config check', () => {
  const tenants = (pattern: string, header: string): string => `${two}
destinations:
  - {name: one, endpoint: 'http://localhost:4318', projects: {include: ['${pattern}']}}
  - {name: each, endpoint: 'http://localhost:4319', headers: {X-Scope-OrgID: '${header}'}}
admin: {trusted_header: X-User, trusted_proxies: [127.0.0.1], token: an-admin-token-of-32-characters-x, people: [{who: ['*'], role: viewer, projects: {include: ['${pattern}']}}]}
`
  const warned = (yaml: string): string[] =>
    load(yaml).warnings.filter(one => one.includes('several platforms') || one.includes('all platforms'))

  it('warns about entries that match projects of two platforms', () => {
    expect(warned(tenants('org/**', 'tenant-{group}'))).toEqual([
      expect.stringMatching(/^admin\.people\[0\]\.projects: “org\/\*\*”/),
      expect.stringMatching(
        /^destinations\[0\]\.projects: “org\/\*\*” matches projects of all platforms \(cloud, internal\)/,
      ),
      expect.stringMatching(/^destinations\[1\]\.headers: \{group\} may be the same for projects of several platforms/),
    ])
    expect(warned(tenants('cloud:org/**', '{platform}-{group}'))).toEqual([])
    expect(warned(tenants('org/**', 'tenant-{group}').replace(two, ''))).toEqual([])
  })
})

it("replaces {platform} in a header with the name of the project's platform", () => {
  const config = configOf(`${two}
destinations: [{name: each, endpoint: 'http://localhost:4319', headers: {X-Scope-OrgID: '{platform}-{group}'}}]
`)
  const [each] = exportDestinations(config, features).destinations.filter(({ name }) => name === 'each')
  const values = [cloud, internal, 'https://other.example.com'].map(instance =>
    each?.headerValues?.({ instance, path: 'org/app', projectId: 3 }),
  )
  expect(values).toEqual([{ platform: 'cloud', group: 'org' }, { platform: 'internal', group: 'org' }, undefined])
  const single = configOf(
    `destinations: [{name: each, endpoint: 'http://localhost:4319', headers: {X-Scope-OrgID: '{platform}'}}]`,
  )
  const [only] = exportDestinations(single, features).destinations.filter(({ name }) => name === 'each')
  expect(only?.headerValues?.({ instance: cloud, path: 'org/app', projectId: 3 })).toEqual({ platform: 'default' })
})
