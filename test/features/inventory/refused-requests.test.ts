// Tests what the inventory does if the platform refuses a request, temporarily or permanently, or responds with unexpected fields.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { hour, minute, openInventoryWorld, type InventoryWorld } from './world.ts'
import { isFull } from '../../full.ts'
import { restJson } from '../../support/rest-faults.ts'

const shop = 'brightwater/shop/storefront'
const infra = 'brightwater/platform/infrastructure'

let world: InventoryWorld
beforeEach(async () => {
  world = closeAfterTest(await openInventoryWorld())
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
      // In one of the cases, the platform accepts requests for agents all day, which shows that other requests continue.
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
