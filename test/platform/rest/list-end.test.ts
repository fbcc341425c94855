// Tests lists that the platform never ends. Each list is read up to a maximum number of items, the remaining items are counted, and the truncation is
// logged once per project.
import { describe, expect, it } from 'vitest'
import { answer, clientOf, json, poll, rejection, startPlatform, type Asked, type Reply } from './platform-server.ts'
import { allOf } from '../../../src/platform/rest/pages.ts'

const jobs = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: from + at, status: 'success' }))

function linked(items: readonly unknown[], to: string, headers = {}): Reply {
  return (asked, response) =>
    json(items, { link: `<http://${asked.headers.host}${asked.path}?${to}>; rel="next"`, ...headers })(asked, response)
}

const pageOf = ({ query }: Asked): number => Number(query.get('page') ?? 1)

/** Replies with a list that never ends and has new items on each page. */
function endless(perPage: number): Reply {
  return (asked, response) => {
    const page = pageOf(asked)
    linked(jobs(page * perPage + 1, perPage), `page=${page + 1}`)(asked, response)
  }
}

async function world(reply: Reply) {
  const platform = await startPlatform(reply)
  const leftOut: [string, number][] = []
  const test = clientOf(platform.url, { onLeftOut: (list, count) => leftOut.push([list, count]) })
  return {
    ...{ platform, leftOut, client: test.client },
    warnings: () => test.logged.filter(line => line.includes('A list from the platform')),
    [Symbol.asyncDispose]: async () => {
      await test[Symbol.asyncDispose]()
      await platform[Symbol.asyncDispose]()
    },
  }
}

describe('an endless list from the platform', () => {
  it.each(['jobs', 'bridges'] as const)(
    'reads up to 50,000 %s from an endless list, and logs the truncation once per project',
    async list => {
      await using test = await world(endless(4_000))
      const pages = (project: number, pipeline: number) =>
        list === 'jobs'
          ? test.client.pipelineJobs(project, pipeline, poll)
          : test.client.pipelineBridges(project, pipeline, poll)
      const { items, left } = await allOf<{ readonly id: number }>(pages(4711, 7))
      expect(new Set(items.map(({ id }) => id)).size).toBe(50_000)
      expect(left).toBe(2_000)
      expect(test.platform.asked).toHaveLength(13)
      await allOf<{ readonly id: number }>(pages(4711, 8))
      expect(test.leftOut).toEqual([
        [list, 2_000],
        [list, 2_000],
      ])
      expect(test.warnings()).toHaveLength(1)
      expect(test.warnings()[0]).toContain('has more items than Pipespan reads')
      expect(test.warnings()[0]).toContain(`(GET /projects/4711/pipelines/:id/${list}). Split what is listed`)
      await allOf<{ readonly id: number }>(pages(4712, 9))
      expect(test.warnings()).toHaveLength(2)
    },
  )

  it('stops reading an endless list after a thousand empty pages', async () => {
    await using test = await world(endless(0))
    expect(await allOf(test.client.ownPipelines({}, poll))).toEqual({ items: [], left: 1 })
    expect(test.platform.asked).toHaveLength(1_000)
  })

  it("reads a list up to the caller's maximum, and returns how many items remain", async () => {
    await using test = await world((asked, response) => {
      const page = pageOf(asked)
      linked(jobs(page * 100, 100), `page=${page + 1}`, { 'x-total': '730' })(asked, response)
    })
    const { items, left } = await allOf(test.client.pipelineJobs(4711, 7, { ...poll, max: 250 }))
    expect([items.length, left]).toEqual([250, 480])
  })

  it.each([50_000, 60_000])('reads up to 50,000 items from a list that is a single page of %i items', async count => {
    await using test = await world(json(jobs(1, count)))
    const { items, left } = await allOf(test.client.pipelineJobs(4711, 7, poll))
    expect([items.length, left]).toEqual([50_000, count - 50_000])
  })
})

describe('a list from the platform that repeats itself', () => {
  it.each([
    [
      'its next page is itself',
      (): Reply => (asked, response) => linked(jobs(1, 2), asked.url.split('?')[1] ?? '')(asked, response),
      1,
    ],
    [
      'its pages link in a circle',
      (): Reply => (asked, response) =>
        linked(jobs(pageOf(asked), 1), `page=${(pageOf(asked) % 2) + 1}`)(asked, response),
      3,
    ],
    [
      'all its pages are the same',
      (): Reply => (asked, response) => linked(jobs(1, 2), `page=${pageOf(asked) + 1}`)(asked, response),
      2,
    ],
  ])('stops reading a list that repeats itself if %s', async (_, reply, requests) => {
    await using test = await world(reply())
    const { items, left } = await allOf(test.client.pipelineJobs(4711, 7, poll))
    expect(items.map(({ id }) => id)).toEqual([1, 2])
    expect(left).toBe(1)
    expect(test.platform.asked).toHaveLength(requests)
    expect(test.warnings()).toHaveLength(1)
    expect(test.warnings()[0]).toContain('repeats itself')
  })
})

describe('a list with more pages than the platform serves', () => {
  const refusal = answer(405, '{"error":"Offset pagination has a maximum allowed offset of 200"}', {
    'content-type': 'application/json',
  })

  it('returns the pages of a list that were read before the platform rejected the request for another page', async () => {
    await using test = await world((asked, response) => {
      const reply = pageOf(asked) > 2 ? refusal : linked(jobs(pageOf(asked) * 100, 100), `page=${pageOf(asked) + 1}`)
      reply(asked, response)
    })
    const { items, left } = await allOf(test.client.pipelineJobs(4711, 7, poll))
    expect([items.length, left]).toEqual([200, 1])
    expect(test.leftOut).toEqual([['jobs', 1]])
    expect(test.warnings()[0]).toContain('has more pages than the platform serves')
  })

  it('reports an error if not even the first page of a list could be read', async () => {
    await using test = await world(refusal)
    expect(await rejection(allOf(test.client.pipelineJobs(4711, 7, poll)))).toMatchObject({ kind: 'refused' })
  })
})
