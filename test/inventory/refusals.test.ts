// Every answer of the document's table of errors, to each kind that is asked about: said once, asked again when that makes sense, never a crash
// and never a storm, and the others go on.
import { expect, it } from 'vitest'
import { collectors } from '../../src/platform/inventory/collectors.ts'
import { isFull } from '../full.ts'
import { hour, openInventoryWorld } from './world.ts'

const shop = 'brightwater/shop/storefront'

/** What each kind is asked by, below the API's base, besides what it is looked up by. */
const endpoints: Readonly<Record<string, RegExp>> = {
  agents: /cluster_agents/,
  feature_flags: /feature_flags$/,
  // The group is looked up by what it is asked by.
  groups: /^\/groups\/[^/]+$/,
  dependencies: /dependency_list_exports/,
  dependency_firewall: /enablement$/,
  milestones: /milestones$/,
}

const answers: readonly (readonly [status: number, body: string])[] = [
  [304, ''],
  [400, '{"error":"scope is invalid"}'],
  [401, '{"message":"401 Unauthorized"}'],
  [403, '{"error":"insufficient_scope"}'],
  [403, '{"message":"403 Forbidden"}'],
  [404, '{"message":"404 Project Not Found"}'],
  [404, '{"error":"404 Not Found"}'],
  [405, '{"message":"not allowed"}'],
  [414, 'URI too long'],
  [422, '{"message":"dependency_firewall_not_enforced"}'],
  [429, 'Retry later'],
  [429, '{"message":{"error":"This endpoint has been requested too many times."}}'],
  [503, '{"message":"dependency_firewall_evaluation_failed"}'],
  [200, '[{"unknown":{"more":[1]}}, null, 7]'],
  [200, '{"message":"something else"}'],
  [200, '[{"name":'],
]

/** As the daemon has them, so that what is repeated is counted. */
const retry = { tries: 4, refusals: 5, first: 1_000, max: 30_000 }

const kinds = collectors.map(({ kind, of }) => ({ kind, of: of === 'groups' ? 'brightwater' : shop }))

it('every kind of the inventory has an endpoint here', () => {
  expect(Object.keys(endpoints).sort()).toEqual(kinds.map(({ kind }) => kind).sort())
})

/** In the short form every third, so that each answer meets some kinds and each kind some answers. */
const cases = kinds
  .flatMap((one, n) => answers.map(([status, body], at) => ({ ...one, status, body, turn: n + at })))
  .filter(({ turn }) => isFull || turn % 3 === 0)

it.each(cases)('$kind survive the answer $status $body', async ({ kind, of, status, body }) => {
  await using world = await openInventoryWorld(retry)
  const path = endpoints[kind]!
  let refused = 0
  world.api.misbehave = request => {
    if (!path.test(request.path)) return undefined
    refused += 1
    return { status, headers: { 'content-type': 'application/json' }, body }
  }
  const other = kind === 'agents' ? 'feature_flags' : 'agents'
  const inventory = world.inventory({ [other]: [shop], [kind]: [of] })
  await world.pass(inventory, hour)
  expect(refused).toBeGreaterThan(0)
  // Every five minutes at most, with the retries of what may pass.
  expect(refused).toBeLessThan(40)
  // Once; where it might have been the platform's, once more when it turns out to be this endpoint's; and a pause for all, if it asked for one.
  expect(world.warnings.length).toBeLessThanOrEqual(body === 'Retry later' ? 3 : 2)
  const states = await world.store.repositories.inventoryStates.all()
  expect(states.find(state => state.kind === other)?.answeredAt).toBeDefined()
})

const refusing = isFull ? 20 : 6

it(`logs once that an endpoint refuses the token of ${refusing} projects, and delays nothing else`, async () => {
  await using world = await openInventoryWorld(retry)
  world.api.misbehave = ({ path }) => {
    const [, id] = /^\/projects\/(\d+)$/.exec(path) ?? []
    const json = (status: number, body: object) => ({
      ...{ status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    })
    if (id !== undefined) return json(200, { id: Number(id), name: `p${id}`, path_with_namespace: `acme/p${id}` })
    if (path.endsWith('milestones')) return json(401, { message: '401 Unauthorized' })
    return json(200, [])
  }
  const projects = Array.from({ length: refusing }, (_, n) => String(n + 1))
  const inventory = world.inventory({ milestones: projects, agents: projects })
  await world.pass(inventory, 6 * hour)
  expect(world.warnings).toHaveLength(2)
  expect(world.warnings[1]).toMatch(/milestones/)
  world.asked()
  await world.pass(inventory, hour)
  // Every five minutes, each of them.
  expect(world.asked().filter(path => path.endsWith('cluster_agents')).length).toBeGreaterThanOrEqual(11 * refusing)
})
