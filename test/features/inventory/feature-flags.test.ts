// Tests the feature flags collector against the simulated platform's REST API: the share of users for whom a flag is on, and many scopes.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { day, hour, openInventoryWorld, type InventoryWorld } from './world.ts'
import { inventoryReference } from './reference.ts'
import { maxScopes } from '../../../src/platform/inventory/feature-flags.ts'

const shop = 'brightwater/shop/storefront'

let world: InventoryWorld
beforeEach(async () => {
  world = closeAfterTest(await openInventoryWorld())
})

describe('the feature flags collector', () => {
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
})
