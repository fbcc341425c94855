// Tests which pipelines the poller finds, with and without webhooks, and that each is exported once.
import { branchClassOf } from '../../../src/model/pipeline.ts'
import { describe, expect, it } from 'vitest'
import { allScenarios, scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { attempts, lastStatus, once, plan, project, truth, truthOf, whole } from './polled-pipelines.ts'
import { day, hour, minute, openPolledWorld, second, type PolledWorld, type WorldOptions } from './polled-world.ts'
import { isFull } from '../../full.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults } from '../../support/rest-faults.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

function startAll(world: PolledWorld): void {
  const random = new Random(5)
  for (const name of allScenarios) world.lifecycle.create(scenarios[name](random))
}

describe('the poller without webhooks', () => {
  it.each([
    [true, 2],
    [false, 0],
  ])(
    'finds running pipelines that have not changed within the lookback if this is enabled: %s',
    async (running, found) => {
      const shop = project(901)
      await using world = await openPolledWorld({
        projects: [shop],
        poll: { projects: [shop.path], lookback: hour, running },
      })
      for (const status of ['running', 'pending', 'success'] as const)
        Object.assign(world.lifecycle.create(plan(shop)), { status, updatedAt: world.now() - day })
      await world.poller.round()
      expect(world.poller.counters.discovered).toBe(found)
      await world.poller.round()
      const asked = world.api.asked.filter(({ query }) => query.has('scope'))
      expect(asked).toHaveLength(found)
      // Running pipelines are requested at once, and not only after they have ended.
      await world.pass(5 * second)
      const fetched = world.api.asked.filter(({ path }) => /\/pipelines\/\d+$/.test(path))
      expect(fetched).toHaveLength(found)
    },
  )

  it('exports every pipeline with its final status, including child pipelines', async () => {
    await using world = await openPolledWorld({ poll: whole })
    startAll(world)
    for (const one of world.lifecycle.state.pipelines.values()) world.api.activity.set(one.project.id, world.now())
    await world.pass(2 * hour, minute)
    const chunks = await world.sent()
    expect(lastStatus(chunks)).toEqual(truth(world))
    expect(once(chunks)).toBe(true)
    expect(world.logged).toEqual([])
  })

  it('requests a polled pipeline, its jobs and its bridges only once', async () => {
    await using world = await openPolledWorld({ poll: { projects: ['brightwater/data/reports'] } })
    const { id } = world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(hour, 30 * second)
    const about = world.api.asked.map(({ path }) => path).filter(path => path.includes(String(id)))
    expect(about).toEqual(['', '/jobs', '/bridges'].map(chunk => `/projects/333/pipelines/${id}${chunk}`))
    expect(await world.sent()).toHaveLength(1)
  })

  it('finds the default branch of a project that the configuration names', async () => {
    await using world = await openPolledWorld({ poll: { projects: ['brightwater/data/reports'] } })
    const { ref } = world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(hour, 30 * second)
    const [chunk] = await world.sent()
    expect(chunk?.project).toMatchObject({ defaultBranch: ref })
    expect(branchClassOf(chunk!.pipeline.facts, chunk!.project)).toBe('default')
    expect(world.api.asked.filter(({ path }) => path === '/projects/333')).toHaveLength(1)
  })

  it.each(['broken', 'missingRole'] as const)(
    'finds pipelines even if the platform does not return their project (%s)',
    async fault => {
      await using world = await openPolledWorld({ poll: { projects: ['brightwater/data/reports'] } })
      world.api.misbehave = ({ path }) => (path === '/projects/333' ? restFaults[fault]() : undefined)
      const found = world.lifecycle.create(scenarios.nightly(new Random(3)))
      await world.pass(hour, 30 * second)
      expect(lastStatus(await world.sent())).toEqual(truthOf(found))
    },
  )

  it.each([-3 * hour, 3 * hour])("finds all pipelines if the platform's clock is off by %s ms", async skew => {
    await using world = await openPolledWorld({ poll: whole, skew })
    world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(hour, 30 * second)
    const again = world.lifecycle.create(scenarios.nightly(new Random(4)))
    await world.pass(hour, 30 * second)
    expect(lastStatus(await world.sent()).get(again.id)).toBe(again.status)
  })

  it("finds the user's own pipelines in all projects, and all pipelines in projects of which the user is a member", async () => {
    await using world = await openPolledWorld({ poll: { ownPipelines: true, memberProjects: true }, me: 40 })
    world.api.isMember = ({ path }) => path === 'brightwater/mobile/app'
    const mine = world.lifecycle.create(scenarios.nightly(new Random(3)))
    const ofMember = world.lifecycle.create(scenarios.flakyRunner(new Random(3)))
    world.lifecycle.create(scenarios.branch(new Random(3)))
    await world.pass(hour, 30 * second)
    expect(lastStatus(await world.sent())).toEqual(truthOf(mine, ofMember))
    const again = world.lifecycle.create(scenarios.flakyRunner(new Random(4)))
    await world.pass(hour, 30 * second)
    expect(lastStatus(await world.sent())).toEqual(truthOf(again))
    expect(world.api.asked.filter(({ path }) => path.startsWith('/groups'))).toEqual([])
  })

  it('uses the merge request title from the cross-project list, even after a restart', async () => {
    await using world = await openPolledWorld({ poll: { ownPipelines: true } })
    const { id, mergeRequest } = world.lifecycle.create(scenarios.mergeRequest(new Random(3)))
    await world.poller.round()
    await world.restart()
    await world.pass(hour, 30 * second)
    const [chunk] = await world.sent()
    expect(chunk?.key.pipelineId).toBe(id)
    expect(chunk?.pipeline.facts.mergeRequest).toEqual({
      iid: mergeRequest!.iid,
      title: mergeRequest!.title,
      url: `${world.api.url}/brightwater/shop/checkout-api/-/merge_requests/${mergeRequest!.iid}`,
    })
  })

  it('exports a pipeline that has waited for a manual job for an hour, in its current state', async () => {
    await using world = await openPolledWorld({ poll: whole })
    const { id } = world.lifecycle.create(scenarios.blocked(new Random(3)))
    await world.pass(hour, minute)
    expect(await world.sent()).toEqual([])
    await world.pass(15 * minute, minute)
    const chunks = await world.sent()
    expect(attempts(chunks)).toEqual([`${id}/1 manual`])
    expect(chunks[0]?.jobs.length).toBeGreaterThan(1)
  })

  it('still polls a project after it was moved', async () => {
    await using world = await openPolledWorld({ poll: { projects: ['old/reports'] } })
    world.api.moved.set('old/reports', 'brightwater/data/reports')
    world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(hour, 30 * second)
    expect(await world.sent()).toHaveLength(1)
  })
})

describe('a pipeline retried 8 days after it ended', () => {
  it('finds the retried pipeline again, and exports only its second attempt', async () => {
    await using world = await openPolledWorld({ poll: { ...whole, interval: hour } })
    const pipeline = world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(2 * hour, hour)
    const first = await world.sent()
    await world.pass(8 * 24 * hour, hour)
    pipeline.plan.jobs.forEach(job => Object.assign(job, { fails: undefined }))
    world.lifecycle.retry(pipeline)
    await world.pass(7 * hour, hour)
    const second = await world.sent()
    expect(attempts([...first, ...second])).toEqual([`${pipeline.id}/1 failed`, `${pipeline.id}/2 success`])
    expect(once([...first, ...second])).toBe(true)
  })
})

describe('the poller with webhooks', () => {
  it('exports no pipeline twice, and requests nothing that a webhook reported', async () => {
    await using world = await openPolledWorld({ poll: whole, hook: () => true })
    startAll(world)
    await world.pass(2 * hour, minute)
    const chunks = await world.sent()
    expect(lastStatus(chunks)).toEqual(truth(world))
    expect(once(chunks)).toBe(true)
    const itself = world.api.asked.filter(({ path }) => /pipelines\/\d+$/.test(path))
    expect(itself.length).toBeLessThanOrEqual(2)
  })

  it('exports every pipeline once despite lost webhooks, a disabled hook and two restarts', async () => {
    const random = new Random(11)
    const until = Date.UTC(2026, 5, 1, 13, 30)
    const hook: WorldOptions['hook'] = (_, at) => at < until && !random.chance(0.3)
    // The short and the long form of this test lose the same webhooks, but the long form has twice as many rounds in between.
    const interval = isFull ? minute : 2 * minute
    await using world = await openPolledWorld({ poll: { ...whole, interval }, hook })
    const chunks: Chunk[] = []
    for (let round = 0; round < 4; round++) {
      startAll(world)
      await world.pass(40 * minute, interval)
      chunks.push(...(await world.sent()))
      if (round % 2 === 0) await world.restart()
    }
    await world.pass(3 * hour, interval)
    chunks.push(...(await world.sent()))
    expect(lastStatus(chunks)).toEqual(truth(world))
    expect(once(chunks)).toBe(true)
  })
})

describe('a project that has never run a pipeline', () => {
  it('sends one request per check of a project without pipelines: it requests child pipelines only once a pipeline was found', async () => {
    const only = project(1)
    await using world = await openPolledWorld({ projects: [only], poll: { projects: [only.path] } })
    await world.pass(20 * minute, minute)
    const children = () => world.api.asked.filter(({ query }) => query.get('source') === 'parent_pipeline')
    expect(world.api.asked.length).toBeGreaterThan(15)
    expect(children()).toEqual([])
    world.lifecycle.create(plan(only))
    await world.pass(2 * minute, minute)
    expect(children()).not.toEqual([])
  })
})

describe('a project that a webhook names', () => {
  it('checks a project in the next round after a webhook names it, if it is in a configured group', async () => {
    const inside = project(1)
    const outside = { ...project(2), path: 'acme-labs/p2' }
    await using world = await openPolledWorld({ projects: [inside, outside], poll: { groups: ['acme'] } })
    const { id } = world.lifecycle.create(plan(inside))
    world.lifecycle.create(plan(outside))
    for (const one of [inside, outside]) world.poller.hint(one.id)
    await world.pass(hour, minute)
    expect([...lastStatus(await world.sent()).keys()]).toEqual([id])
  })
})

describe("scheduled and retried pipelines, which do not update the project's last activity", () => {
  it('finds scheduled and retried pipelines within minutes in recently active projects', async () => {
    const projects = [project(1), project(2)]
    await using world = await openPolledWorld({ projects, poll: { groups: ['acme'] } })
    world.lifecycle.create(plan(projects[0]!))
    await world.pass(3 * hour, minute)
    expect(await world.sent()).toHaveLength(1)
    const { id } = world.lifecycle.create(plan(projects[0]!, { source: 'schedule' }))
    await world.pass(8 * minute, 30 * second)
    expect([...lastStatus(await world.sent()).keys()]).toEqual([id])
  })

  it('finds scheduled and retried pipelines within a day in projects that were not active recently', async () => {
    const projects = Array.from({ length: 300 }, (_, index) => project(index + 1))
    const interval = 10 * minute
    await using world = await openPolledWorld({ projects, poll: { groups: ['acme'], interval }, perMinute: 600 })
    await world.pass(2 * hour, interval)
    const { id } = world.lifecycle.create(plan(projects[123]!, { source: 'schedule' }))
    world.api.asked.length = 0
    await world.pass(25 * hour, interval)
    expect([...lastStatus(await world.sent()).keys()]).toEqual([id])
    // The sweep sent about one request per project, and one per page of the project list.
    expect(world.api.asked.length).toBeLessThan(300 * 1.2 + 25 * 6 * 1.5 + 350)
  })
})

describe('a poller whose lease another replica holds', () => {
  it('sends no requests while another replica holds the lease, and checks every project as soon as it acquires the lease', async () => {
    const projects = Array.from({ length: 20 }, (_, n) => project(n + 1))
    await using world = await openPolledWorld({ projects, poll: { projects: projects.map(({ id }) => String(id)) } })
    await world.store.leases.take('poller', 'other', day)
    for (let round = 0; round < 2; round += 1) await world.poller.round()
    expect(world.api.asked).toEqual([])
    await world.store.leases.release('poller', 'other')
    await world.poller.round()
    expect(new Set(world.api.asked.map(({ path }) => path)).size).toBe(20)
  })
})
