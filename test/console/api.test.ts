import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { generatePipeline } from '../support/generate.ts'
import { openHouse, until, type House } from './house.ts'
import { sampleSections, withSections } from './read-insides.ts'
import { allPages, allRoutes } from '../support/console-parts.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
  const accepted = house.receiver.counts.requests
  await house.live(['family', 'retried', 'nightly', 'blocked', 'canceled', 'mergeRequest'])
  expect(house.receiver.counts.requests).toBeGreaterThan(accepted)
  // The backend permanently rejects two pipelines.
  const { outbox } = house.daemon.store
  house.receiver.misbehave({ fault: { kind: 'status', status: 400, message: 'span name is too long' } })
  for (const nth of [1, 2]) {
    const firstIds = { pipeline: 91_000_000 + nth, job: 910_000_000 + nth * 1_000 }
    await house.deliver(generatePipeline(8 + nth, 'small', { firstIds }).deliveries)
    await until(async () => (await outbox.deadLetters(5)).length === nth)
  }
  house.receiver.behave()
})
afterAll(async () => house.close())

async function get(path: string): Promise<unknown> {
  const answer = await fetch(`${house.url}/api${path}`)
  expect([path, answer.status]).toEqual([path, 200])
  return answer.json()
}

/** A schema that rejects fields that are missing from the OpenAPI description. */
function strict(shape: z.ZodType): z.ZodType {
  if (!(shape instanceof z.ZodObject)) return shape
  return z.strictObject(shape.shape)
}

interface Card {
  projectId: number
  pipelineId: number
  project: string
  status: string
  ref?: string
  jobs: { id: number; name: string }[]
}

const routes = allRoutes.filter(
  // Some routes are tested elsewhere: audit events and logs need an admin token, and undeployed changes need a platform.
  ({ method, path }) => method === 'GET' && !/^\/audit$|\/log$|\/behind\//.test(path),
)

it.each(routes.map(route => [route.path, route] as const))(
  'responds to %s as the OpenAPI description specifies',
  async (path, route) => {
    const { pipelines } = (await get('/pipelines')) as { pipelines: Card[] }
    expect(pipelines.length).toBeGreaterThan(4)
    const [letter] = await house.daemon.store.outbox.deadLetters(1)
    const addresses = path.includes(':')
      ? pipelines.map(({ projectId, pipelineId, jobs: [job] }) =>
          path
            .replace(':projectId', String(projectId))
            .replace(':pipelineId', String(pipelineId))
            .replace(':jobId', String(job?.id))
            .replace(':deadLetterId', String(letter?.id)),
        )
      : [
          path,
          ...(path === '/trends'
            ? [
                ...[
                  '/trends?span=24h',
                  '/trends?span=1y&jobs=p95&projects=rate',
                  '/trends?ref=main',
                  '/trends?branch=other&source=push',
                ],
                ...[`/trends?project=${pipelines[0]!.projectId}&job=build`, '/trends?runner=nobody'],
              ]
            : []),
        ]
    for (const address of addresses) {
      const read = strict(route.answer).safeParse(await get(address))
      expect(read.error?.issues ?? []).toEqual([])
    }
  },
)

it('returns the data of every page as JSON', () => {
  // The page that asks for confirmation of an action shows no data of its own.
  const twins = allPages
    .filter(one => one.path !== '/exports/confirm')
    .map(one => one.path.replace(/^\/$/, '/overview').replace('/exports/:id', '/exports/dead-letters/:deadLetterId'))
  const answered = allRoutes.filter(({ method }) => method === 'GET').map(route => route.path)
  expect(twins.filter(path => !answered.includes(path))).toEqual([])
  expect(twins.length).toBeGreaterThan(15)
})

it('returns the content of a dead letter as JSON, and sorts dead letters as their page does', async () => {
  const { outbox } = house.daemon.store
  const [newest, oldest] = (await outbox.deadLetters(2)).map(({ id }) => id)
  const detail = (await get(`/exports/dead-letters/${oldest}`)) as {
    letter: { pipelineId: number; projectId: number; error: string }
    contents: { name: string; attributes: Record<string, unknown> }[]
  }
  expect(detail.letter).toMatchObject({ id: oldest, pipelineId: 91_000_001, status: 400 })
  expect(detail.letter.error).toContain('span name is too long')
  expect(detail.contents[0]?.attributes).toMatchObject({ 'pipeline.id': 91_000_001 })
  const page = await (await fetch(`${house.url}/exports/${oldest}`)).text()
  expect(page).toContain(`href="/pipelines/${detail.letter.projectId}/91000001"`)
  for (const { name } of detail.contents) expect(page).toContain(name)
  expect((await fetch(`${house.url}/api/exports/dead-letters/4711`)).status).toBe(404)

  const rows = async (address: string, of: string): Promise<Record<string, unknown>[]> =>
    ((await get(address)) as Record<string, Record<string, unknown>[]>)[of] ?? []
  const letters = async (sort = ''): Promise<unknown[]> =>
    (await rows(`/exports${sort}`, 'deadLetters')).map(({ id }) => id)
  expect(await letters()).toEqual([newest, oldest])
  expect(await letters('?sort=number')).toEqual([oldest, newest])
  expect(await letters('?sort=-of')).toEqual([newest, oldest])
  expect(await letters('?sort=of')).toEqual([oldest, newest])
})

it('names the missing settings if the JSON API has no data for a page', async () => {
  const { pipelines } = (await get('/pipelines')) as { pipelines: Card[] }
  const { projectId, pipelineId, jobs } = pipelines[0]!
  for (const [address, needs] of [
    ['/audit', ['PIPESPAN_ADMIN_TOKEN']],
    [
      `/pipelines/${projectId}/${pipelineId}/jobs/${jobs[0]!.id}/log`,
      ['PIPESPAN_PAGES_LOGS=true', 'PIPESPAN_PLATFORM_TOKEN', 'PIPESPAN_ADMIN_TOKEN'],
    ],
    [`/environments/behind/${projectId}?environment=production`, ['PIPESPAN_PLATFORM_TOKEN']],
  ] as const) {
    const answer = await fetch(`${house.url}/api${address}`)
    const page = await fetch(house.url + address)
    expect([answer.status, page.status]).toEqual([404, 404])
    const { message } = (await answer.json()) as { message: string }
    const text = await page.text()
    for (const name of needs)
      expect([message, text]).toEqual([expect.stringContaining(name), expect.stringContaining(name)])
  }
})

it('finds the pipelines of a trace, and the pipelines with a job of a given name', async () => {
  const { pipelines } = (await get('/pipelines?limit=200')) as { pipelines: (Card & { name?: string })[] }
  const root = pipelines.find(({ name }) => name === 'Monorepo')!
  const { traceId, family } = (await get(`/pipelines/${root.projectId}/${root.pipelineId}`)) as {
    traceId: string
    family: { children: { card: Card }[] }
  }
  const found = (await get(`/pipelines?text=${traceId.toUpperCase()}`)) as { pipelines: Card[]; total: number }
  expect(found.pipelines.map(({ pipelineId }) => pipelineId)).toEqual(
    expect.arrayContaining([root.pipelineId, ...family.children.map(({ card }) => card.pipelineId)]),
  )
  expect(found.total).toBe(found.pipelines.length)
  expect(found.total).toBeLessThan(pipelines.length)
  const ofProject = (await get(
    `/pipelines?text=${traceId}&project=${encodeURIComponent(root.project)}`,
  )) as typeof found
  expect(new Set(ofProject.pipelines.map(({ project }) => project))).toEqual(new Set([root.project]))
  expect(((await get(`/pipelines?text=${'ab'.repeat(16)}`)) as typeof found).pipelines).toEqual([])
  const { spans } = (await get(`/pipelines/${root.projectId}/${root.pipelineId}`)) as { spans: { spanId: string }[] }
  expect(spans.length).toBeGreaterThan(2)
  for (const { spanId } of [spans[0]!, spans.at(-1)!]) {
    const ofSpan = (await get(`/pipelines?text=${spanId.toUpperCase()}`)) as typeof found
    expect(ofSpan).toMatchObject({ total: 1, pipelines: [{ pipelineId: root.pipelineId }] })
  }
  const unknown = (await get(`/pipelines?text=${'ab'.repeat(8)}`)) as typeof found
  expect([unknown.total, unknown.pipelines]).toEqual([0, []])
  const job = root.jobs[0]!.name
  const withJob = (await get(`/pipelines?job=${encodeURIComponent(job)}&limit=200`)) as typeof found
  const having = pipelines.filter(({ jobs }) => jobs.some(({ name }) => name === job))
  expect(withJob.pipelines.map(({ pipelineId }) => pipelineId)).toEqual(having.map(({ pipelineId }) => pipelineId))
  const page = await (await fetch(`${house.url}/pipelines?text=${encodeURIComponent(job)}+nowhere`)).text()
  expect(page).toContain(`Look for a job called “${job} nowhere”`)
})

it('returns a complete pipeline as JSON: family, spans with attributes, exports, trace', async () => {
  const { pipelines } = (await get('/pipelines?limit=200')) as { pipelines: Card[] }
  const details = (await Promise.all(
    pipelines.map(async one => get(`/pipelines/${one.projectId}/${one.pipelineId}`)),
  )) as {
    pipeline: Card
    family: { card: Card; children: object[] }
    spans: { traceId: string; attributes: Record<string, unknown> }[]
    exports: { state: string }[]
    traceUrl: string
    firstSeenBy: { source: string }[]
  }[]
  const root = details.find(
    ({ family, pipeline }) => family.children.length > 0 && family.card.pipelineId === pipeline.pipelineId,
  )
  expect(root?.spans[0]?.attributes).toMatchObject({ 'pipeline.id': root?.pipeline.pipelineId })
  expect(root?.traceUrl).toBe(`https://traces.example.com/trace/${root?.spans[0]?.traceId}`)
  expect(root?.exports).toEqual([])
  expect(root?.firstSeenBy).toMatchObject([{ source: 'webhook' }])
  const sent = house.receiver.spans.find(span => span.attributes['pipeline.id'] === root?.pipeline.pipelineId)
  expect(root?.spans[0]?.traceId).toBe(sent?.traceId)
  // A time in nanoseconds is too large to be represented exactly as a JSON number.
  const asNumbers = Object.entries(sent!.attributes).map(([key, value]) => [
    key,
    typeof value === 'bigint' ? Number(value) : value,
  ])
  expect(root?.spans[0]?.attributes).toEqual(Object.fromEntries(asNumbers))
})

it('supports filtering and paging in lists', async () => {
  const first = (await get('/pipelines?limit=2')) as { pipelines: Card[]; next: string }
  const second = (await get(`/pipelines?limit=2&after=${first.next}`)) as { pipelines: Card[] }
  const ids = [...first.pipelines, ...second.pipelines].map(one => one.pipelineId)
  expect(new Set(ids).size).toBe(4)
  const { pipelines } = (await get('/pipelines?status=canceled')) as { pipelines: Card[] }
  expect(pipelines.map(one => one.status)).toEqual(['canceled'])
})

it('returns a complete job as JSON: sections, usual duration, recent runs, span', async () => {
  const [, , projectId, pipelineId, , jobId] = (await withSections(house.daemon.store, sampleSections)).split('/')
  const address = `/pipelines/${projectId}/${pipelineId}/jobs/${jobId}`
  const reported = (await get(address)) as {
    job: { name: string }
    usual: { runs: number; p50?: number }
    history: { runs: { job: { id: number; name: string } }[] }
    spans: { jobId: number }[]
  }
  expect(reported).toMatchObject({
    pipeline: { pipelineId: Number(pipelineId) },
    job: { id: Number(jobId), status: 'failed' },
    about: { failureDomain: 'user', ranOn: { host: 'machine-<b>7', pod: 'runner-pod-3', node: 'node-2' } },
    sections: { sections: [{ name: 'prepare_executor' }, {}, { parent: 2 }, { name: 'unit', failed: true }], left: 3 },
  })
  const page = await (await fetch(`${house.url}${address}`)).text()
  for (const [name, value] of [
    ['Machine', 'machine-&lt;b&gt;7'],
    ['Pod', 'runner-pod-3'],
    ['Node', 'node-2'],
  ]) {
    expect(page).toMatch(new RegExp(`${name}</dt>\\s*<dd>\\s*${value}`))
  }
  expect(reported.usual.runs).toBeGreaterThan(0)
  expect(reported.usual.p50).toBeGreaterThan(0)
  expect(reported.history.runs.map(({ job }) => job.id)).toContain(Number(jobId))
  expect(new Set(reported.history.runs.map(({ job }) => job.name))).toEqual(new Set([reported.job.name]))
  expect(reported.spans.map(span => span.jobId)).toEqual([Number(jobId)])
  expect((await fetch(`${house.url}/api/pipelines/${projectId}/${pipelineId}/jobs/1`)).status).toBe(404)
})

it.each([
  ['/pipelines?limit=0', 'query.limit: '],
  ['/pipelines?limit=many', 'query.limit: Write a whole number.'],
  ['/pipelines/x/1', 'params.project'],
  ['/trends?span=year', 'query.span: '],
  ['/trends?project=brightwater/', 'query.project: Write the ID of a project; the path of a group belongs in `group`.'],
  ['/pipelines?since=2026-13-01', 'query.since: Write '],
  ['/pipelines?until=yesterday', 'query.until: Write '],
  ['/pipelines?after=7', 'query.after: Pass '],
  ['/exports?sort=nothing', 'query.sort: '],
])('rejects %s, and states which values are valid', async (path, message) => {
  const answer = await fetch(`${house.url}/api${path}`)
  expect(answer.status).toBe(400)
  expect(((await answer.json()) as { message: string }).message).toContain(message)
})

it.each(['2026-06-01', '2026-06-01T12:00', '2025-02-29'])('accepts %s as a time', async since => {
  expect((await fetch(`${house.url}/api/pipelines?since=${since}`)).status).toBe(200)
})

it.each(['PUT', 'QUERY', 'PROPFIND'])('responds to the method %s with 405 and the allowed methods', async method => {
  const answer = await fetch(`${house.url}/api/trends`, { method })
  expect(answer.status).toBe(405)
  expect(answer.headers.get('allow')).toBe('GET, HEAD')
})

it('has an OpenAPI description without broken references', async () => {
  const description = (await get('/openapi.json')) as { components: { schemas: Record<string, object> } }
  expect(description).toMatchObject({ openapi: '3.1.0', paths: { '/api/overview': {} } })
  const named = [...JSON.stringify(description).matchAll(/"\$ref":"(.*?)"/g)].map(([, name = '']) => name)
  expect(named).toContain('#/components/schemas/FamilyMember')
  const known = Object.keys(description.components.schemas).map(name => `#/components/schemas/${name}`)
  expect(named.filter(name => !known.includes(name))).toEqual([])
})

it('responds to an unknown path with a page for browsers and with JSON for programs', async () => {
  const page = await fetch(`${house.url}/nope`, { headers: { accept: 'text/html' } })
  expect(page.status).toBe(404)
  expect(await page.text()).toContain('Not found.')
  const answer = await fetch(`${house.url}/api/nope`, { headers: { accept: 'text/html, application/json' } })
  expect(answer.status).toBe(404)
  expect(await answer.json()).toEqual({ message: 'Not found.' })
})
