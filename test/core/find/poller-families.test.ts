// Tests that the poller finds whole families of pipelines, with and without webhooks, and that each is exported as one trace.
import { describe, expect, it } from 'vitest'
import { hour, minute, openPolledWorld, second } from './polled-world.ts'
import { isFull } from '../../full.ts'
import { lastStatus, once, truth, whole } from './polled-pipelines.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'

describe('a family of pipelines observed in any order', () => {
  it('exports a family of three levels as one trace', async () => {
    await using world = await openPolledWorld({ poll: whole })
    const root = world.lifecycle.create(scenarios.family(new Random(3)))
    for (const { id } of [301, 320].map(id => ({ id }))) world.api.activity.set(id, world.now())
    await world.pass(hour, 30 * second)
    const chunks = await world.sent()
    expect(chunks).toHaveLength(world.lifecycle.state.pipelines.size)
    expect(new Set(chunks.map(({ trace }) => trace.rootPipelineId))).toEqual(new Set([root.id]))
    // The enricher completes each pipeline only once, because a parent pipeline counts as found as soon as the first response names it.
    expect(world.enricher.counters.completed).toBe(chunks.length)
    const triggers = [...world.lifecycle.state.pipelines.values()].map(({ id, trigger }) => [id, trigger?.bridge.id])
    expect(chunks.map(({ key, trace }) => [key.pipelineId, trace.parent?.jobId])).toEqual(triggers)
  })

  it.each([
    ['its root by webhook, the others by the poller', (id: number, root: number) => id === root],
    ['its root by the poller, the others by webhook', (id: number, root: number) => id !== root],
    ['only its leaves by webhook', (id: number, root: number) => id > root + 2],
  ])('exports a family as one trace: %s', async (_, isObserved) => {
    let root = 0
    await using world = await openPolledWorld({ poll: whole, hook: ({ pipelineId }) => isObserved(pipelineId, root) })
    root = world.lifecycle.create(scenarios.family(new Random(3))).id
    world.api.activity.set(301, world.now())
    await world.pass(hour, 30 * second)
    const chunks = await world.sent()
    expect(lastStatus(chunks)).toEqual(truth(world))
    expect(once(chunks)).toBe(true)
    expect(new Set(chunks.map(({ trace }) => trace.rootPipelineId))).toEqual(new Set([root]))
  })

  it.each(isFull ? [3, 18, 22, 31] : [3, 18])(
    'exports a family as one trace, whichever webhooks are lost (seed %i)',
    async seed => {
      const random = new Random(seed)
      await using world = await openPolledWorld({ poll: whole, newest: true, hook: () => !random.chance(0.4) })
      world.api.activity.set(301, world.now())
      const root = world.lifecycle.create(scenarios.family(new Random(3)))
      await world.pass(20 * minute, 5 * second)
      const chunks = await world.sent()
      expect(lastStatus(chunks)).toEqual(truth(world))
      expect(new Set(chunks.map(({ trace }) => trace.rootPipelineId))).toEqual(new Set([root.id]))
    },
  )

  it('connects a child pipeline with a link if the token may not read the parent', async () => {
    await using world = await openPolledWorld({ hook: ({ pipelineId }) => pipelineId !== 48_210_001 })
    world.api.misbehave = ({ path }) => (path.includes('48210001') ? restFaults.notFound('Pipeline') : undefined)
    world.lifecycle.create(scenarios.family(new Random(3)))
    await world.pass(hour)
    const frontend = (await world.sent()).find(({ key }) => key.pipelineId === 48_210_002)
    expect(frontend?.trace).toMatchObject({ rootPipelineId: 48_210_002, linked: { pipelineId: 48_210_001 } })
  })
})
