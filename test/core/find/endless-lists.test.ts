// Tests a platform whose lists never end: the items that were read are exported, other projects and sources are still polled, and the truncation is
// logged once.
import { describe, expect, it } from 'vitest'
import { hour, minute, openPolledWorld, second, start, type PolledWorld } from './polled-world.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { scenarios } from '../../../src/simulator/platform/scenarios.ts'
import type { RestReply } from '../../../src/simulator/platform/rest-replies.ts'
import type { RestRequest } from '../../../src/simulator/platform/rest-api.ts'

/** A page of an endless list. It links to the page with the next number. */
function page(
  { path, query }: RestRequest,
  url: string,
  items: (page: number) => unknown[],
  last = Infinity,
): RestReply {
  const at = Number(query.get('page') ?? 1)
  const next = new URLSearchParams(query)
  next.set('page', String(Math.min(last, at) + 1))
  const link = `<${url}/api/v4${path}?${next.toString()}>; rel="next"`
  return { status: 200, headers: { 'content-type': 'application/json', link }, body: JSON.stringify(items(at)) }
}

const warnings = ({ logged }: Pick<PolledWorld, 'logged'>): string[] =>
  logged.filter(({ level }) => level >= 40).map(({ msg }) => msg)

const isoAt = (at: number): string => new Date(at).toISOString()

describe('a pipeline with an endless list of jobs or bridges', () => {
  const project = 'brightwater/data/reports'

  it.each(['jobs', 'bridges'] as const)(
    'exports a pipeline with the %s that were read from an endless list, marked as incomplete',
    async list => {
      await using world = await openPolledWorld({ poll: { projects: [project] } })
      const item = (id: number) => ({
        id,
        name: `lint ${id}`,
        stage: 'test',
        status: 'success',
        created_at: isoAt(start),
      })
      world.api.misbehave = asked =>
        asked.path.endsWith(`/${list}`) ? page(asked, world.api.url, () => [item(1), item(2)]) : undefined
      world.lifecycle.create(scenarios.nightly(new Random(3)))
      world.lifecycle.create(scenarios.nightly(new Random(4)))
      await world.pass(2 * hour, minute)
      const sent = await world.sent()
      expect(sent.map(({ pipeline }) => pipeline.lacksDetails)).toEqual([true, true])
      for (const { jobs } of sent) expect(jobs.map(({ id }) => id)).toEqual(expect.arrayContaining([1, 2]))
      // The warning is logged once for both pipelines of the project.
      expect(warnings(world)).toEqual([expect.stringContaining(`(GET /projects/333/pipelines/:id/${list})`)])
    },
  )

  it('marks a pipeline with an endless list as incomplete even if its parent is found later', async () => {
    await using world = await openPolledWorld({ poll: { groups: ['brightwater'] } })
    world.lifecycle.create(scenarios.family(new Random(1)))
    for (const { project: one } of world.lifecycle.state.pipelines.values()) world.api.activity.set(one.id, world.now())
    world.api.misbehave = asked => {
      if (!asked.path.endsWith('/jobs')) return undefined
      return page(asked, world.api.url, () => [{ id: 1_000_000 + Number(asked.path.split('/')[4]), status: 'success' }])
    }
    await world.pass(2 * hour, 30 * second)
    const sent = await world.sent()
    expect(sent.length).toBeGreaterThan(1)
    expect(sent.every(({ pipeline }) => pipeline.lacksDetails === true)).toBe(true)
  })
})

describe('the poller', () => {
  it("reads 500 pages of a project's endless list of changed pipelines, then polls other projects, and resumes the list in the next round", async () => {
    await using world = await openPolledWorld({
      poll: { projects: ['brightwater/data/reports', 'brightwater/shop/storefront'], lookback: hour },
      perMinute: 100_000,
      enrich: false,
    })
    const from: number[] = []
    world.api.misbehave = asked => {
      if (asked.path !== '/projects/brightwater/data/reports/pipelines') return undefined
      if (asked.query.get('source') !== null) return { status: 200, headers: {}, body: '[]' }
      const after = Date.parse(asked.query.get('updated_after') ?? '')
      from.push(after)
      return page(asked, world.api.url, () => [
        {
          id: 1,
          project_id: 333,
          status: 'running',
          created_at: isoAt(start - hour),
          updated_at: isoAt(after + second),
        },
      ])
    }
    await world.poller.round()
    expect(from).toHaveLength(500)
    expect(world.api.asked.map(({ path }) => path)).toContain('/projects/brightwater/shop/storefront/pipelines')
    await world.poller.round()
    expect(from).toHaveLength(1_000)
    expect(from.at(-1)).toBeGreaterThan(from[499]!)
  })

  it.each([
    ['at 50,000', undefined],
    ['where the platform serves no further page', restFaults.refused('Offset pagination has a maximum')],
  ])('ends the daily sweep of an endless list of projects %s', async (_, refusal) => {
    await using world = await openPolledWorld({ poll: { groups: ['acme'] } })
    const next = '/api/v4/groups/acme/projects?page=2'
    const sweep = { startedAt: start, since: start, count: refusal === undefined ? 49_990 : 100, done: false, next }
    const { sweeps } = world.store.repositories
    await sweeps.put({ ...sweep, instance: world.api.url, group: 'acme' })
    world.api.misbehave = asked => {
      if (asked.path !== '/groups/acme/projects') return undefined
      if (asked.query.has('last_activity_after')) return { status: 200, headers: {}, body: '[]' }
      return refusal ?? page(asked, world.api.url, () => [{ id: 7, archived: true }], 3)
    }
    await world.pass(10 * minute, minute)
    expect(await sweeps.get({ instance: world.api.url, group: 'acme' })).toMatchObject({ done: true })
  })
})
