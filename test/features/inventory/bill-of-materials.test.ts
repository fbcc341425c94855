// Tests how the bill of materials of a project is requested, awaited, read and counted, and how its changes are reported.
import { createServer } from 'node:http'
import { once } from 'node:events'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { day, hour, minute, openInventoryWorld, type InventoryWorld } from './world.ts'
import { dependencies } from '../../../src/platform/inventory/dependencies.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { turnsDuring } from '../../support/turns.ts'
import type { AddressInfo } from 'node:net'
import type { Asking } from '../../../src/platform/port/asking.ts'

const shop = 'brightwater/shop/storefront'

let world: InventoryWorld
beforeEach(async () => {
  world = closeAfterTest(await openInventoryWorld())
})

describe('the bill of materials of a project', () => {
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
