import { describe, expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { scenarios, type ScenarioName } from '../../../src/simulator/platform/scenarios.ts'
import { event, instance } from '../../flow/world.ts'
import { hour, minute, openPolledWorld, second, type PolledWorld } from '../find/polled-world.ts'

function begin(world: PolledWorld, name: ScenarioName) {
  return world.lifecycle.create(scenarios[name](new Random(3)))
}

/** The paths of the requests that were sent, without IDs. */
function asked(world: PolledWorld): string[] {
  return world.api.asked.map(({ path }) => path.replace(/\d+/g, ':id'))
}

const jobsAndBridges = ['/projects/:id/pipelines/:id/jobs', '/projects/:id/pipelines/:id/bridges']

describe('a pipeline observed by webhook', () => {
  it("sends one request for a pipeline's jobs and one for its bridges, both including retried attempts", async () => {
    await using world = await openPolledWorld({ hook: ({ kind }) => kind === 'pipeline' })
    const pipeline = begin(world, 'flakyRunner')
    await world.pass(hour)
    expect(pipeline.jobs.some(({ retried }) => retried)).toBe(true)
    expect(asked(world)).toEqual(jobsAndBridges)
    const [chunk, ...more] = await world.sent()
    expect(more).toEqual([])
    expect(chunk?.jobs.map(({ id, retried }) => [id, retried])).toEqual(
      pipeline.jobs.map(({ id, retried }) => [id, retried]),
    )
  })

  it("requests only a pipeline's jobs if the payload contains its bridges", async () => {
    await using world = await openPolledWorld({ hook: () => true, newest: true })
    begin(world, 'branch')
    await world.pass(hour)
    expect(asked(world)).toEqual(jobsAndBridges.slice(0, 1))
  })

  it('derives the kind of a merge request pipeline from its jobs, without another request', async () => {
    await using world = await openPolledWorld({ hook: () => true, newest: true })
    begin(world, 'mergeRequest')
    await world.pass(hour)
    expect(asked(world)).toEqual(jobsAndBridges.slice(0, 1))
    const [chunk] = await world.sent()
    expect(chunk?.pipeline).toMatchObject({ mergeRequestEvent: 'detached', facts: { mergeRequest: {} } })
    expect(chunk?.pipeline.facts.ref).not.toContain('refs/')
  })

  it('sends another request for the failure reason if a pipeline failed without any job', async () => {
    await using world = await openPolledWorld({ hook: ({ kind }) => kind === 'pipeline' })
    begin(world, 'refused')
    await world.pass(hour)
    expect(asked(world)).toEqual([...jobsAndBridges, '/projects/:id/pipelines/:id'])
    const [chunk] = await world.sent()
    expect(chunk?.pipeline.facts.yamlErrors).toBe('jobs:unit tests config contains unknown keys: scrpt')
  })

  it('exports a pipeline after the settle delay, which requests do not extend', async () => {
    await using world = await openPolledWorld({ hook: () => true })
    const pipeline = begin(world, 'branch')
    while (pipeline.finishedAt === undefined) await world.pass(second, second)
    await world.pass(7 * second, second)
    expect(await world.sent()).toHaveLength(1)
  })

  it('sends no requests about a pipeline if no token is configured', async () => {
    await using world = await openPolledWorld({ hook: () => true, enrich: false })
    begin(world, 'branch')
    await world.pass(hour)
    expect(asked(world)).toEqual([])
    expect(await world.sent()).toHaveLength(1)
  })

  it('exports a pipeline with the known facts if the platform does not respond by the deadline, and the rest as a supplement', async () => {
    await using world = await openPolledWorld({ hook: ({ kind }) => kind === 'pipeline' })
    world.api.misbehave = () => restFaults.broken()
    const pipeline = begin(world, 'flakyRunner')
    while (pipeline.finishedAt === undefined) await world.pass(second, second)
    await world.pass(100 * second)
    expect(await world.sent()).toEqual([])
    await world.pass(minute)
    expect((await world.sent()).map(({ kind, attempt }) => [kind, attempt])).toEqual([['attempt', 1]])
    world.api.misbehave = () => undefined
    await world.pass(2 * hour)
    const late = await world.sent()
    expect(late.map(({ kind, attempt }) => [kind, attempt])).toEqual([['supplement', 1]])
    expect(late[0]?.jobs.every(({ retried }) => retried)).toBe(true)
    await world.pass(hour)
    expect(await world.sent()).toEqual([])
  })

  it('exports a deleted pipeline with the known facts, after one request for its jobs and one for the pipeline itself', async () => {
    await using world = await openPolledWorld({ hook: () => true })
    world.api.misbehave = ({ path }) => (path.includes('/pipelines/') ? restFaults.notFound('Pipeline') : undefined)
    const pipeline = begin(world, 'branch')
    while (pipeline.finishedAt === undefined) await world.pass(second, second)
    await world.pass(10 * second)
    expect(await world.sent()).toHaveLength(1)
    await world.pass(hour)
    expect(asked(world)).toEqual([jobsAndBridges[0], '/projects/:id/pipelines/:id'])
    expect(world.logged.filter(({ msg }) => msg.includes('was deleted from the platform'))).toHaveLength(1)
  })

  it('exports a pipeline at once if the token may not read it, and logs this once', async () => {
    await using world = await openPolledWorld({ hook: () => true })
    world.api.misbehave = () => restFaults.wrongToken()
    const pipelines = [begin(world, 'branch'), begin(world, 'mergeRequest')]
    while (pipelines.some(({ finishedAt }) => finishedAt === undefined)) await world.pass(second, second)
    await world.pass(10 * second)
    expect(await world.sent()).toHaveLength(2)
    expect(world.logged.filter(({ level }) => level >= 40)).toHaveLength(1)
  })
})

describe('a run whose end no webhook reports', () => {
  it('requests a silent run as soon as it was silent for as long as its project allows', async () => {
    let reported = 0
    await using world = await openPolledWorld({ hook: ({ kind }) => kind === 'pipeline' && reported++ === 0 })
    begin(world, 'branch')
    await world.pass(9.5 * minute, 30 * second)
    expect(asked(world)).toEqual([])
    await world.pass(minute, 30 * second)
    expect(asked(world)).toContain('/projects/:id/pipelines/:id')
  })
})

describe('a platform whose API is not configured', () => {
  it('exports a pipeline without API requests, and logs once which setting is missing', async () => {
    await using world = await openPolledWorld()
    const rules = { settle: 5 * second, blockedAfter: hour, staleAfter: hour, enrichDeadline: 2 * minute }
    const at = world.now()
    for (const id of [7, 8]) {
      const ended = event('success', { createdAt: at - minute, finishedAt: at }, [], {}, id)
      await world.store.runs.transact(mergeObservations([ended], 'webhook', rules))
    }
    await world.pass(10 * second)
    expect((await world.sent()).map(({ key }) => key)).toEqual([7, 8].map(pipelineId => ({ instance, pipelineId })))
    expect(asked(world)).toEqual([])
    expect(world.logged.map(({ msg }) => msg)).toEqual([
      `Webhooks come from ${instance}, whose API is not configured, so pipeline details are not fetched. Set PIPESPAN_PLATFORM_URL to the platform's own external URL.`,
    ])
  })
})

describe('a pipeline known only from its jobs', () => {
  it('fetches the missing data of a pipeline that is known only from its jobs, and follows it until it ends', async () => {
    await using world = await openPolledWorld({ hook: ({ kind }) => kind === 'job' })
    const pipeline = begin(world, 'branch')
    await world.pass(hour)
    const [chunk, ...more] = await world.sent()
    expect(more).toEqual([])
    expect(chunk?.pipeline.facts).toMatchObject({ status: pipeline.status, ref: pipeline.ref, sha: pipeline.sha })
  })

  it.each([
    ['nightly', 'failed', 'retry'],
    ['blocked', 'manual', 'play'],
  ] as const)('follows its next attempt, too (%s: %s, then %s)', async (scenario, status, act) => {
    await using world = await openPolledWorld({ hook: ({ kind }) => kind === 'job' })
    const pipeline = begin(world, scenario)
    const attempts = async () =>
      (await world.sent()).map(({ attempt, pipeline: { facts, incomplete } }) => [attempt, facts.status, incomplete])
    await world.pass(5 * hour, minute)
    expect(await attempts()).toEqual([[1, status, status === 'manual']])
    world.lifecycle[act](pipeline)
    await world.pass(5 * hour, minute)
    expect(pipeline.status).toBe('success')
    expect(await attempts()).toEqual([[2, 'success', false]])
  })
})

describe('a family of pipelines', () => {
  it.each([[false], [true]])(
    'exports a family of three levels observed by webhook as one trace (newest platform: %s)',
    async newest => {
      await using world = await openPolledWorld({ hook: () => true, newest })
      const root = begin(world, 'family')
      await world.pass(hour)
      const chunks = await world.sent()
      expect(chunks).toHaveLength(world.lifecycle.state.pipelines.size)
      expect(new Set(chunks.map(({ trace }) => trace.rootPipelineId))).toEqual(new Set([root.id]))
      const triggers = [...world.lifecycle.state.pipelines.values()].map(({ id, trigger }) => [id, trigger?.bridge.id])
      expect(chunks.map(({ key, trace }) => [key.pipelineId, trace.parent?.jobId])).toEqual(triggers)
    },
  )

  it('polls another project soon after a pipeline has triggered a pipeline there', async () => {
    await using world = await openPolledWorld({
      hook: ({ pipelineId }) => world.lifecycle.state.pipelines.get(pipelineId)?.project.id === 301,
      poll: { groups: ['brightwater'] },
    })
    await world.pass(3 * minute, minute)
    begin(world, 'family')
    world.api.asked.length = 0
    await world.pass(10 * minute, 30 * second)
    expect(world.api.asked.map(({ path }) => path)).toContain('/projects/320/pipelines')
  })
})
