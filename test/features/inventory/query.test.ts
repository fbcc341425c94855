// Tests configured queries: the query text that is sent, the points that are created from the response, and the delays if the platform cannot
// respond.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { parse } from 'yaml'
import { askQuery, queryText, type QuerySpec } from '../../../src/platform/inventory/query.ts'
import { hour, minute, openInventoryWorld, type InventoryWorld } from './world.ts'
import { restJson } from '../../support/rest-faults.ts'
import type { Thing } from '../../../src/platform/port/asking.ts'

let world: InventoryWorld
beforeEach(async () => {
  world = closeAfterTest(await openInventoryWorld())
})
const count: QuerySpec = {
  metric: 'platform.vcs.change.open',
  ...{ query: 'type = MergeRequest and state = opened', group: 'brightwater', value: 'count' },
  ...{ fields: [], attributes: { team: 'shop' } },
}
const medians: QuerySpec = {
  metric: 'build.p50',
  ...{ query: 'type = Pipeline and finished >= -30d', project: 'brightwater/shop/storefront' },
  ...{ value: 'p50', fields: ['ref'], attributes: {} },
}

function thing(spec: QuerySpec): Thing {
  return {
    kind: 'query',
    of: spec.metric,
    every: minute,
    atLeast: 1,
    isBlockable: true,
    collect: async () => askQuery(spec, world.ask),
  }
}

describe('configured queries', () => {
  it('sends a query in the documented YAML form', () => {
    expect(parse(queryText(count))).toEqual({ group: 'brightwater', limit: 1, query: count.query })
    expect(parse(queryText(medians))).toEqual({
      ...{ fields: 'ref, p50', project: medians.project, limit: 100, query: medians.query },
    })
  })

  it('exports one point for a counting query', async () => {
    expect(await askQuery(count, world.ask)).toEqual({
      points: [{ metric: 'platform.vcs.change.open', attributes: { team: 'shop' }, value: 23 }],
    })
  })

  it("exports one point for each row of a query's result, distinguished by its fields", async () => {
    expect(await askQuery(medians, world.ask)).toEqual({
      points: [
        { metric: 'build.p50', attributes: { 'platform.query.ref': 'main' }, value: 412 },
        { metric: 'build.p50', attributes: { 'platform.query.ref': 'release' }, value: 633.5 },
      ],
    })
  })

  it.each([
    ['no row has its value', [{ ref: 'a' }], 'p50'],
    ['no row has a number for its value', [{ ref: 'a', p50: 'fast' }], 'p50'],
    ['there are no rows at all', undefined, 'data.nodes'],
  ])("rejects a query's result and names the missing field if %s", async (_, nodes, named) => {
    const fields = [{ key: 'ref', label: 'Ref' }, { key: 'medianDuration' }]
    world.api.misbehave = () => restJson({ success: true, data: { count: 1, nodes }, fields })
    const error: unknown = await askQuery(medians, world.ask).catch((caught: unknown) => caught)
    expect(String(error)).toContain(`has no usable ${named}. It has ref, medianDuration.`)
    await world.inventory([thing(medians)]).turn()
    expect(world.warnings).toEqual([expect.stringContaining(named)])
  })

  it('rejects the result of a counting query if it has no count, and names the missing field', async () => {
    world.api.misbehave = () => restJson({ success: true, data: { nodes: [] }, fields: [] })
    await expect(askQuery(count, world.ask)).rejects.toThrow('no usable data.count')
  })

  it('exports a query without an attribute that no row has, and logs that once', async () => {
    world.api.misbehave = () => restJson({ success: true, data: { count: 1, nodes: [{ p50: 3 }] }, fields: [] })
    const inventory = world.inventory([thing(medians)])
    await world.pass(inventory, 10 * minute)
    expect(await world.found()).toEqual({ 'build.p50': 3 })
    expect(world.warnings).toEqual([expect.stringContaining('has no usable ref')])
  })

  it("reads a field under the key that the query's result declares for it, and accepts empty values and an empty list of rows", async () => {
    const fields = [{ field: 'p50', key: 'medianDuration', name: 'p50' }, { key: 'ref' }]
    const nodes = [
      { ref: 'main', medianDuration: 7 },
      { ref: 'b', medianDuration: null },
    ]
    world.api.misbehave = () => restJson({ success: true, data: { count: 2, nodes }, fields })
    const { points, problem } = await askQuery(medians, world.ask)
    expect(points).toEqual([{ metric: 'build.p50', attributes: { 'platform.query.ref': 'main' }, value: 7 }])
    expect(problem).toBeUndefined()
    for (const rows of [[], [{ ref: 'b', medianDuration: null }]]) {
      world.api.misbehave = () => restJson({ success: true, data: { count: 0, nodes: rows }, fields })
      expect(await askQuery(medians, world.ask)).toEqual({ points: [] })
    }
  })

  it('requests the next page of a query with the cursor of the previous page', async () => {
    const pages = [
      { nodes: [{ ref: 'a', p50: 1 }], pageInfo: { hasNextPage: true, endCursor: 'next' } },
      {
        nodes: [
          { ref: 'b', p50: '2' },
          { ref: 'c', p50: null },
        ],
        pageInfo: { hasNextPage: false },
      },
    ]
    let page = 0
    world.api.misbehave = () => restJson({ success: true, data: pages[page++], fields: [] })
    const { points } = await askQuery(medians, world.ask)
    expect(points.map(({ value }) => value)).toEqual([1, 2])
    expect(page).toBe(2)
  })

  it("reports how many rows of a query's result exceed the maximum and are omitted", async () => {
    const nodes = Array.from({ length: 100 }, (_, n) => ({ ref: `r${n}`, p50: n }))
    const data = { count: 2_500, nodes, pageInfo: { hasNextPage: true, endCursor: 'next' } }
    world.api.misbehave = () => restJson({ success: true, data })
    expect(await askQuery(medians, world.ask)).toMatchObject({ omitted: 500 })
    expect(world.asked()).toHaveLength(20)
  })

  it.each([
    ['a number', 7, '7'],
    ['a boolean', true, 'true'],
    ['an object that has a name', { id: 9, title: 'one' }, 'one'],
    ['an object without a name', { id: 9 }, undefined],
    ['a list', [1], undefined],
    ['null', null, undefined],
  ])('exports a query field that is %s as an attribute, if the field has a string form', async (_, ref, text) => {
    world.api.misbehave = () => restJson({ success: true, data: { nodes: [{ ref, p50: 1 }] } })
    const { points } = await askQuery(medians, world.ask)
    expect(points[0]?.attributes).toEqual(text === undefined ? {} : { 'platform.query.ref': text })
  })

  it("retries a rejected query on the next day, and logs the platform's message", async () => {
    const wrong = { ...count, query: 'nonsense' }
    await expect(askQuery(wrong, world.ask)).rejects.toThrow(/Unexpected end of query.*queries/s)
    await world.pass(world.inventory([thing(wrong)]), 2 * hour)
    // The test sent one of the two query requests, and the daemon the other.
    expect(world.asked().filter(path => path === '/glql')).toHaveLength(2)
    expect(world.warnings).toHaveLength(1)
  })

  it('treats a query as failed if `success` is null in its response', async () => {
    world.api.misbehave = () => ({ status: 200, headers: {}, body: '{"success":null,"data":{"count":3}}' })
    await expect(askQuery(count, world.ask)).rejects.toThrow(/does not understand the query/)
  })

  it("doubles a query's interval after each timeout, without delaying other queries", async () => {
    let asked = 0
    const slow: Thing = {
      ...thing(count),
      of: 'slow',
      collect: async () => {
        asked += 1
        world.api.misbehave = () => ({ status: 503, headers: {}, body: 'timeout' })
        return askQuery(count, world.ask).finally(() => (world.api.misbehave = () => undefined))
      },
    }
    await world.pass(world.inventory([slow, thing(medians)]), 6 * hour)
    // The query is retried after 10, 20, 40, 80 and 160 minutes.
    expect(asked).toBe(6)
    expect(world.asked().length - asked).toBeGreaterThan(300)
  })
})
