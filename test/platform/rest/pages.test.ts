// Tests that the platform's lists are read page by page, in order, to their end.
import { describe, expect, it } from 'vitest'
import { answer, clientOf, fixture, json, poll, startPlatform, type Reply } from './platform-server.ts'
import { allOf, nextLink } from '../../../src/platform/rest/pages.ts'

const [item] = fixture('project-pipelines.json') as [Record<string, unknown>]
const items = (...ids: number[]) => ids.map(id => ({ ...item, id }))

/** Replies with keyset pages: one with the items 1 and 2, an empty one, one with item 3, and an empty last one without a link. */
const keyset: Reply = (asked, response) => {
  const pages: Record<string, [unknown[], string?]> = {
    '': [items(1, 2), 'b'],
    b: [[], 'c'],
    c: [items(3), 'd'],
    d: [[]],
  }
  const [page, cursor] = pages[asked.query.get('cursor') ?? ''] ?? [[]]
  const next = `<http://${asked.headers.host}/api/v4/pipelines?cursor=${cursor}&per_page=100&source=push>; rel="next"`
  json(page, cursor === undefined ? {} : { link: next })(asked, response)
}

describe('a paginated list from the platform', () => {
  it("follows a list's cursor to the end, even if some pages are short or empty", async () => {
    await using platform = await startPlatform(keyset)
    await using test = clientOf(platform.url)
    const found = (await allOf(test.client.ownPipelines({ source: 'push' }, poll))).items
    expect(found.map(({ id }) => id)).toEqual([1, 2, 3])
    expect(platform.asked.map(({ query }) => query.get('cursor'))).toEqual([null, 'b', 'c', 'd'])
    expect(platform.asked[0]!.query.get('per_page')).toBe('100')
  })

  it("follows a list's Link headers, and does not need a total count", async () => {
    await using platform = await startPlatform((asked, response) => {
      const page = Number(asked.query.get('page') ?? 1)
      const to = (at: number, rel: string) =>
        `<http://${asked.headers.host}${asked.path}?page=${at}&odd=%2B,;x>; rel="${rel}"`
      const links = [to(1, 'first'), ...(page < 3 ? [to(page + 1, 'next')] : []), to(3, 'last')]
      json(items(page), { link: links.join(', ') })(asked, response)
    })
    await using test = clientOf(platform.url)
    const found = (await allOf(test.client.projectPipelines(4711, {}, poll))).items
    expect(found.map(({ id }) => id)).toEqual([1, 2, 3])
    expect(platform.asked[1]!.url).toBe('/api/v4/projects/4711/pipelines?page=2&odd=%2B,;x')
  })

  it.each([
    ['another scheme', (host: string) => `https://${host}/api/v4/x`],
    ['localhost', (host: string) => `http://localhost:${host.split(':')[1]}/api/v4/x`],
    ['another host', () => 'https://elsewhere.example.com/git/api/v4/x'],
    ['another port', () => 'http://127.0.0.1:1/api/v4/x'],
    ['a name of the network', () => '//gitlab.internal/api/v4/x'],
    ['a user', (host: string) => `http://user:password@${host}/api/v4/projects/4711/pipelines`, 0],
  ])('continues a list at the configured URL if its links point to %s', async (_, linked, warnings = 1) => {
    await using platform = await startPlatform((asked, response) => {
      const page = Number(asked.query.get('page') ?? 1)
      const next = `<${linked(asked.headers.host ?? '')}?page=${page + 1}&per_page=100>; rel="next"`
      json(items(page), page < 3 ? { link: next } : {})(asked, response)
    })
    await using test = clientOf(platform.url)
    expect((await allOf(test.client.projectPipelines(4711, {}, poll))).items.map(({ id }) => id)).toEqual([1, 2, 3])
    expect(new Set(platform.asked.map(({ path }) => path))).toEqual(new Set(['/api/v4/projects/4711/pipelines']))
    expect(test.logged.filter(line => line.includes('point to another host'))).toHaveLength(warnings)
    expect(test.logged.join()).not.toContain('password')
  })

  it.each([
    '<http://[bad>; rel="next"',
    '<javascript:alert(1)>; rel="next"',
    '<https://elsewhere.example.com/>; rel="next"',
  ])('keeps the items of a page whose link is invalid: %s', async link => {
    await using platform = await startPlatform(json(items(1, 2), { link }))
    await using test = clientOf(platform.url)
    expect((await allOf(test.client.projectPipelines(4711, {}, poll))).items.map(({ id }) => id)).toEqual([1, 2])
  })

  describe('a list without Link headers', () => {
    const all = Array.from({ length: 250 }, (_, at) => ({
      ...item,
      ...{ id: at + 1, name: 'p', path_with_namespace: `a/p${at + 1}` },
      created_at: new Date(Date.UTC(2025, 2, 11) - at * 60_000).toISOString(),
    }))
    const ids = (found: readonly { readonly id: number }[]) => [...new Set(found.map(({ id }) => id))]

    it('continues a list by page number if it has no Link headers', async () => {
      await using platform = await startPlatform((asked, response) => {
        const page = Number(asked.query.get('page') ?? 1)
        json(all.slice((page - 1) * 100, page * 100))(asked, response)
      })
      await using test = clientOf(platform.url)
      expect(ids((await allOf(test.client.projectPipelines(4711, {}, poll))).items)).toHaveLength(250)
      expect(platform.asked).toHaveLength(3)
    })

    it("continues a keyset list by page number, and logs the platform's reason when it rejects the request for another page", async () => {
      await using platform = await startPlatform((asked, response) => {
        const page = Number(asked.query.get('page') ?? 1)
        if (page < 3) json(all.slice((page - 1) * 100, page * 100))(asked, response)
        else answer(400, '{"error":"page is invalid"}')(asked, response)
      })
      await using test = clientOf(platform.url)
      const { items: found, left } = await allOf(test.client.projects('all', {}, poll))
      expect([ids(found).length, left]).toEqual([200, 1])
      expect(platform.asked.map(({ query }) => query.get('pagination'))).toEqual(['keyset', null, null])
      const warning = test.logged.find(line => line.includes('A list from the platform'))
      expect(warning).toContain('page is invalid')
    })

    it("ends a list at an empty page, even if the page's URL contains no page size", async () => {
      await using platform = await startPlatform(json([]))
      await using test = clientOf(platform.url)
      expect(
        (await allOf(test.client.ownPipelines({}, { ...poll, from: '/api/v4/pipelines?cursor=b' }))).items,
      ).toEqual([])
      expect(platform.asked).toHaveLength(1)
    })

    it('ends a list with a warning if the platform repeats a full page', async () => {
      await using platform = await startPlatform(json(all.slice(0, 100)))
      await using test = clientOf(platform.url)
      const { items: found, left } = await allOf(test.client.projectPipelines(4711, {}, poll))
      expect([found.length, left]).toEqual([100, 1])
      expect(platform.asked).toHaveLength(2)
      expect(test.logged.filter(line => line.includes('repeats itself'))).toHaveLength(1)
    })
  })

  it('requests the next page of a list only after the caller has processed the previous one', async () => {
    await using platform = await startPlatform(keyset)
    await using test = clientOf(platform.url)
    for await (const { items: page } of test.client.ownPipelines({}, poll)) {
      expect(page).toHaveLength(2)
      break
    }
    expect(platform.asked).toHaveLength(1)
  })

  it('resumes a list after a restart at the page that follows the last processed page', async () => {
    await using platform = await startPlatform(keyset)
    let from: string | undefined
    {
      await using test = clientOf(platform.url)
      for await (const { next } of test.client.ownPipelines({ source: 'push' }, poll)) {
        from = next
        break
      }
    }
    expect(from).toBe('/api/v4/pipelines?cursor=b&per_page=100&source=push')
    await using test = clientOf(platform.url)
    const rest = (await allOf(test.client.ownPipelines({ source: 'push' }, { ...poll, from }))).items
    expect(rest.map(({ id }) => id)).toEqual([3])
  })

  it('skips invalid items in a list, counts them for each kind of list, and logs them once', async () => {
    await using platform = await startPlatform(json([{ id: 'x' }, null, 7, ...items(4)]))
    const leftOut: [string, number][] = []
    await using test = clientOf(platform.url, { onLeftOut: (list, count) => leftOut.push([list, count]) })
    for (let round = 0; round < 2; round++) {
      const found = (await allOf(test.client.projectPipelines(4711, {}, poll))).items
      expect(found.map(({ id }) => id)).toEqual([4])
    }
    const warnings = test.logged.filter(line => line.includes('cannot be read'))
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('"count":3')
    expect(warnings[0]).toContain('no usable id, item, status')
    const jobs = [{ id: 1, status: 'success' }, { id: 2 }, { status: 'failed' }]
    platform.reply = json(jobs)
    expect((await allOf(test.client.pipelineJobs(4711, 7, poll))).items.map(({ id }) => id)).toEqual([1])
    expect((await allOf(test.client.pipelineBridges(4711, 7, poll))).items.map(({ id }) => id)).toEqual([1])
    platform.reply = json(jobs.slice(0, 1))
    await allOf(test.client.pipelineJobs(4711, 7, poll))
    expect(leftOut).toEqual([
      ['pipelines', 3],
      ['pipelines', 3],
      ['jobs', 2],
      ['bridges', 2],
    ])
  })

  it("returns each page of a list with the time on the platform's clock", async () => {
    await using platform = await startPlatform(json([], { date: 'Tue, 11 Mar 2025 08:00:00 GMT' }))
    await using test = clientOf(platform.url)
    for await (const page of test.client.projectPipelines(4711, {}, poll)) {
      expect(page.servedAt).toBe(Date.UTC(2025, 2, 11, 8))
    }
  })
})

describe('the Link header of a list', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['<https://a/?p=1>; rel="prev"', undefined],
    ['<https://a/?p=2>; rel="next"', 'https://a/?p=2'],
    ['<https://a/?p=1>; rel="first", <https://a/?p=2>; rel="next"', 'https://a/?p=2'],
    ['<https://a/?x=a,b;c>; title="rel"; REL=next', 'https://a/?x=a,b;c'],
    ['<https://a/?p=2>; rel="last next"', 'https://a/?p=2'],
    ['<https://a/?p=2>; rel="nextish"', undefined],
    ['no link at all; rel="next"', undefined],
  ])('reads from the Link header %s the next page %s', (header, next) => {
    expect(nextLink(header)).toBe(next)
  })
})
