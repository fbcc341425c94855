// Tests what `pipespan doctor` and `pipespan config check` report about the inventory: how many requests it takes, whether queries work, and what the
// platform refuses.
import { beforeEach, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { checkInventory } from '../../../src/features/inventory/checks.ts'
import { fileWith } from '../../daemon/configuration/given.ts'
import { loadConfig } from '../../../src/daemon/configuration/load.ts'
import { openInventoryWorld, type InventoryWorld } from './world.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { runCommand } from '../../e2e/run-command.ts'
import { restJson } from '../../support/rest-faults.ts'
import { features } from '../../../src/features.ts'
import type { InventoryOptions } from '../../../src/features/inventory/options.ts'

let world: InventoryWorld
beforeEach(async () => {
  world = closeAfterTest(await openInventoryWorld())
})
const platform = () => `platform: { url: "${world.api.url}", token: pat-1 }\n`
const lists = 'inventory: { agents: [brightwater/platform/infrastructure], feature_flags: [a/b, c/d] }\n'

async function check(yaml: string, online = false): Promise<{ code: number; out: string; err: string }> {
  const args = ['config', 'check', fileWith(yaml), ...(online ? ['--online'] : [])]
  const { code, stdout: out, stderr: err } = await runCommand(args)
  return { code, out, err }
}

it("prints the inventory's requests per hour in config check", async () => {
  expect((await check(platform() + lists)).out).toContain('(agents, feature_flags): at least 25 requests an hour')
  expect((await check(lists)).out).toContain('nothing is requested without PIPESPAN_PLATFORM_URL')
})

it("runs queries in config check --online, and prints the platform's message about a failing one", async () => {
  const good = '  - { metric: open, query: "type = MergeRequest and state = opened" }\n'
  const bad = '  - { metric: wrong, query: nonsense }\n'
  expect(await check(`${platform()}queries:\n${good}`, true)).toMatchObject({
    code: 0,
    out: expect.stringContaining('✓ open: 23.') as string,
  })
  expect(await check(`${platform()}queries:\n${bad}`, true)).toMatchObject({
    code: 2,
    out: expect.stringMatching(/✗ wrong: .*Unexpected end of query/) as string,
  })
})

it.each([
  ['{ metric: a, query: q, every: 10s }', 'once a minute'],
  ['{ metric: a, query: q, project: p, group: g }', 'either a project or a group'],
  ['{ metric: a, query: q, fields: [x] }', 'A count has no fields'],
  ['{ metric: "1st", query: q }', 'name of a metric'],
  [`{ metric: a, query: "state = '${'x'.repeat(10_000)}'" }`, 'the platform accepts at most 10000'],
  [`{ metric: a, query: q, value: v, fields: ["${'é'.repeat(5_000)}"] }`, 'the platform accepts at most 10000'],
  ['{ metric: a, query: q }\n  - { metric: a, query: other }', 'reports the same series'],
])('reports an invalid query in config check: %s', async (query, words) => {
  const { code, err } = await check(`queries:\n  - ${query}\n`)
  expect([code, err]).toEqual([2, expect.stringContaining(words)])
})

it('lists in the doctor what the platform provides, what it refuses and how to fix that, and what has not been requested yet', async () => {
  const shop = 'brightwater/shop/storefront'
  world.answers(/\/enablement$/, { message: '403 Forbidden' }, 403)
  const asked = { feature_flags: [shop], dependency_firewall: [shop] }
  await world.inventory(asked).turn()
  expect(await doctorOn(`{ feature_flags: [${shop}], dependency_firewall: [${shop}], agents: [x] }`)).toMatchObject([
    { level: 'skipped', what: expect.stringContaining('agents: 1 of 1 not fetched yet') as string },
    { level: 'fine', what: expect.stringContaining('feature_flags can be read for 1 of 1') as string },
    {
      level: 'warning',
      what: expect.stringContaining('403') as string,
      remedy: expect.stringContaining('any role that may read the project') as string,
    },
    { level: 'skipped', what: expect.stringContaining('policy store') as string },
  ])
})

async function doctorOn(lists: string) {
  const loaded = loadConfig({ env: {}, file: fileWith(`${platform()}inventory: ${lists}\n`), profiles, features })
  if (!loaded.ok) throw new Error('the configuration is wrong')
  const options = loaded.config as unknown as InventoryOptions
  return checkInventory(options, { store: world.store, client: { instance: world.api.url, asking: () => world.ask } })
}

it("requests the dependency firewall's current state in the doctor, instead of repeating an earlier refusal", async () => {
  const [shop, other, far] = [
    'brightwater/shop/storefront',
    'brightwater/data/reports',
    'brightwater/platform/infrastructure',
  ]
  const asked = { dependency_firewall: [shop] }
  world.answers(/\/enablement$/, { message: 'Not Found' }, 404)
  await world.inventory(asked).turn()
  expect((await world.store.repositories.inventoryStates.all())[0]?.refusal).toBeDefined()
  world.api.misbehave = ({ path }) => {
    if (!path.endsWith('/enablement')) return undefined
    if (path.includes('storefront')) return restJson({ enabled: true })
    return path.includes('reports')
      ? restJson({ enabled: false }, 404)
      : restJson({ message: '404 Project Not Found' }, 404)
  }
  const found = await doctorOn(`{ dependency_firewall: [${shop}, ${other}, ${far}] }`)
  expect(found.map(({ level, what }) => [level, what])).toEqual([
    ['fine', `The dependency firewall is on for ${shop}.`],
    ['fine', `The dependency firewall is off for ${other}.`],
    ['warning', expect.stringContaining(`dependency_firewall of ${far}: The platform does not reveal`)],
    ['skipped', expect.stringContaining('policy store')],
  ])
})

it.each([
  [404, '{"message":"404 Not Found"}', /policy store \(experimental\) is off/],
  [404, '{"error":"404 Not Found"}', /has no policy store/],
  [403, '{"message":"403 Forbidden"}', /not licensed/],
  [403, '{"error":"insufficient_scope"}', /could not be checked: The token's scope is not sufficient/],
  [401, '{"message":"401 Unauthorized"}', /could not be checked: The platform does not accept the token/],
  [503, 'down', /could not be checked: The platform cannot serve requests/],
])("explains the policy store's response %i %s in the doctor", async (status, body, words) => {
  world.api.misbehave = ({ path }) =>
    path.endsWith('/triggers') ? { status, headers: { 'content-type': 'application/json' }, body } : undefined
  const found = await doctorOn('{ agents: [x] }')
  expect(found.at(-1)).toMatchObject({ level: 'skipped', what: expect.stringMatching(words) as string })
})

it('reports in the doctor of a platform only the inventory of that platform', async () => {
  const state = { kind: 'agents', of: 'acme', failures: 0, nextAt: world.now() + 60_000 }
  const refusal = { message: 'Not by this platform.', lasts: true }
  const { inventoryStates } = world.store.repositories
  await inventoryStates.put({ ...state, instance: `${world.api.url}.example`, refusal })
  expect((await doctorOn('{ agents: [acme] }'))[0]?.what).toBe('agents: 1 of 1 not fetched yet.')
  await inventoryStates.put({ ...state, instance: `${world.api.url} (groups 1a2b3c4d)`, answeredAt: world.now() })
  expect((await doctorOn('{ agents: [acme] }'))[0]?.what).toBe('agents can be read for 1 of 1.')
})

it('reports in the doctor since when the daemon has sent no inventory requests, and how many points are omitted', async () => {
  const shop = 'brightwater/shop/storefront'
  const key = { instance: world.api.url, kind: 'feature_flags', of: shop }
  const nextAt = world.now() - 3_600_000
  const state = { ...key, failures: 0, answeredAt: nextAt - 600_000, nextAt, omitted: 17 }
  await world.store.repositories.inventoryStates.put(state)
  expect(await doctorOn(`{ feature_flags: [${shop}] }`)).toMatchObject([
    { level: 'warning', what: expect.stringMatching(/has not requested 1 of 1 since 2026-06-01T11:00/) as string },
    { level: 'fine' },
    { level: 'warning', what: `feature_flags of ${shop} has 17 points beyond the export limit.` },
    { level: 'skipped' },
  ])
})

it('reports the policy store in the doctor even without inventory', async () => {
  const off = { level: 'skipped', what: expect.stringMatching(/ off/) as string }
  expect(await doctorOn('{}')).toMatchObject([off])
  world.answers(/\/policy_store\/triggers$/, [], 200)
  expect(await doctorOn('{}')).toMatchObject([
    off,
    { level: 'fine', what: expect.stringContaining('policy store is on') as string },
  ])
})
