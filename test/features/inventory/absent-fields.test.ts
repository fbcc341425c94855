// Tests inventory responses without the fields that the platform may omit, one field at a time. The record is still exported, or the log names the
// field.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { openInventoryWorld } from './world.ts'
import { restJson } from '../../support/rest-faults.ts'

const shop = 'brightwater/shop/storefront'
const infra = 'brightwater/platform/infrastructure'

/**
 * For each kind of inventory: the owner to read, the responses whose fields are removed, these fields, and the metric that has a point for each
 * record.
 */
const kinds = [
  [
    'agents',
    infra,
    /cluster_agents(\/\d+\/tokens)?$/,
    ['id', 'name', 'agent_id', 'status'],
    'platform.agent.token.count',
  ],
  [
    'feature_flags',
    shop,
    /feature_flags$/,
    ['name', 'active', 'created_at', 'strategies'],
    'platform.feature_flag.active',
  ],
  ['milestones', 'brightwater', /milestones$/, ['id', 'title', 'state'], 'platform.milestone.due'],
  [
    'runners',
    shop,
    /\/runners$/,
    ['id', 'status', 'runner_type', 'description', 'paused'],
    'platform.cicd.worker.info',
  ],
  ['refs', shop, /repository\/(branches|tags)$/, ['name', 'commit'], 'vcs.ref.count'],
  ['repositories', 'brightwater', /\/projects$/, ['id', 'path_with_namespace', 'name'], 'vcs.repository.count'],
  [
    'groups',
    'brightwater',
    /^\/groups\/[^/]+$/,
    ['shared_runners_minutes_limit'],
    'platform.group.compute_minutes.limit',
  ],
] as const

const cases = kinds.flatMap(([kind, of, paths, fields, metric]) =>
  fields.map(field => ({ kind, of, paths, field, metric })),
)

it.each(cases)(
  'exports $kind if the response lacks the field $field, or logs the name of the field',
  async ({ kind, of, paths, field, metric }) => {
    const world = closeAfterTest(await openInventoryWorld())
    const records = async (): Promise<number> => {
      const found = Object.entries(await world.found()).filter(([name]) => name.split(' ')[0] === metric)
      return found.reduce((sum, [, value]) => sum + (metric.endsWith('.count') ? Number(value) : 1), 0)
    }
    const inventory = world.inventory({ [kind]: [of] })
    await inventory.turn()
    const before = await records()
    expect(before).toBeGreaterThan(0)
    world.api.misbehave = ({ path }, real) => {
      if (!paths.test(path)) return undefined
      const json = JSON.parse(String(real().body)) as object | object[]
      const cut = (item: object): object => Object.fromEntries(Object.entries(item).filter(([name]) => name !== field))
      return restJson(Array.isArray(json) ? json.map(cut) : cut(json))
    }
    const states = world.store.repositories.inventoryStates
    for (const state of await states.all()) await states.put({ ...state, nextAt: world.now() })
    await inventory.turn()
    if ((await records()) !== before) expect(world.warnings.join()).toContain(field)
  },
)
