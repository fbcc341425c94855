import { describe, expect, it } from 'vitest'
import { allScenarios, scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { readPastPipelines, type PastPipelinesOptions } from '../../../src/features/backfill/past-pipelines.ts'
import { backfillProgress } from '../../../src/features/backfill/past-pipelines.ts'
import { createPollContext } from '../../../src/core/find/poll-context.ts'
import { createSelection } from '../../../src/core/take-in/selection.ts'
import { day, hour, openPolledWorld, second, start, type PolledWorld } from '../../core/find/polled-world.ts'
import { pollScopeOf, type PollScope, type PollSettings } from '../../../src/core/find/poll-scope.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults } from '../../support/rest-faults.ts'

/** Opens a simulated company with pipelines from two past days that no webhook has reported. */
async function openPast(): Promise<PolledWorld> {
  const world = await openPolledWorld()
  const random = new Random(5)
  for (let turn = 0; turn < 8; turn++) {
    for (const name of allScenarios) world.lifecycle.create(scenarios[name](random))
    await world.pass(6 * hour, 6 * hour)
  }
  return world
}

function run(world: PolledWorld, options: Partial<PastPipelinesOptions> = {}, signal = new AbortController().signal) {
  const context = createPollContext({
    client: world.client,
    runs: world.store.runs,
    selection: createSelection({ projects: {}, refs: {}, sources: {} }),
    rules: { blockedAfter: hour, staleAfter: 7 * day },
    source: 'backfill',
    signal,
    clock: { now: () => world.now(), sleep: async () => undefined },
  })
  return readPastPipelines({
    context,
    store: world.store,
    name: 'test',
    range: { since: start, until: world.now() },
    scope: scopeOf({ groups: ['brightwater'] }),
    dryRun: false,
    onProgress: () => undefined,
    now: () => world.now(),
    ...options,
  })
}

function scopeOf(named: Partial<PollSettings>): PollScope {
  return pollScopeOf({ mine: false, crossProject: false, ...named })
}

async function exported(world: PolledWorld): Promise<number[]> {
  // The clock moves by twenty seconds twice, because waiting for API budget may take longer than the first twenty seconds.
  await world.pass(20 * second)
  await world.pass(20 * second)
  return (await world.sent()).map(({ key }) => key.pipelineId)
}

describe('a backfill', () => {
  it("exports every pipeline of the backfill's period once, with its child pipelines, and nothing when the backfill is repeated", async () => {
    await using world = await openPast()
    const all = [...world.lifecycle.state.pipelines.keys()]
    const summary = await run(world)
    expect(summary).toMatchObject({ seen: all.length, found: all.length, failed: [] })
    expect(await exported(world)).toEqual(all)
    expect(await run(world)).toMatchObject({ seen: all.length, found: 0, resumed: false })
    expect(await exported(world)).toEqual([])
  })

  it('exports no pipelines outside the period of a backfill', async () => {
    await using world = await openPast()
    const range = { since: start + 12 * hour, until: start + 24 * hour }
    await run(world, { range })
    const inside = [...world.lifecycle.state.pipelines.values()].filter(({ updatedAt }) => {
      return updatedAt >= range.since && updatedAt <= range.until
    })
    expect(inside.length).toBeGreaterThan(10)
    expect(await exported(world)).toEqual(inside.map(({ id }) => id))
  })

  it('writes nothing in a dry run of a backfill', async () => {
    await using world = await openPast()
    const summary = await run(world, { dryRun: true })
    expect(summary.found).toBe(world.lifecycle.state.pipelines.size)
    expect(await world.store.runs.count()).toMatchObject({ runs: 0 })
    expect(await world.store.repositories.of(backfillProgress).all()).toEqual([])
  })

  it('resumes an interrupted backfill over the same period', async () => {
    await using world = await openPast()
    const stopping = new AbortController()
    const onProgress: PastPipelinesOptions['onProgress'] = ({ projects }) => {
      if (projects.done === 3) stopping.abort(new Error('stopped'))
    }
    await expect(run(world, { onProgress }, stopping.signal)).rejects.toThrow('stopped')
    world.api.asked.length = 0
    const summary = await run(world, { range: { since: start + day, until: world.now() } })
    expect(summary).toMatchObject({ resumed: true, range: { since: start } })
    const lists = world.api.asked.filter(({ path }) => path.endsWith('/pipelines')).map(({ path }) => path)
    expect(new Set(lists).size).toBeLessThan(5)
    expect(await exported(world)).toEqual([...world.lifecycle.state.pipelines.keys()])
  })

  it.each([
    ['goes on just before', 7 * day - 1, false, true],
    ['begins anew', 7 * day, false, false],
    ['begins anew as a dry run', 0, true, false],
  ])(
    'resumes an interrupted backfill within a week, and begins anew later or in a dry run: %s',
    async (_, later, dryRun, resumed) => {
      await using world = await openPast()
      const stopping = new AbortController()
      const onProgress: PastPipelinesOptions['onProgress'] = () => stopping.abort(new Error('stopped'))
      await expect(run(world, { onProgress }, stopping.signal)).rejects.toThrow('stopped')
      const begun = world.now()
      expect(await run(world, { dryRun, now: () => begun + later })).toMatchObject({ resumed })
    },
  )

  it('skips and reports a project that a backfill may not read', async () => {
    await using world = await openPast()
    world.api.misbehave = ({ path }) => (path.startsWith('/projects/302/') ? restFaults.notFound() : undefined)
    const { failed, found } = await run(world)
    expect(failed).toEqual([{ project: '302', reason: expect.stringContaining('does not have this') as string }])
    expect(found).toBeGreaterThan(10)
  })

  it.each(['missingRole', 'notFound', 'wrongToken'] as const)(
    'backfills projects by path and id if the token may read their pipelines but not the projects (%s)',
    async fault => {
      await using world = await openPast()
      world.api.misbehave = ({ path }) =>
        /^\/projects\/(\d+|[^/]+\/.*\/[^/]+)$/.test(path) && !path.includes('/pipelines')
          ? restFaults[fault]()
          : undefined
      const named = ['brightwater/data/reports', 'brightwater/shop/storefront', '302']
      const own = [...world.lifecycle.state.pipelines.values()]
        .filter(({ project }) => [333, 301, 302].includes(project.id))
        .map(({ id }) => id)
      const summary = await run(world, { scope: scopeOf({ projects: named }) })
      expect(summary).toMatchObject({ found: own.length, failed: [] })
      expect(await exported(world)).toEqual(own)
    },
  )

  it('skips a few projects whose responses look as if the token or a proxy rejected everything, and backfills the others', async () => {
    await using world = await openPast()
    const page = { status: 403, headers: { 'content-type': 'text/html' }, body: '<html><title>Blocked</title>' }
    world.api.misbehave = ({ path }) =>
      path.startsWith('/projects/302/') ? page : path.startsWith('/projects/303/') ? restFaults.wrongToken() : undefined
    const { failed, found } = await run(world)
    expect(failed.map(({ project }) => project)).toEqual(expect.arrayContaining(['302']))
    expect(found).toBeGreaterThan(10)
    world.api.misbehave = ({ path }) => (path.startsWith('/projects/') ? restFaults.wrongToken() : undefined)
    await expect(run(world, { name: 'other' })).rejects.toThrow('does not accept the token')
    expect((await world.store.repositories.of(backfillProgress).all())[0]?.after ?? 0).toBe(0)
  })

  it('truncates and reports a backfill list with too many pages, without affecting other lists', async () => {
    await using world = await openPast()
    world.api.misbehave = ({ path, query }) => {
      if (path !== '/projects/302/pipelines') return undefined
      const at = Date.parse(query.get('updated_after') ?? '') + second
      const item = { id: 1, project_id: 302, status: 'success', updated_at: new Date(at).toISOString() }
      const link = `<${world.api.url}/api/v4${path}?page=2>; rel="next"`
      return { status: 200, headers: { link }, body: JSON.stringify([item]) }
    }
    const { failed, found, requests } = await run(world, { maxPages: 20, dryRun: true })
    expect(failed).toEqual([{ project: '302', reason: expect.stringContaining('more than 20 pages') as string }])
    expect(found).toBeGreaterThan(10)
    expect(requests).toBeLessThan(60)
  })

  it("backfills, once each, the pipelines that the token's user started in any project and those of projects that the user is a member of", async () => {
    await using world = await openPast()
    world.api.isMember = ({ path }) => path.startsWith('brightwater/shop/')
    const all = [...world.lifecycle.state.pipelines.values()]
    const scope = scopeOf({ crossProject: true })
    world.api.misbehave = ({ path }) => (path === '/pipelines' ? restFaults.missingScope() : undefined)
    const without = await run(world, { scope, dryRun: true })
    const ofMember = all.filter(({ project }) => project.path.startsWith('brightwater/shop/'))
    expect(without.found).toBe(ofMember.length)
    expect(without.failed).toEqual([
      { project: "the token's own pipelines", reason: expect.stringContaining('scope') as string },
    ])
    world.api.misbehave = () => undefined
    expect(await run(world, { scope, dryRun: true })).toMatchObject({ seen: all.length, found: all.length, failed: [] })
    expect(await run(world, { scope })).toMatchObject({ seen: all.length, found: all.length })
    expect(await exported(world)).toEqual(all.map(({ id }) => id))
  })

  it("limits the list of the user's pipelines to the backfill's period, and does not read it again on resuming", async () => {
    await using world = await openPast()
    world.api.isMember = () => false
    const range = { since: start + 12 * hour, until: start + 24 * hour }
    const inside = [...world.lifecycle.state.pipelines.values()].filter(
      ({ createdAt }) => createdAt >= range.since && createdAt <= range.until,
    )
    expect(inside.length).toBeGreaterThan(10)
    const stopping = new AbortController()
    const onProgress: PastPipelinesOptions['onProgress'] = ({ projects }) => {
      if (projects.done === 1) stopping.abort(new Error('stopped'))
    }
    const scope = scopeOf({ mine: true, projects: ['301', '302'] })
    await expect(run(world, { scope, range, onProgress }, stopping.signal)).rejects.toThrow('stopped')
    world.api.asked.length = 0
    await run(world, { scope, range })
    expect(world.api.asked.filter(({ path }) => path === '/pipelines')).toEqual([])
    expect(await exported(world)).toEqual(expect.arrayContaining(inside.map(({ id }) => id)))
  })

  it('gives current pipelines priority over a backfill', async () => {
    await using world = await openPast()
    await run(world)
    expect(await world.store.enrichment.count('fresh')).toEqual({ due: 0, later: 0 })
    expect((await world.store.enrichment.count('backfill')).due).toBe(world.lifecycle.state.pipelines.size)
  })
})
