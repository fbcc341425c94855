// Tests the inventory against the simulated platform's REST API and a real store, under a clock that the test moves.
import { createServer } from 'node:http'
import { once } from 'node:events'
import { beforeEach, describe, expect, it } from 'vitest'
import { cleanCollected } from '../../../src/core/find/thing-reader.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { thingsOf as inventoryOf } from '../../../src/features/inventory/things.ts'
import { inventoryReference } from './reference.ts'
import { requestsAnHour } from '../../../src/model/inventory.ts'
import { restFaults, restJson } from '../../support/rest-faults.ts'
import type { AddressInfo } from 'node:net'
import type { Asking, Thing } from '../../../src/platform/port/asking.ts'
import { collectors } from '../../../src/platform/inventory/collectors.ts'
import { dependencies } from '../../../src/platform/inventory/dependencies.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { turnsDuring } from '../../support/turns.ts'
import { day, hour, minute, openInventoryWorld, type InventoryWorld } from './world.ts'
import { isFull } from '../../full.ts'
import { maxScopes } from '../../../src/platform/inventory/feature-flags.ts'

const shop = 'brightwater/shop/storefront'
const infra = 'brightwater/platform/infrastructure'

let world: InventoryWorld
beforeEach(async () => {
  world = closeAfterTest(await openInventoryWorld())
})

describe('the inventory collectors', () => {
  it('counts cluster agents and reports when each was last seen', async () => {
    await world.inventory({ agents: [infra] }).turn()
    expect(await world.found()).toEqual({
      'platform.agent.count': 2,
      'platform.agent.token.count production': 1,
      'platform.agent.token.last_used production': { since: world.now() - 40_000 },
      'platform.agent.token.count staging': 1,
      'platform.agent.token.last_used staging': { since: world.now() - 3 * hour },
    })
    // One request looks up the project. The round itself sends one request for the list, one per agent, and one per token.
    expect(world.asked()).toHaveLength(1 + 1 + 2 + 2)
  })

  it('reports for each feature flag whether it is on, by scope, and how old it is', async () => {
    await world.inventory({ feature_flags: [shop] }).turn()
    expect(await world.found()).toMatchObject({
      'platform.feature_flag.active new_checkout production': 1,
      'platform.feature_flag.active dark_mode *': 0,
      'platform.feature_flag.age dark_mode': { since: world.now() - 400 * day },
    })
  })

  it("reports a feature flag's percentage of users: the largest of several strategies, and 0 for a user list", async () => {
    const of = (name: string, parameters: object, ...scopes: string[]) => ({
      ...{ name, parameters, scopes: scopes.map(environment_scope => ({ environment_scope })) },
    })
    const flags = [
      { name: 'gradual', active: true, strategies: [of('gradualRolloutUserId', { percentage: '25' }, 'production')] },
      { name: 'flexible', active: true, strategies: [of('flexibleRollout', { rollout: 5 }, 'production')] },
      { name: 'nobody', active: true, strategies: [of('gradualRolloutUserId', { percentage: 'many' }, '*')] },
      { name: 'listed', active: true, strategies: [of('userWithId', { userIds: '1,2' }, '*')] },
      { name: 'lists', active: true, strategies: [of('serviceUserList', {}, 'production')] },
      {
        name: 'both',
        active: true,
        strategies: [of('gradualRolloutUserId', { percentage: '50' }, 'a', 'b'), of('default', {}, 'b')],
      },
      { name: 'off', active: false, strategies: [of('gradualRolloutUserId', { percentage: '25' }, 'production')] },
      { name: 'plain', active: true, strategies: [] },
    ].map(flag => ({ version: 'new_version_flag', scopes: [], ...flag }))
    world.answers(/feature_flags$/, flags)
    await world.inventory({ feature_flags: [shop] }).turn()
    expect(await world.found()).toEqual({
      'platform.feature_flag.active gradual production': 0.25,
      'platform.feature_flag.active flexible production': 0.05,
      'platform.feature_flag.active nobody *': 0,
      'platform.feature_flag.active listed *': 0,
      'platform.feature_flag.active lists production': 0,
      'platform.feature_flag.active both a': 0.5,
      'platform.feature_flag.active both b': 1,
      'platform.feature_flag.active off production': 0,
      'platform.feature_flag.active plain *': 1,
    })
  })

  it('reports for a legacy feature flag whether each of its scopes is on', async () => {
    const half = [{ name: 'gradualRolloutUserId', parameters: { percentage: '50' } }]
    const scopes = [
      { environment_scope: '*', active: false },
      { environment_scope: 'unset', active: null },
      { environment_scope: 'staging', active: true, strategies: [{ name: 'default', parameters: {} }] },
      { environment_scope: 'production', active: true, strategies: half },
    ]
    const flags = [
      { name: 'legacy', active: true, version: 'legacy_flag', scopes, strategies: [] },
      { name: 'older', scopes },
      { name: 'off', active: false, scopes },
      { name: 'null', active: null, scopes: [{ environment_scope: 'staging', active: true }] },
    ]
    world.answers(/feature_flags$/, flags)
    await world.inventory({ feature_flags: [shop] }).turn()
    const of = (name: string, staging: number, production: number) => ({
      [`platform.feature_flag.active ${name} *`]: 0,
      [`platform.feature_flag.active ${name} unset`]: 0,
      [`platform.feature_flag.active ${name} staging`]: staging,
      [`platform.feature_flag.active ${name} production`]: production,
    })
    expect(await world.found()).toEqual({
      ...of('legacy', 1, 0.5),
      ...of('older', 1, 0.5),
      ...of('off', 0, 0),
      'platform.feature_flag.active null staging': 0,
    })
  })

  it('truncates a feature flag with 200,000 scopes at the documented maximum, and logs once how many were omitted', async () => {
    const scopes = Array.from({ length: 200_000 }, (_, n) => ({ environment_scope: `e${n}` }))
    const flags = [
      { name: 'wide', active: true, strategies: [{ name: 'default', scopes }] },
      { name: 'usual', active: true, strategies: [{ name: 'default', scopes: [{ environment_scope: 'production' }] }] },
    ]
    world.answers(/feature_flags$/, flags)
    const inventory = world.inventory({ feature_flags: [shop] })
    await world.pass(inventory, hour)
    const found = await world.found()
    expect(Object.keys(found)).toHaveLength(maxScopes + 1)
    expect(found).toMatchObject({
      'platform.feature_flag.active wide e99': 1,
      'platform.feature_flag.active usual production': 1,
    })
    expect(inventoryReference()).toContain(`${maxScopes} environment scopes of a feature flag`)
    expect(world.warnings).toEqual([expect.stringContaining('the inventory has more points than the export limit')])
    const [state] = await world.store.repositories.inventoryStates.all()
    expect(state?.omitted).toBe(200_000 - maxScopes)
    world.api.misbehave = () => undefined
    await world.pass(inventory, hour)
    expect((await world.store.repositories.inventoryStates.all())[0]?.omitted).toBe(0)
  })

  it('exports at most 10,000 points per inventory item', async () => {
    const many: Thing = {
      ...{ kind: 'many', of: 'all', every: minute, atLeast: 1 },
      collect: async () => ({
        points: Array.from({ length: 10_003 }, (_, n) => ({ metric: 'm', value: n, attributes: { n: String(n) } })),
      }),
    }
    await world.inventory([many]).turn()
    expect(Object.keys(await world.found())).toHaveLength(10_000)
    expect((await world.store.repositories.inventoryStates.all())[0]?.omitted).toBe(3)
  })

  it('reads at most a thousand items of an inventory list, and logs once how many were omitted', async () => {
    const all = Array.from({ length: 1_500 }, (_, at) => ({ id: at + 1, title: `m${at}`, due_date: '2026-07-01' }))
    world.api.misbehave = ({ path, query }) => {
      const to = Number(query.get('page') ?? 1) * 100
      const link = `<${world.api.url}/api/v4${path}?page=${to / 100 + 1}&per_page=100>; rel="next"`
      return path.endsWith('/milestones')
        ? { status: 200, headers: { link, 'x-total': '1500' }, body: JSON.stringify(all.slice(to - 100, to)) }
        : undefined
    }
    await world.pass(world.inventory({ milestones: [shop] }), 3 * hour)
    const found = await world.found()
    expect(found['platform.milestone.open']).toBe(1_500)
    expect(Object.keys(found)).toHaveLength(1_001)
    expect(world.warnings.filter(one => one.includes('more points than the export limit'))).toHaveLength(1)
    const [state] = await world.store.repositories.inventoryStates.all()
    expect(state?.omitted).toBe(500)
  })

  it('continues if an agent is deleted or a token is revoked while agents are being read', async () => {
    world.api.misbehave = ({ path }) =>
      path.endsWith('/cluster_agents/5/tokens') || path.endsWith('/tokens/60')
        ? restJson({ message: '404 Not found' }, 404)
        : undefined
    await world.inventory({ agents: [infra] }).turn()
    expect(await world.found()).toEqual({ 'platform.agent.count': 1, 'platform.agent.token.count staging': 0 })
    expect(world.warnings).toEqual([])
  })

  it('reports the limits of a group, the due times of milestones, and the state of the dependency firewall', async () => {
    const inventory = world.inventory({
      groups: ['brightwater'],
      milestones: ['brightwater', shop],
      dependency_firewall: [shop],
    })
    await inventory.turn()
    expect(await world.found()).toMatchObject({
      'platform.group.compute_minutes.limit': 10_000,
      'platform.group.compute_minutes.extra_limit': 500,
      'platform.milestone.open': 2,
      'platform.milestone.due Autumn release': { until: Date.UTC(2026, 5, 11) },
      'platform.dependency_firewall.enabled': 1,
    })
    const readings = await world.store.repositories.gaugeReadings.all()
    const owners = readings.map(({ kind, project, group }) => [kind, project?.path ?? group])
    expect(owners.sort()).toEqual([
      ['dependency_firewall', shop],
      ['groups', 'brightwater'],
      ['milestones', 'brightwater'],
      ['milestones', shop],
    ])
  })

  it('counts dependencies by ecosystem once a day, and reports changes', async () => {
    const inventory = world.inventory({ dependencies: [shop] })
    await world.pass(inventory, minute)
    expect(await world.found()).toEqual({
      'platform.sbom.components npm': 3,
      'platform.sbom.components docker': 1,
      'platform.sbom.components golang': 1,
    })
    expect(world.events.map(({ event }) => event.attributes)).toEqual([
      { 'platform.sbom.digest': expect.stringMatching(/^sha256:/) as string, 'platform.sbom.components': 5 },
    ])
    await world.pass(inventory, day)
    expect(world.events).toHaveLength(1)
    world.api.inventory.components = ['pkg:npm/fastify@5.3.0', ...world.api.inventory.components.slice(1)]
    await world.pass(inventory, day + hour)
    const changed = world.events.length
    expect(world.events.at(-1)?.event.attributes).toMatchObject({
      'platform.sbom.added': 1,
      'platform.sbom.removed': 1,
    })
    const [first] = world.api.inventory.components
    const rest = world.api.inventory.components.slice(1)
    // The bill of materials changes and then changes back. Both changes are reported, with different keys.
    world.api.inventory.components = ['pkg:npm/fastify@5.2.0', ...rest]
    await world.pass(inventory, day + hour)
    world.api.inventory.components = [first ?? '', ...rest]
    await world.pass(inventory, day + hour)
    expect(world.events).toHaveLength(changed + 2)
    expect(new Set(world.events.map(({ key }) => key)).size).toBe(changed + 2)
  })
})

describe('reading a bill of materials', () => {
  it('keeps waiting for a requested bill of materials after a restart, without a second request', async () => {
    await world.inventory({ dependencies: [shop] }).turn()
    const before = world.asked()
    await world.pass(world.inventory({ dependencies: [shop] }), 3 * minute)
    const all = [...before, ...world.asked()]
    expect(all.filter(path => path.endsWith('/dependency_list_exports'))).toHaveLength(1)
    expect(world.events).toHaveLength(1)
  })

  it('reads a bill of materials whose status response has no body and whose file is on another host, without sending the token there', async () => {
    const tokens: unknown[] = []
    const storage = createServer((request, response) => {
      tokens.push(request.headers['private-token'])
      response.end('{"components":[{"purl":"pkg:npm/pino@9.5.0"}]}')
    })
    await once(storage.listen(0, '127.0.0.1'), 'listening')
    const location = `http://127.0.0.1:${(storage.address() as AddressInfo).port}/sbom.json`
    let checks = 0
    world.api.misbehave = ({ path }) => {
      if (path.endsWith('/download')) return { status: 302, headers: { location }, body: '' }
      return /exports\/\d+$/.test(path) && ++checks === 1
        ? { status: 202, headers: { 'content-type': 'application/json' }, body: '' }
        : undefined
    }
    try {
      await world.pass(world.inventory({ dependencies: [shop] }), 3 * minute)
      expect(await world.found()).toEqual({ 'platform.sbom.components npm': 1 })
      expect(tokens).toEqual([undefined])
      expect(world.warnings).toEqual([])
    } finally {
      await new Promise(resolve => storage.close(resolve))
    }
  })

  it.each([
    ['is cut off', '{"components": [', 'broken-answer'],
    ['is too large', `{"components":[${'{},'.repeat(300_000)}{}]}`, 'too-large'],
  ])('requests a bill of materials again if it %s, and logs that', async (_, body, reason) => {
    world.api.misbehave = ({ path }) => (path.endsWith('/download') ? { status: 200, headers: {}, body } : undefined)
    await world.pass(world.inventory({ dependencies: [shop] }), 3 * minute)
    const [state] = await world.store.repositories.inventoryStates.all()
    expect(state?.refusal?.message).toContain({ 'broken-answer': 'incomplete', 'too-large': 'too large' }[reason])
    expect(world.events).toEqual([])
  })

  it('gives up on a bill of materials until the next day if it never becomes ready, and logs that', async () => {
    world.answers(/^\/dependency_list_exports\/\d+$/, { id: 1, has_finished: false }, 202)
    await world.pass(world.inventory({ dependencies: [shop] }), hour)
    const asked = world.asked().filter(path => path.includes('dependency_list_exports'))
    expect(asked.length).toBeLessThan(50)
    expect(world.warnings).toEqual([expect.stringContaining('was not finished')])
  })

  it.each(['the export', 'its download'])('requests a new bill of materials at once if %s is gone', async what => {
    let gone = 0
    world.api.misbehave = ({ path }) => {
      const isGone = what === 'the export' ? /exports\/\d+$/.test(path) : path.endsWith('/download')
      return isGone && gone++ === 0 ? restFaults.notFound('Not found') : undefined
    }
    await world.pass(world.inventory({ dependencies: [shop] }), 5 * minute)
    expect(await world.found()).toMatchObject({ 'platform.sbom.components npm': 3 })
    expect(world.events).toHaveLength(1)
    expect(world.warnings).toEqual([])
  })

  it('requests a bill of materials at most twice a day if it keeps disappearing, and reports that in the log and on the page', async () => {
    world.api.misbehave = ({ path }) => (path.endsWith('/download') ? restFaults.notFound('Not found') : undefined)
    const inventory = world.inventory({ dependencies: [shop] })
    await world.pass(inventory, hour)
    expect(world.asked().filter(path => path.endsWith('/dependency_list_exports'))).toHaveLength(2)
    expect(world.warnings).toEqual([expect.stringMatching(/gone before it was read.*tomorrow/)])
    const [state] = await world.store.repositories.inventoryStates.all()
    expect(state?.refusal?.message).toContain('gone before it was read')
    world.api.misbehave = () => undefined
    await world.pass(inventory, day)
    expect(await world.found()).toMatchObject({ 'platform.sbom.components npm': 3 })
  })

  it('counts a large bill of materials in steps that do not block the event loop', async () => {
    const components = Array.from({ length: 20_000 }, (_, n) => ({ purl: `pkg:npm/a@${n}` }))
    const ask = {
      ...world.ask,
      one: async () => ({ has_finished: true }),
      file: async () => ({ components }),
    } as Asking
    const owner = { project: { id: 1, path: shop } }
    const counting = dependencies.collect({ ask, owner, now: 0, memory: { export: { id: 1, looks: 0 } } })
    expect(await turnsDuring(counting)).toBeGreaterThanOrEqual(20_000 / 500)
    expect((await counting).points.map(({ value }) => value)).toEqual([20_000])
  })

  it('reports no change for a bill of materials without components, and logs that they are missing', async () => {
    world.answers(/\/download$/, { bomFormat: 'CycloneDX' })
    await world.pass(world.inventory({ dependencies: [shop] }), 5 * minute)
    expect(world.events).toEqual([])
    expect(world.warnings).toEqual([expect.stringContaining('has no components')])
  })
})

describe('inventory rounds', () => {
  it('redacts many points in steps that do not block the event loop', async () => {
    const points = Array.from({ length: 10_000 }, (_, n) => ({ metric: 'm', attributes: { name: `a${n}` }, value: n }))
    const cleaning = cleanCollected({ points }, createTextRedaction([]))
    expect(await turnsDuring(cleaning)).toBeGreaterThanOrEqual(100)
    expect(await cleaning).toEqual({ points, events: undefined })
  })

  it('sends exactly the documented number of inventory requests for many projects, a group and a query', async () => {
    const many = isFull ? 50 : 12
    const projects = (count: number): string[] => Array.from({ length: count }, (_, n) => String(n + 1))
    world.api.misbehave = ({ path }) => {
      const [, id] = /^\/projects\/(\d+)$/.exec(path) ?? []
      if (id !== undefined) return restJson({ id: Number(id), name: `p${id}`, path_with_namespace: `acme/p${id}` })
      if (path.endsWith('/cluster_agents')) return restJson([{ id: 5, name: 'one' }])
      if (path.endsWith('/tokens')) return restJson([{ id: 50 }])
      if (path.endsWith('/enablement')) return restJson({ enabled: false })
      if (/\/(feature_flags|milestones|runners|pipeline_schedules|branches|tags)$/.test(path)) return restJson([])
      if (path.includes('/tokens/')) return restJson({ last_used_at: '2026-06-01T11:00:00Z' })
      const [, made] = /^\/projects\/(\d+)\/dependency_list_exports$/.exec(path) ?? []
      if (made !== undefined) return restJson({ id: Number(made) }, 201)
      if (path.endsWith('/download')) return restJson({ components: [] })
      if (path.startsWith('/dependency_list_exports')) return restJson({ has_finished: true })
      return undefined
    }
    const metric = 'platform.vcs.change.open'
    const unset = { fields: undefined, attributes: undefined, project: undefined, platform: undefined }
    const query = { metric, query: 'type = MergeRequest', group: 'brightwater', value: 'count', every: 5 * minute }
    const queries = [{ ...unset, ...query }]
    const thingsOf = (count: number) =>
      inventoryOf({
        inventory: Object.fromEntries(
          collectors.map(({ of, kind }) => [kind, of === 'groups' ? ['brightwater'] : projects(count)]),
        ),
        queries,
      })
    const things = thingsOf(many)
    const inventory = world.inventory(things)
    // Daily requests are sent in the first two minutes: every project and the group is looked up, and every bill of materials is requested.
    await world.pass(inventory, 2 * minute)
    const first = world.asked()
    expect(first.filter(path => /^\/(projects|groups)\/[^/]+$/.test(path))).toHaveLength(many + 1 + 1)
    expect(first.filter(path => path.includes('dependency_list_exports'))).toHaveLength(many * 3)
    await world.pass(inventory, hour)
    // Agents are read in 12 rounds, each with two requests per agent: one to list its tokens and one for the token itself. The table of collectors
    // lists the other requests. Daily and weekly requests were sent before.
    const rare = (many + 1) / 24 + (many * 3) / 24 + many / (7 * 24)
    const agentRequests = many * 12 * 2
    const hourly = requestsAnHour(things) - rare + agentRequests
    expect(world.asked()).toHaveLength(Math.round(hourly))
    expect(Math.round(requestsAnHour(things) + agentRequests)).toBe(many * 64 + 2 + 12 + Math.round(rare))
    expect(inventoryReference()).toContain(`${Math.ceil(requestsAnHour(thingsOf(50)))} requests per hour`)
  })

  it('reads the inventory on only one of two replicas, and on the other replica once the first has stopped', async () => {
    const [one, other] = [world.inventory({ agents: [infra] }), world.inventory({ agents: [infra] })]
    await one.turn()
    world.asked()
    await world.pass(other, minute)
    await one.turn()
    await world.pass(other, minute)
    expect(world.asked()).toEqual([])
    await one.stop()
    await world.pass(other, 5 * minute)
    expect(world.asked().length).toBeGreaterThan(0)
  })

  it('reads the inventory without delay even if a due time was stored while a clock was ahead', async () => {
    const { inventoryStates } = world.store.repositories
    const ahead = { instance: world.api.url, kind: 'agents', of: infra, failures: 0, nextAt: world.now() + 90 * day }
    await inventoryStates.put(ahead)
    await world.inventory({ agents: [infra] }).turn()
    expect(await world.found()).toMatchObject({ 'platform.agent.count': 2 })
  })

  it('removes the state and gauges of inventory items that are no longer configured', async () => {
    const before = world.inventory({ agents: [infra], feature_flags: [shop] })
    await before.turn()
    await before.stop()
    await world.inventory({ feature_flags: [shop] }).turn()
    expect(Object.keys(await world.found()).filter(name => name.startsWith('platform.agent'))).toEqual([])
    expect((await world.store.repositories.inventoryStates.all()).map(({ kind }) => kind)).toEqual(['feature_flags'])
  })
})

describe('refused inventory requests', () => {
  it.each([
    [403, { message: '403 Forbidden' }],
    [404, { message: '404 Project Not Found' }],
    [422, { message: 'not enforced' }],
  ])(
    'logs a permanent refusal of an inventory request once, and retries the request once a day: %i',
    async (status, body) => {
      world.answers(/feature_flags$/, body, status)
      // In one of the cases, agents are also read all day, to show that other requests continue.
      const beside = isFull || status === 403 ? [infra] : []
      const inventory = world.inventory({ feature_flags: [shop], agents: beside })
      await world.pass(inventory, 25 * hour)
      expect(world.asked().filter(path => path.endsWith('feature_flags'))).toHaveLength(2)
      expect(world.warnings).toHaveLength(1)
      const [state] = (await world.store.repositories.inventoryStates.all()).filter(
        ({ kind }) => kind === 'feature_flags',
      )
      expect(state?.refusal).toMatchObject({ status, lasts: true })
      if (beside.length > 0) expect(await world.found()).toMatchObject({ 'platform.agent.count': 2 })
    },
  )

  it.each([503, 429])(
    'retries an inventory request with exponential backoff after the temporary status %i',
    async status => {
      world.answers(/feature_flags$/, {}, status)
      const inventory = world.inventory({ feature_flags: [shop] })
      await world.pass(inventory, 6 * hour)
      const asked = world.asked().filter(path => path.endsWith('feature_flags')).length
      expect(asked).toBeGreaterThan(3)
      expect(asked).toBeLessThan(14)
      world.api.misbehave = () => undefined
      await world.pass(inventory, hour)
      expect(await world.found()).toMatchObject({ 'platform.feature_flag.active new_checkout production': 1 })
    },
  )

  it('retries a refused inventory request at once after a restart, because the cause may be fixed', async () => {
    world.answers(/feature_flags$/, {}, 403)
    await world.inventory({ feature_flags: [shop] }).turn()
    world.api.misbehave = () => undefined
    const again = world.inventory({ feature_flags: [shop] })
    // The previous daemon's lease expires meanwhile.
    await world.pass(again, 2 * minute)
    expect(await world.found()).toMatchObject({ 'platform.feature_flag.active new_checkout production': 1 })
  })

  it('treats a null from the dependency firewall as off, not as a refusal', async () => {
    world.answers(/\/enablement$/, { enabled: null })
    await world.inventory({ dependency_firewall: [shop] }).turn()
    expect(await world.found()).toEqual({ 'platform.dependency_firewall.enabled': 0 })
  })

  it.each([
    [{ enabled: false }, 0, /answered/],
    [{ error: '404 Not Found' }, undefined, /has no dependency firewall/],
    [{ message: '404 Project Not Found' }, undefined, /may be on or off/],
    [{ enabled: false, message: '404 Project Not Found' }, undefined, /may be on or off/],
    [{ other: 1 }, undefined, /404/],
  ])(
    'recognises a refusal about the dependency firewall by the keys of the response: %j',
    async (body, value, words) => {
      world.answers(/\/enablement$/, body, 404)
      await world.inventory({ dependency_firewall: [shop] }).turn()
      expect((await world.found())['platform.dependency_firewall.enabled']).toBe(value)
      const [state] = await world.store.repositories.inventoryStates.all()
      expect(state?.refusal?.message ?? 'answered').toMatch(words)
    },
  )

  it('drops only the fields of an inventory response that have the wrong type', async () => {
    const flags = [{ name: 'one', active: 'yes', created_at: 7, strategies: 'none', more: {} }]
    world.answers(/feature_flags$/, flags)
    await world.inventory({ feature_flags: [shop] }).turn()
    expect(await world.found()).toMatchObject({ 'platform.feature_flag.active one *': 0 })
  })
})

const refusing = isFull ? 20 : 6

it(`logs once that an endpoint refuses the token of ${refusing} projects, and delays nothing else`, async () => {
  await using own = await openInventoryWorld({ tries: 4, refusals: 5, first: 1_000, max: 30_000 })
  own.api.misbehave = ({ path }) => {
    const [, id] = /^\/projects\/(\d+)$/.exec(path) ?? []
    if (id !== undefined) return restJson({ id: Number(id), name: `p${id}`, path_with_namespace: `acme/p${id}` })
    if (path.endsWith('milestones')) return restJson({ message: '401 Unauthorized' }, 401)
    return restJson([])
  }
  const projects = Array.from({ length: refusing }, (_, n) => String(n + 1))
  const inventory = own.inventory({ milestones: projects, agents: projects })
  await own.pass(inventory, 6 * hour)
  expect(own.warnings).toHaveLength(2)
  expect(own.warnings[1]).toMatch(/milestones/)
  own.asked()
  await own.pass(inventory, hour)
  // The agents of each project are read every five minutes, although another endpoint refuses the token.
  expect(own.asked().filter(path => path.endsWith('cluster_agents')).length).toBeGreaterThanOrEqual(11 * refusing)
})
