// Tests each kind of the inventory with every answer in the document's table of errors. The daemon logs the error once, repeats the request at a
// sensible pace, never crashes, and continues with the other kinds.
import { expect, it } from 'vitest'
import { collectors } from '../../../src/platform/inventory/collectors.ts'
import { isFull } from '../../full.ts'
import { restJson } from '../../support/rest-faults.ts'
import { hour, openInventoryWorld } from './world.ts'

const shop = 'brightwater/shop/storefront'

/** The paths that each kind requests below the API's base, without those that look up its owner. */
const endpoints: Readonly<Record<string, RegExp>> = {
  agents: /cluster_agents/,
  feature_flags: /feature_flags$/,
  // The same path looks up the group.
  groups: /^\/groups\/[^/]+$/,
  dependencies: /dependency_list_exports/,
  dependency_firewall: /enablement$/,
  milestones: /milestones$/,
  runners: /\/runners(\/|$)/,
  schedules: /pipeline_schedules/,
  repositories: /^\/groups\/[^/]+\/projects$/,
  refs: /repository\/(branches|tags)$/,
  includes: /ci\/lint$/,
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

/** The daemon's own rules, so that repeated requests are counted. */
const retry = { tries: 4, refusals: 5, first: 1_000, max: 30_000 }

const kinds = collectors.map(({ kind, of }) => ({ kind, of: of === 'groups' ? 'brightwater' : shop }))

it('every kind of the inventory has an endpoint here', () => {
  expect(Object.keys(endpoints).sort()).toEqual(kinds.map(({ kind }) => kind).sort())
})

/** The short form takes every third pair, so that each answer is tried with some kinds and each kind with some answers. */
const cases = kinds
  .flatMap((one, n) => answers.map(([status, body], at) => ({ ...one, status, body, turn: n + at })))
  .filter(({ turn }) => isFull || turn % 3 === 0)

it.each(cases)('the inventory survives the answer $status $body to $kind', async ({ kind, of, status, body }) => {
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
  // At most one request every five minutes, plus the retries after temporary errors.
  expect(refused).toBeLessThan(40)
  // One warning; a second one if the error seemed to concern the platform and then proves to concern the endpoint; and one about a requested pause.
  expect(world.warnings.length).toBeLessThanOrEqual(body === 'Retry later' ? 3 : 2)
  const states = await world.store.repositories.inventoryStates.all()
  expect(states.find(state => state.kind === other)?.answeredAt).toBeDefined()
})

const refusing = isFull ? 20 : 6

it(`logs once that an endpoint refuses the token of ${refusing} projects, and delays nothing else`, async () => {
  await using world = await openInventoryWorld(retry)
  world.api.misbehave = ({ path }) => {
    const [, id] = /^\/projects\/(\d+)$/.exec(path) ?? []
    if (id !== undefined) return restJson({ id: Number(id), name: `p${id}`, path_with_namespace: `acme/p${id}` })
    if (path.endsWith('milestones')) return restJson({ message: '401 Unauthorized' }, 401)
    return restJson([])
  }
  const projects = Array.from({ length: refusing }, (_, n) => String(n + 1))
  const inventory = world.inventory({ milestones: projects, agents: projects })
  await world.pass(inventory, 6 * hour)
  expect(world.warnings).toHaveLength(2)
  expect(world.warnings[1]).toMatch(/milestones/)
  world.asked()
  await world.pass(inventory, hour)
  // Each project is read every five minutes.
  expect(world.asked().filter(path => path.endsWith('cluster_agents')).length).toBeGreaterThanOrEqual(11 * refusing)
})
