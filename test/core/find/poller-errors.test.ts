// Tests how the poller handles error responses from the platform.
import { describe, expect, it } from 'vitest'
import { hour, minute, openPolledWorld } from './polled-world.ts'
import { lastStatus, plan, project, truthOf, whole } from './polled-pipelines.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'

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
