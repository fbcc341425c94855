// Tests fields that may be missing from the platform's lists, because the platform is older or newer than its documentation. Each field is removed in
// turn.
import { describe, expect, it } from 'vitest'
import { minute, openPolledWorld, type PolledWorld } from './polled-world.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restJson } from '../../support/rest-faults.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import type { RestReply } from '../../../src/simulator/platform/rest-replies.ts'

/** Removes fields from the responses for these paths. */
function without(world: PolledWorld, paths: RegExp, ...fields: readonly string[]): void {
  world.api.misbehave = ({ path }, real) => {
    const reply = real()
    return paths.test(path) && reply.status === 200 ? cut(reply, fields) : undefined
  }
}

function cut({ body }: RestReply, fields: readonly string[]): RestReply {
  const json = JSON.parse(String(body)) as object | object[]
  const lacking = (item: object): object =>
    Object.fromEntries(Object.entries(item).filter(([name]) => !fields.includes(name)))
  return restJson(Array.isArray(json) ? json.map(lacking) : lacking(json))
}

function logs(world: PolledWorld): string {
  return JSON.stringify(world.logged)
}

const listFields = 'id iid project_id status source ref sha name web_url created_at updated_at'.split(' ')
const pipelineFields = [
  ...listFields,
  ...'before_sha tag yaml_errors user finished_at duration queued_duration coverage detailed_status'.split(' '),
]
const jobFields = [
  ...'id name stage status ref tag created_at started_at finished_at duration queued_duration user'.split(' '),
  ...'commit pipeline web_url runner tag_list artifacts allow_failure'.split(' '),
]

const byPath = { poll: { projects: ['brightwater/data/reports'] } }
const polls = {
  'a project by its path': byPath,
  "the token's own pipelines": { poll: { ownPipelines: true } },
}

describe.each(Object.entries(polls))('a pipeline list polled for %s', (_, options) => {
  it.each(listFields)("exports the pipelines in a list without the field %s, or logs the field's name", async field => {
    await using world = await openPolledWorld(options)
    without(world, /\/pipelines$/, field)
    const pipeline = world.lifecycle.create(scenarios.nightly(new Random(3)))
    world.api.activity.set(pipeline.project.id, world.now())
    await world.pass(15 * minute, 30_000)
    const sent = await world.sent()
    if (sent.length === 0) expect(logs(world)).toMatch(new RegExp(`no usable ${field} .*/pipelines`))
    else expect(sent.map(({ pipeline: { facts } }) => facts.status)).toEqual([pipeline.status])
    // A pipeline is dropped only if it lacks a field that other data cannot replace.
    const needed = 'ownPipelines' in options.poll ? [] : ['id', 'status']
    if (!('ownPipelines' in options.poll)) expect(sent.length === 0).toBe(needed.includes(field))
  })
})

describe('a pipeline list from a platform before 13.6', () => {
  it('takes the project from the request, even for pipelines that were found while they were running', async () => {
    await using world = await openPolledWorld({ poll: { ...byPath.poll, running: true } })
    without(world, /\/pipelines(\/\d+)?$/, 'project_id', 'updated_at')
    const pipeline = world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(15 * minute, 30_000)
    const [chunk] = await world.sent()
    expect(chunk).toMatchObject({
      key: { pipelineId: pipeline.id },
      project: { id: 333, path: 'brightwater/data/reports' },
    })
    expect(chunk?.pipeline.facts.status).toBe(pipeline.status)
    expect(logs(world)).toContain('have no updated_at (GET /projects/brightwater%2Fdata%2Freports/pipelines)')
  })

  it('finds child pipelines in a list without project IDs', async () => {
    await using world = await openPolledWorld({ poll: { projects: ['320', '301', '310', '311'] } })
    without(world, /\/pipelines$/, 'project_id', 'updated_at')
    world.lifecycle.create(scenarios.family(new Random(3)))
    await world.pass(15 * minute, 30_000)
    const own = [...world.lifecycle.state.pipelines.values()].filter(({ project }) =>
      [320, 301, 310, 311].includes(project.id),
    )
    expect((await world.sent()).map(({ key }) => key.pipelineId)).toEqual(
      expect.arrayContaining(own.map(({ id }) => id)),
    )
  })
})

describe.each([
  ['a pipeline', /\/pipelines\/\d+$/, pipelineFields],
  ['jobs', /\/jobs$/, jobFields],
  ['bridges', /\/bridges$/, jobFields],
] as const)('a response about %s that lacks a field', (_, paths, fields) => {
  it.each(fields)('exports a pipeline from a response without the field %s, and logs what is missing', async field => {
    await using world = await openPolledWorld(byPath)
    without(world, paths, field)
    const pipeline = world.lifecycle.create(scenarios.nightly(new Random(3)))
    await world.pass(15 * minute, 30_000)
    const [chunk] = await world.sent()
    expect(chunk?.pipeline.facts.status).toBe(pipeline.status)
    const lacks = chunk?.jobs.length !== pipeline.jobs.length || chunk.pipeline.lacksDetails === true
    if (lacks) expect(logs(world)).toContain(field)
  })
})
