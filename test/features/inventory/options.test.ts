// Tests how the inventory is divided among tokens, and queries whose platform does not exist.
import { expect, it } from 'vitest'
import { fileWith } from '../../daemon/configuration/given.ts'
import { inventory } from '../../../src/features/inventory/feature.ts'
import { loadConfig } from '../../../src/daemon/configuration/load.ts'
import { platformViews } from '../../../src/daemon/configuration/platforms.ts'
import { profiles } from '../../../src/daemon/profile.ts'

const load = (yaml: string) => loadConfig({ env: {}, file: fileWith(yaml), profiles, features: [inventory] })

const platforms = `platforms:
  - name: cloud
    url: https://cloud.example.com
    token: all
    tokens: [{ groups: [org/team], token: team }]
    inventory: { runners: [org, org/team], agents: [org/team/app] }
`

it('assigns each inventory list and query to the token with the longest matching group', () => {
  const loaded = load(`${platforms}queries:
  - { metric: open, query: a, platform: cloud, project: org/team/app }
  - { metric: all, query: a, platform: cloud }
`)
  if (!loaded.ok) throw new Error('It has faults.')
  const asked = platformViews(loaded.config).map(({ name, config }) => [
    name,
    inventory.perToken?.things?.(config as never, config).map(({ kind, of }) => `${kind} ${of.split(' ')[0]}`),
  ])
  expect(asked).toEqual([
    ['cloud', ['runners org', 'query all']],
    ['cloud/org/team', ['agents org/team/app', 'runners org/team', 'query open']],
  ])
})

it.each([
  [`${platforms}queries: [{ metric: a, query: b }]`, 'The query names no platform.'],
  [`${platforms}queries: [{ metric: a, query: b, platform: sky }]`, 'There is no platform sky.'],
])('rejects a query whose platform is missing or does not exist: %#', (yaml, what) => {
  const loaded = load(yaml)
  expect(loaded.ok ? [] : loaded.faults.map(fault => fault.what)).toEqual([what])
})

it('allows the same query on several platforms, because the series name their platforms', () => {
  const onprem = '  - { name: onprem, url: https://onprem.example.com, token: other }\n'
  const query = (platform: string) => `  - { metric: open, query: a, platform: ${platform} }\n`
  expect(load(`${platforms}${onprem}queries:\n${query('cloud')}${query('onprem')}`)).toMatchObject({ ok: true })
  expect(load(`${platforms}${onprem}queries:\n${query('cloud')}${query('cloud')}`)).toMatchObject({ ok: false })
})
