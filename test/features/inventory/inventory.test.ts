// Tests the inventory against the simulated platform's REST API and a real store, under a clock that the test moves.
import { beforeEach, describe, expect, it } from 'vitest'
import { cleanCollected } from '../../../src/core/find/thing-reader.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { thingsOf as inventoryOf } from '../../../src/features/inventory/things.ts'
import { inventoryReference } from './reference.ts'
import { requestsAnHour } from '../../../src/model/inventory.ts'
import { restJson } from '../../support/rest-faults.ts'
import type { Thing } from '../../../src/platform/port/asking.ts'
import { collectors } from '../../../src/platform/inventory/collectors.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { turnsDuring } from '../../support/turns.ts'
import { day, hour, minute, openInventoryWorld, type InventoryWorld } from './world.ts'
import { isFull } from '../../full.ts'

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
