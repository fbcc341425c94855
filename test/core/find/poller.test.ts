import { branchClassOf } from '../../../src/model/pipeline.ts'
import { describe, expect, it } from 'vitest'
import { allScenarios, scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { day, hour, minute, openPolledWorld, second, type PolledWorld, type WorldOptions } from './polled-world.ts'
import { isFull } from '../../full.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults } from '../../support/rest-faults.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { PipelinePlan } from '../../../src/simulator/platform/state.ts'
import type { SimProject } from '../../../src/simulator/platform/world.ts'

const whole = { groups: ['brightwater'] }

function startAll(world: PolledWorld): void {
  const random = new Random(5)
  for (const name of allScenarios) world.lifecycle.create(scenarios[name](random))
}

/** The exported attempts of ended pipelines. An attempt that was exported twice is listed twice. */
function attempts(chunks: readonly Chunk[]): string[] {
  return chunks
    .filter(({ kind }) => kind === 'attempt')
    .map(({ key, attempt, pipeline }) => `${key.pipelineId}/${attempt} ${pipeline.facts.status}`)
}

function once(chunks: readonly Chunk[]): boolean {
  const all = attempts(chunks)
  const jobs = chunks.flatMap(chunk => chunk.jobs.map(({ id, salt }) => `${id}~${salt ?? ''}`))
  return new Set(all).size === all.length && new Set(jobs).size === jobs.length
}

/** The status of each pipeline's last attempt. Attempts must be sorted, because exports are sent in no particular order. */
function lastStatus(chunks: readonly Chunk[]): Map<number, string> {
  const inOrder = chunks.toSorted((a, b) => a.attempt - b.attempt)
  return new Map(inOrder.map(({ key, pipeline }) => [key.pipelineId, pipeline.facts.status]))
}

function truth(world: PolledWorld): Map<number, string> {
  return new Map([...world.lifecycle.state.pipelines.values()].map(({ id, status }) => [id, status]))
}

function truthOf(...pipelines: { id: number; status: string }[]): Map<number, string> {
  return new Map(pipelines.map(({ id, status }) => [id, status]))
}

function plan(project: SimProject, rest: Partial<PipelinePlan> = {}): PipelinePlan {
  return { ...scenarios.small(new Random(1)), project, ...rest }
}

function project(id: number): SimProject {
  return { id, name: `p${id}`, path: `acme/p${id}`, description: '', defaultBranch: 'main' }
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

describe('a family of pipelines observed in any order', () => {
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

describe('a group of 10,000 projects', () => {
  it('sends a few requests per round for 10,000 projects while no pipeline runs, and stays within the budget with 50 active projects', async () => {
    const projects = Array.from({ length: 10_000 }, (_, index) => project(index + 1))
    await using world = await openPolledWorld({ projects, poll: { groups: ['acme'] }, perMinute: 300 })
    const sweep = { startedAt: world.now(), since: world.now(), count: 0, before: 10_000, done: false }
    await world.store.repositories.sweeps.put({ ...sweep, instance: world.api.url, group: 'acme' })
    const rounds = isFull ? 10 : 5
    await world.pass(rounds * minute, minute)
    const idle = world.api.asked.length / rounds
    expect(idle).toBeLessThan(12)

    world.api.asked.length = 0
    const began = world.now()
    for (let turn = 0; turn < rounds; turn++) {
      const active = projects.slice(turn * 5, turn * 5 + 50)
      for (const { id } of active) world.api.activity.set(id, world.now())
      for (const one of active.slice(0, 5)) world.lifecycle.create(plan(one))
      await world.pass(minute, 20 * second)
    }
    const asked = world.api.asked.length
    const aboutOne = ({ path }: { path: string }): boolean => /pipelines\/\d+/.test(path)
    const about = world.api.asked.filter(aboutOne).length
    const minutes = (world.now() - began) / minute
    expect(asked / minutes).toBeLessThanOrEqual(300)
    await world.pass(15 * minute, minute)
    const chunks = await world.sent()
    expect(lastStatus(chunks)).toEqual(truth(world))
    expect(world.api.asked.filter(aboutOne).length / chunks.length).toBe(3)
    // Per minute, each active project costs one request for its pipelines and one for its child pipelines, and the sweep adds a few. All other
    // requests are about single pipelines.
    expect((asked - about) / minutes).toBeLessThan(2 * 50 + 12)
  })

  it('finds all pipelines of a large group within the budget, even if the platform responds with 429', async () => {
    const projects = Array.from({ length: 200 }, (_, index) => project(index + 1))
    await using world = await openPolledWorld({ projects, poll: { groups: ['acme'] }, perMinute: 120 })
    let refused = 0
    world.api.misbehave = () => (++refused % 40 === 0 ? restFaults.tooMany(20) : undefined)
    const times: number[] = []
    const push = world.api.asked.push.bind(world.api.asked)
    world.api.asked.push = (...items) => {
      times.push(world.now())
      return push(...items)
    }
    for (const one of projects.slice(0, 20)) {
      world.api.activity.set(one.id, world.now())
      world.lifecycle.create(plan(one))
    }
    await world.pass(hour / 2, 20 * second)
    expect(lastStatus(await world.sent())).toEqual(truth(world))
    // The requests are in chronological order.
    const most = Math.max(
      ...times.map((at, first) => times.findIndex((other, i) => i > first && other >= at + minute) - first),
    )
    expect(most).toBeLessThanOrEqual(120)
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

describe('error responses from the platform to the poller', () => {
  const cases = {
    'a wrong token': restFaults.wrongToken(),
    'a missing scope': restFaults.missingScope(),
    'a login page': restFaults.loginPage(),
    'JSON cut short': restFaults.truncated(),
    'a redirect to another host': restFaults.elsewhere('https://elsewhere.example.com/api/v4/x'),
    'an outage': restFaults.broken(),
  }
  it.each(Object.entries(cases))(
    'logs an error response once rather than in every round, and recovers by itself: %s',
    async (_, reply) => {
      await using world = await openPolledWorld({ poll: whole })
      world.lifecycle.create(scenarios.nightly(new Random(3)))
      world.api.misbehave = () => reply
      await world.pass(20 * minute, minute)
      const warnings = world.logged.filter(({ level, msg }) => level >= 40 && !msg.includes('pause'))
      expect(warnings).toHaveLength(1)
      world.api.misbehave = () => undefined
      await world.pass(30 * minute, minute)
      expect(await world.sent()).toHaveLength(1)
      expect(world.logged.filter(({ msg }) => msg.endsWith('answers again'))).toHaveLength(1)
    },
  )

  it.each([
    ['refuses the token', restFaults.wrongToken()],
    ["wants another scope than the token's", restFaults.missingScope()],
    ['is missing', restFaults.notFound('Not Found')],
  ])("still polls projects if the list of the token's pipelines %s", async (_, reply) => {
    await using world = await openPolledWorld({ poll: { projects: ['333'], ownPipelines: true }, me: 40 })
    world.api.misbehave = ({ path }) => (path === '/pipelines' ? reply : undefined)
    const pipeline = world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(hour, minute)
    expect(lastStatus(await world.sent())).toEqual(truthOf(pipeline))
    const own = (): number => world.api.asked.splice(0).filter(({ path }) => path === '/pipelines').length
    expect(own()).toBeLessThan(10)
    const warnings = world.logged.filter(({ level }) => level >= 40)
    expect(warnings.length).toBeGreaterThan(0)
    expect(new Set(warnings.map(({ msg }) => msg)).size).toBe(1)
    expect(warnings[0]?.msg).toContain('GET /pipelines')
    world.api.misbehave = () => undefined
    const next = world.lifecycle.create({ ...scenarios.nightly(new Random(4)), project: plan(project(302)).project })
    await world.pass(2 * hour, minute)
    expect(world.logged.at(-1)?.msg).toMatch(/answers again$/)
    expect(own()).toBeGreaterThan(50)
    expect([...lastStatus(await world.sent()).keys()]).toContain(next.id)
  })

  it("logs which settings to use instead if an older platform lacks the list of the token's pipelines", async () => {
    await using world = await openPolledWorld({ poll: { ownPipelines: true, memberProjects: true } })
    world.api.misbehave = ({ path }) => (path === '/pipelines' ? restFaults.notFound('Not Found') : undefined)
    await world.pass(10 * minute, minute)
    const warnings = world.logged.filter(({ level }) => level >= 40).map(({ msg }) => msg)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/PIPESPAN_POLL_PROJECTS.*PIPESPAN_POLL_GROUPS/)
  })

  it.each(['401', 'scope'])("still polls named projects if listing a group's projects fails (%s)", async why => {
    await using world = await openPolledWorld({
      poll: { projects: ['333'], groups: ['brightwater/shop', 'brightwater'] },
    })
    const reply = why === '401' ? restFaults.wrongToken() : restFaults.missingScope()
    world.api.misbehave = ({ path }) => (path.startsWith('/groups') ? reply : undefined)
    const { id } = world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(hour, minute)
    expect([...lastStatus(await world.sent()).keys()]).toEqual([id])
  })

  it('sends only a few requests per round if every request fails', async () => {
    const projects = Array.from({ length: 50 }, (_, n) => String(n + 1))
    const groups = Array.from({ length: 50 }, (_, n) => `g${n}`)
    await using world = await openPolledWorld({ poll: { projects, groups, ownPipelines: true, memberProjects: true } })
    world.api.misbehave = () => restFaults.wrongToken()
    for (let round = 0; round < 5; round += 1) {
      world.api.asked.length = 0
      await world.poller.round()
      expect(world.api.asked.length).toBeLessThanOrEqual(8)
      await world.pass(minute, minute)
    }
  })

  it.each(['401', "a proxy's 403"])(
    'still sweeps the other projects if the platform refuses one project (%s)',
    async why => {
      const projects = Array.from({ length: 12 }, (_, n) => project(n + 1))
      await using world = await openPolledWorld({ projects, poll: { groups: ['acme'] } })
      const page = { status: 403, headers: { 'content-type': 'text/html' }, body: '<html><title>Blocked</title>' }
      const reply = why === '401' ? restFaults.wrongToken() : page
      world.api.misbehave = ({ path }) => (path.startsWith('/projects/7/') ? reply : undefined)
      for (const one of projects) world.lifecycle.create(plan(one))
      await world.pass(hour, minute)
      const found = new Set((await world.sent()).map(chunk => chunk.project.id))
      expect([...found].sort((a, b) => a - b)).toEqual(projects.map(({ id }) => id).filter(id => id !== 7))
    },
  )

  it('polls a failing project less often until an operator retries it or all projects', async () => {
    await using world = await openPolledWorld({ projects: [project(1), project(2)], poll: { projects: ['1', '2'] } })
    world.api.misbehave = () => restFaults.broken()
    await world.pass(20 * minute, minute)
    const askedFor = async (): Promise<string[]> => {
      world.api.asked.length = 0
      await world.pass(minute, minute)
      return [...new Set(world.api.asked.map(({ path }) => path.split('/')[2] ?? ''))].sort()
    }
    expect(await askedFor()).toEqual([])
    world.poller.hurry('2')
    expect(await askedFor()).toEqual(['2'])
    world.poller.hurry(undefined)
    expect(await askedFor()).toEqual(['1', '2'])
  })

  it('logs once that a project is not found, still polls others, and recovers by itself', async () => {
    await using world = await openPolledWorld({ poll: { projects: ['320', '333'] } })
    world.api.misbehave = ({ path }) => (path.startsWith('/projects/320') ? restFaults.notFound() : undefined)
    world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(hour, minute)
    expect(await world.sent()).toHaveLength(1)
    expect(world.logged.filter(({ level }) => level >= 40)).toHaveLength(1)
    expect(world.api.asked.filter(({ path }) => path.startsWith('/projects/320')).length).toBeLessThan(15)
    world.api.misbehave = () => undefined
    await world.pass(2 * hour, 5 * minute)
    expect(world.logged.at(-1)?.msg).toMatch(/project 320 answers again/)
  })
})
