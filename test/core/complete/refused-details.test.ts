// Tests a token that may read pipelines but not their jobs or bridges, and a platform that fails only for requests about jobs and bridges.
import { describe, expect, it } from 'vitest'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults, restJson } from '../../support/rest-faults.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { hour, minute, openPolledWorld, second, type PolledWorld } from '../find/polled-world.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

const project = 'brightwater/data/reports'
const polled = { poll: { projects: [project] } }
const day = 24 * hour

function begin(world: PolledWorld, count = 1) {
  return Array.from({ length: count }, (_, at) => world.lifecycle.create(scenarios.nightly(new Random(at + 3))))
}

/** Returns how many times the pipeline, its list of jobs and its list of bridges were requested. */
function asked(world: PolledWorld) {
  const count = (end: RegExp): number => world.api.asked.filter(({ path }) => end.test(path)).length
  return { itself: count(/pipelines\/\d+$/), jobs: count(/\/jobs$/), bridges: count(/\/bridges$/) }
}

function detailsIn(chunks: readonly Chunk[]) {
  return chunks.map(({ pipeline, jobs }) => ({ hasJobs: jobs.length > 0, isMarked: pipeline.lacksDetails === true }))
}

function warnings(world: PolledWorld): string[] {
  return world.logged.filter(({ level }) => level >= 40).map(({ msg }) => msg)
}

describe.each([
  [403, () => restFaults.missingRole(), 2],
  [404, () => restFaults.notFound('Not Found'), 4],
] as const)(
  'a polled pipeline for whose jobs and bridges the platform responds with %s',
  (status, refusal, requests) => {
    it('exports a pipeline with its final status, without jobs and marked as incomplete, and logs the missing permission once', async () => {
      await using world = await openPolledWorld(polled)
      world.api.misbehave = ({ path }) => (/\/(jobs|bridges)$/.test(path) ? refusal() : undefined)
      const [pipeline] = begin(world)
      await world.pass(hour)
      const sent = await world.sent()
      expect(sent.map(chunk => chunk.pipeline.facts.status)).toEqual([pipeline?.status])
      expect(detailsIn(sent)).toEqual([{ hasJobs: false, isMarked: true }])
      expect(asked(world)).toEqual({ itself: requests - 1, jobs: 1, bridges: 1 })
      expect(warnings(world)).toHaveLength(2)
      for (const what of ['jobs', 'bridges']) {
        expect(warnings(world)).toContainEqual(
          expect.stringContaining(`may not read the ${what} of this project's pipelines`),
        )
        expect(warnings(world)).toContainEqual(expect.stringContaining(`(${status} at GET /projects/333/pipelines/`))
      }
    })
  },
)

describe('a project whose details are refused', () => {
  it("sends one request per pipeline after a project's third refusal, and requests details again after a day", async () => {
    await using world = await openPolledWorld({ ...polled, perMinute: 6_000 })
    let isRefused = true
    world.api.misbehave = ({ path }) =>
      isRefused && /\/(jobs|bridges)$/.test(path) ? restFaults.missingRole() : undefined
    begin(world, 40)
    await world.pass(hour)
    expect(await world.sent()).toHaveLength(40)
    const { itself, jobs, bridges } = asked(world)
    expect(itself).toBe(40)
    // Eight pipelines are requested concurrently, so requests that are in flight at the third refusal are refused, too.
    expect(jobs).toBeLessThanOrEqual(10)
    expect(bridges).toBeLessThanOrEqual(10)
    expect(warnings(world)).toHaveLength(2)
    isRefused = false
    await world.pass(day, 10 * minute)
    begin(world)
    await world.pass(hour)
    expect(detailsIn(await world.sent())).toEqual([{ hasJobs: true, isMarked: false }])
  })

  it('still requests the details of other projects, however many projects refuse them', async () => {
    await using world = await openPolledWorld({ poll: { groups: ['brightwater'] } })
    world.api.misbehave = ({ path }) =>
      /\/(jobs|bridges)$/.test(path) && !path.startsWith('/projects/333/') ? restFaults.missingRole() : undefined
    for (const name of ['branch', 'mergeRequest', 'small', 'family', 'nightly'] as const)
      for (let at = 0; at < 4; at++) world.lifecycle.create(scenarios[name](new Random(at)))
    for (const { project: one } of world.lifecycle.state.pipelines.values()) world.api.activity.set(one.id, world.now())
    await world.pass(2 * hour, 30 * second)
    const chunks = await world.sent()
    const own = chunks.filter(chunk => chunk.project.id === 333)
    expect(own.length).toBeGreaterThan(3)
    expect(own.every(({ pipeline, jobs }) => jobs.length > 0 && pipeline.lacksDetails === undefined)).toBe(true)
    expect(chunks.some(({ pipeline }) => pipeline.lacksDetails === true)).toBe(true)
  })

  it('exports pipelines with their jobs if only the bridges are refused', async () => {
    await using world = await openPolledWorld(polled)
    world.api.misbehave = ({ path }) => (path.endsWith('/bridges') ? restFaults.missingRole() : undefined)
    begin(world)
    await world.pass(hour)
    expect(detailsIn(await world.sent())).toEqual([{ hasJobs: true, isMarked: true }])
  })

  it('immediately exports the pipelines and jobs that webhooks reported, marked as incomplete', async () => {
    await using world = await openPolledWorld({ hook: () => true })
    world.api.misbehave = ({ path }) => (/\/(jobs|bridges)$/.test(path) ? restFaults.missingRole() : undefined)
    const [pipeline] = begin(world)
    while (pipeline?.finishedAt === undefined) await world.pass(second, second)
    await world.pass(7 * second, second)
    expect(detailsIn(await world.sent())).toEqual([{ hasJobs: true, isMarked: true }])
  })

  it('exports the final status of a pipeline whose last webhook was lost', async () => {
    const over = /"status":"(success|failed|canceled|skipped)"/
    await using world = await openPolledWorld({
      ...polled,
      hook: ({ body, kind }) => kind === 'pipeline' && !over.test(body),
    })
    world.api.misbehave = ({ path }) => (/\/(jobs|bridges)$/.test(path) ? restFaults.missingRole() : undefined)
    const [pipeline] = begin(world)
    await world.pass(2 * hour)
    expect((await world.sent()).map(({ pipeline: { facts } }) => facts.status)).toEqual([pipeline?.status])
  })
})

describe('a platform that fails only for pipeline details', () => {
  it('still reads the traceparent if the platform serves the variables after a failure', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const variables = [{ key: 'TRACEPARENT', value: `00-${traceId}-b7ad6b7169203331-01` }]
    await using world = await openPolledWorld({ ...polled, traceparent: true })
    let failures = 0
    world.api.misbehave = ({ path }) => {
      if (!path.endsWith('/variables')) return undefined
      // The first request and its retry both fail.
      if (failures++ < 2) return restFaults.broken()
      return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(variables) }
    }
    begin(world)
    await world.pass(hour)
    expect((await world.sent()).map(({ trace }) => trace.traceparent)).toEqual([variables[0]!.value])
  })

  it('delays the export of a polled pipeline up to the deadline, and exports its jobs as a supplement', async () => {
    await using world = await openPolledWorld(polled)
    world.api.misbehave = ({ path }) => (/\/(jobs|bridges)$/.test(path) ? restFaults.broken() : undefined)
    const [pipeline] = begin(world)
    while (pipeline?.finishedAt === undefined) await world.pass(second, second)
    await world.pass(100 * second)
    expect(await world.sent()).toEqual([])
    // The poller's next round may not begin for up to a minute.
    await world.pass(2 * minute)
    expect(detailsIn(await world.sent())).toEqual([{ hasJobs: false, isMarked: true }])
    world.api.misbehave = () => undefined
    await world.pass(2 * hour)
    const late = await world.sent()
    expect(late.map(({ kind }) => kind)).toEqual(['supplement'])
    expect(late[0]?.jobs).toHaveLength(pipeline.jobs.length)
  })
})

const refusals = [
  ['403', () => restFaults.missingRole()],
  ['404', () => restFaults.notFound('Pipeline')],
  ['400', () => restFaults.refused('no such pipeline')],
  ['an answer without a status', () => restJson({ id: 7 })],
] as const

describe.each(refusals)('a listed pipeline whose own endpoint responds with %s', (_, refusal) => {
  const itself = /pipelines\/\d+/

  it('exports a listed pipeline with all its details if its endpoint responds by the deadline', async () => {
    await using world = await openPolledWorld(polled)
    let refused = 0
    world.api.misbehave = ({ path }) => (itself.test(path) && refused++ === 0 ? refusal() : undefined)
    const [pipeline] = begin(world)
    await world.pass(20 * minute, 30 * second)
    const sent = await world.sent()
    expect(sent.map(chunk => chunk.pipeline.facts.status)).toEqual([pipeline?.status])
    expect(detailsIn(sent)).toEqual([{ hasJobs: true, isMarked: false }])
  })

  it('exports a listed pipeline with the facts from the list by the deadline, marked as incomplete, and its jobs as a supplement', async () => {
    await using world = await openPolledWorld(polled)
    world.api.misbehave = ({ path }) => (itself.test(path) ? refusal() : undefined)
    const [pipeline] = begin(world)
    while (pipeline?.finishedAt === undefined) await world.pass(5 * second)
    // Four minutes suffice for one poller round and the enrichment deadline of two minutes.
    await world.pass(4 * minute)
    const sent = await world.sent()
    const { status, ref, sha, createdAt } = pipeline
    expect(sent.map(chunk => chunk.pipeline.facts)).toMatchObject([{ status, ref, sha }])
    expect(sent[0]?.pipeline.createdAt).toBe(createdAt)
    expect(detailsIn(sent)).toEqual([{ hasJobs: false, isMarked: true }])
    expect(warnings(world).length).toBeGreaterThan(0)
    await world.pass(2 * hour, minute)
    const { length } = world.api.asked.filter(({ path }) => itself.test(path))
    expect(length).toBeLessThan(12)
    world.api.misbehave = () => undefined
    await world.pass(day, hour)
    const late = await world.sent()
    expect(late.map(({ kind }) => kind)).toEqual(['supplement'])
    expect(late[0]?.jobs).toHaveLength(pipeline.jobs.length)
  })

  it('exports a listed pipeline even if the poller found it while it was running', async () => {
    await using world = await openPolledWorld({ poll: { ...polled.poll, running: true } })
    world.api.misbehave = ({ path }) => (itself.test(path) ? refusal() : undefined)
    const [pipeline] = begin(world)
    await world.pass(20 * minute, 30 * second)
    expect((await world.sent()).map(chunk => chunk.pipeline.facts.status)).toEqual([pipeline?.status])
  })

  it('exports a listed pipeline with its final status if webhooks reported only its start', async () => {
    const isStart = /"status":"(created|pending|running)"/
    await using world = await openPolledWorld({
      ...polled,
      hook: ({ body, kind }) => kind === 'pipeline' && isStart.test(body),
    })
    world.api.misbehave = ({ path }) => (itself.test(path) ? refusal() : undefined)
    const [pipeline] = begin(world)
    await world.pass(20 * minute, 30 * second)
    expect((await world.sent()).map(chunk => chunk.pipeline.facts.status)).toEqual([pipeline?.status])
  })
})

describe('a listed pipeline whose own endpoint fails', () => {
  it('exports a listed pipeline with the facts from the list after a while if only its own endpoint fails', async () => {
    await using world = await openPolledWorld(polled)
    const [bad, good] = begin(world, 2)
    world.api.misbehave = ({ path }) => (path.endsWith(`/${bad?.id}`) ? restFaults.broken() : undefined)
    await world.pass(hour, 30 * second)
    const sent = await world.sent()
    expect(sent.map(({ key }) => key.pipelineId)).toEqual([bad?.id, good?.id])
    expect(detailsIn(sent)).toEqual([
      { hasJobs: false, isMarked: true },
      { hasJobs: true, isMarked: false },
    ])
  })

  it('exports a listed pipeline completely after all endpoints were down for an hour', async () => {
    await using world = await openPolledWorld(polled)
    const [pipeline] = begin(world)
    while (pipeline?.finishedAt === undefined) await world.pass(5 * second)
    await world.poller.round()
    world.api.misbehave = () => restFaults.broken()
    await world.pass(hour, 30 * second)
    expect(await world.sent()).toEqual([])
    world.api.misbehave = () => undefined
    await world.pass(2 * hour, minute)
    expect(detailsIn(await world.sent())).toEqual([{ hasJobs: true, isMarked: false }])
  })
})
