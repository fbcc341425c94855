// Tests the calls of the platform client: the requests that it sends, and the results that it returns.
import { describe, expect, it } from 'vitest'
import { listen } from '../../support/after-test.ts'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { z } from 'zod'
import { Agent } from 'undici'
import { answer, clientOf, fixture, json, poll, rejection, startPlatform } from './platform-server.ts'
import { allOf } from '../../../src/platform/rest/pages.ts'
import { createWantedFacts } from '../../../src/platform/wanted-facts.ts'
import { ConfigError } from '../../../src/lib/fault.ts'
import { PlatformError } from '../../../src/platform/port.ts'
import { segmentOf } from '../../../src/platform/rest/api.ts'
import { directDispatcher } from '../../../src/platform/rest/http.ts'

const at = Date.UTC(2025, 2, 11, 7, 30)

describe('pipelines from the platform client', () => {
  it('lists the pipelines of a project by the time of their last change, oldest first', async () => {
    await using platform = await startPlatform(json(fixture('project-pipelines.json')))
    await using test = clientOf(platform.url)
    const query = { updatedAfter: at, source: 'parent_pipeline' }
    const found = (await allOf(test.client.projectPipelines('harbour/tools/crane', query, poll))).items
    expect(platform.asked[0]!.path).toBe('/api/v4/projects/harbour%2Ftools%2Fcrane/pipelines')
    expect(Object.fromEntries(platform.asked[0]!.query)).toEqual({
      per_page: '100',
      updated_after: '2025-03-11T07:30:00.000Z',
      order_by: 'updated_at',
      sort: 'asc',
      source: 'parent_pipeline',
    })
    expect(found).toMatchObject([
      { id: 88120, project: { id: 4711 }, status: 'success', updatedAt: Date.parse('2025-03-11T08:00:33.890Z') },
      { id: 88121, status: 'quarantined' },
    ])
    expect(found[0]).not.toHaveProperty('mergeRequest')
  })

  it("lists the pipelines of the token's user in all projects, with each pipeline's project and merge request", async () => {
    await using platform = await startPlatform(json(fixture('own-pipelines.json')))
    await using test = clientOf(platform.url)
    const [found] = (await allOf(test.client.ownPipelines({ createdAfter: at }, poll))).items
    expect(platform.asked[0]!.url).toBe('/api/v4/pipelines?per_page=100&created_after=2025-03-11T07%3A30%3A00.000Z')
    expect(found).toMatchObject({
      id: 88130,
      mergeRequest: { iid: 17, title: 'Lift heavier crates' },
      project: { id: 4711, name: 'Crane', path: 'harbour/tools/crane' },
    })
  })

  it('reads a pipeline with its bridges and the jobs of all attempts', async () => {
    await using platform = await startPlatform((asked, response) => {
      const name = { jobs: 'jobs', bridges: 'bridges' }[asked.path.split('/').at(-1) ?? ''] ?? 'pipeline'
      json(fixture(`${name}-retried.json`))(asked, response)
    })
    await using test = clientOf(platform.url)
    await expect(test.client.pipeline(4711, 88120, poll)).resolves.toMatchObject({
      id: 88120,
      tag: false,
      coverage: 83.4,
    })
    await expect(allOf(test.client.pipelineJobs(4711, 88120, poll))).resolves.toMatchObject({ items: { length: 4 } })
    await expect(allOf(test.client.pipelineBridges(4711, 88120, poll))).resolves.toMatchObject({ items: { length: 2 } })
    expect(platform.asked.map(({ url }) => url)).toEqual([
      '/api/v4/projects/4711/pipelines/88120',
      '/api/v4/projects/4711/pipelines/88120/jobs?per_page=100&include_retried=true',
      '/api/v4/projects/4711/pipelines/88120/bridges?per_page=100',
    ])
  })

  it("reads only the traceparent and the variables on the allow list from a pipeline's variables", async () => {
    await using platform = await startPlatform(json(fixture('variables.json')))
    const wanted = createWantedFacts({ labels: [], variables: ['OTHER', 'other'] }, text => text)
    await using test = clientOf(platform.url, { wanted })
    await expect(test.client.pipelineVariables(4711, 88120, poll)).resolves.toEqual({
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      allowed: {},
    })
    platform.reply = json([{ key: 'TRACEPARENT', value: 's3cr3t-value' }, { key: 'OTHER', value: 'x' }, null])
    await expect(test.client.pipelineVariables(4711, 88120, poll)).resolves.toEqual({
      traceparent: undefined,
      allowed: { OTHER: 'x' },
    })
    platform.reply = json({ key: 'DEPLOY_KEY', value: 's3cr3t-value' })
    const error = await rejection(test.client.pipelineVariables(4711, 88120, poll))
    expect([error.message, error.stack, JSON.stringify(error), ...test.logged].join()).not.toContain('s3cr3t-value')
  })
})

describe('projects from the platform client', () => {
  it('lists the projects of a group and its subgroups by the time of their last activity', async () => {
    await using platform = await startPlatform(json(fixture('group-projects.json')))
    await using test = clientOf(platform.url)
    const found = (await allOf(test.client.projects({ group: 'harbour' }, { activeAfter: at }, poll))).items
    expect(platform.asked[0]!.path).toBe('/api/v4/groups/harbour/projects')
    expect(Object.fromEntries(platform.asked[0]!.query)).toEqual({
      per_page: '100',
      include_subgroups: 'true',
      order_by: 'last_activity_at',
      sort: 'desc',
      last_activity_after: '2025-03-11T07:30:00.000Z',
    })
    expect(found).toEqual([
      {
        id: 4711,
        name: 'Crane',
        path: 'harbour/tools/crane',
        webUrl: 'https://git.example.com/harbour/tools/crane',
        defaultBranch: 'main',
        lastActivityAt: Date.parse('2025-03-11T08:00:12.345Z'),
        archived: false,
      },
      expect.objectContaining({ id: 4712, archived: true }),
    ])
  })
})

describe('hooks from the platform client', () => {
  it('reads a null boolean field of a hook as false, and a missing field as undefined', async () => {
    await using platform = await startPlatform(json([{ id: 1, url: 'https://a.example', token_present: null }]))
    await using test = clientOf(platform.url)
    const { items } = await test.client.hooks({ project: 4711 }, poll)
    expect(items).toMatchObject([{ tokenPresent: false, pipelineEvents: false, hasTemplate: false }])
    expect(items[0]).not.toHaveProperty('signingTokenPresent')
  })

  it('lists the hooks of a project or a group, with their events and whether they are disabled', async () => {
    await using platform = await startPlatform(json(fixture('hooks.json')))
    await using test = clientOf(platform.url)
    const expected = [
      {
        id: 31,
        url: 'https://pipespan.example.com/hooks/gate',
        pipelineEvents: true,
        jobEvents: false,
        events: { push_events: false },
        tokenPresent: true,
        signingTokenPresent: false,
        alertStatus: 'disabled',
        disabledUntil: Date.parse('2025-03-11T10:00:00.000Z'),
        hasTemplate: false,
        mayBeAt: expect.any(Function) as unknown,
      },
    ]
    await expect(test.client.hooks({ project: 4711 }, poll)).resolves.toEqual({ items: expected, left: 0 })
    await expect(test.client.hooks({ group: 'harbour/tools' }, poll)).resolves.toMatchObject({ items: expected })
    expect(platform.asked.map(({ path }) => path)).toEqual([
      '/api/v4/projects/4711/hooks',
      '/api/v4/groups/harbour%2Ftools/hooks',
    ])
  })

  it('lists the deliveries of a hook, with their payloads unless the platform found them too large to record', async () => {
    await using platform = await startPlatform(json(fixture('hook-deliveries.json')))
    await using test = clientOf(platform.url)
    const owner = { project: 4711 }
    const { items: found } = await allOf(test.client.hookDeliveries(owner, 31, poll))
    await allOf(test.client.hookDeliveries({ group: 9 }, 31, poll))
    expect(platform.asked.map(({ url }) => url)).toEqual([
      '/api/v4/projects/4711/hooks/31/events?per_page=100',
      '/api/v4/groups/9/hooks/31/events?per_page=100',
    ])
    expect(found).toMatchObject([
      {
        id: 9001,
        isOversize: false,
        headers: { 'idempotency-key': '6f1c0000-9001', 'x-service-event': 'Pipeline Hook' },
        responseStatus: '503',
      },
      { id: 9002, responseStatus: 'internal error' },
      { id: 9003, responseStatus: '502', isOversize: true },
    ])
    expect(JSON.parse(String(found[0]!.body?.()))).toEqual({
      object_kind: 'pipeline',
      object_attributes: { id: 88120 },
    })
    expect(found[2]).not.toHaveProperty('body')
  })
})

describe('the platform client', () => {
  it('sends every query value unchanged, and omits undefined values', async () => {
    await using platform = await startPlatform(json({}))
    await using test = clientOf(platform.url)
    const query = {
      at: '2025-03-11T08:00:00+01:00',
      text: 'a b&c=d/ü?#',
      no: false,
      count: 3,
      empty: '',
      gone: undefined,
    }
    await test.client.asking(poll).one('/things', z.object({}), query)
    const { gone: _, ...sent } = query
    expect(Object.fromEntries(platform.asked[0]!.query)).toEqual({ ...sent, no: 'false', count: '3' })
  })

  it('finds the API below a relative URL root', async () => {
    await using platform = await startPlatform(json(fixture('pipeline-retried.json')))
    await using test = clientOf(`${platform.url}/git/`)
    expect(test.client.instance).toBe(`${platform.url}/git`)
    await test.client.pipeline(1, 2, poll)
    expect(platform.asked[0]!.path).toBe('/git/api/v4/projects/1/pipelines/2')
    platform.reply = answer(404, '{}')
    expect(await rejection(test.client.pipeline(1, 2, poll))).toMatchObject({ endpoint: 'GET /projects/1/pipelines/2' })
  })

  it('rejects an invalid platform URL', () => {
    expect(() => clientOf('git.example.com')).toThrow(ConfigError)
    expect(() => clientOf('ftp://git.example.com')).toThrow(/PIPESPAN_PLATFORM_URL is not an http\(s\) address/)
  })

  it('reuses its connections to the platform', async () => {
    const ports = new Set<number | undefined>()
    await using platform = await startPlatform((asked, response) => {
      ports.add(response.socket?.remotePort)
      json(fixture('pipeline-retried.json'))(asked, response)
    })
    await using test = clientOf(platform.url)
    for (let call = 0; call < 20; call++) await test.client.pipeline(1, 2, poll)
    // A second connection may be opened while the first is being returned to the pool.
    expect(ports.size).toBeLessThanOrEqual(2)
  })

  it('connects through the given proxy with the trusted certificate authorities, and closes the proxy connections when the client is closed', async () => {
    await using platform = await startPlatform(json(fixture('pipeline-retried.json')))
    const made: unknown[] = []
    const { client } = clientOf(platform.url, {
      ca: 'PEM',
      timeouts: { connect: 123_000, answer: 300_000 },
      dispatcher: rules => {
        const way = directDispatcher({ timeout: rules.timeout })
        made.push(rules, way)
        return way
      },
    })
    await client.pipeline(1, 2, poll)
    await client.close()
    const [rules, way] = made as [{ ca: string[]; timeout: number }, { destroyed: boolean }]
    expect(rules.ca.at(-1)).toBe('PEM')
    expect(rules.ca.length).toBeGreaterThan(1)
    expect(rules.timeout).toBe(123_000)
    expect(way.destroyed).toBe(true)
  })

  it('trusts the configured certificate authority, and names the option to set if the certificate is not trusted', async () => {
    const [key, cert] = ['key', 'crt'].map(kind =>
      readFileSync(new URL(`../../fixtures/tls/localhost.${kind}`, import.meta.url), 'utf8'),
    )
    const https = createServer({ key, cert }, (_request, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(fixture('pipeline-retried.json')))
    })
    const url = `https://localhost:${await listen(https)}`
    await using trusting = clientOf(url, { ca: cert })
    await expect(trusting.client.pipeline(1, 2, poll)).resolves.toMatchObject({ id: 88120 })
    await using distrusting = clientOf(url)
    const error = await rejection(distrusting.client.pipeline(1, 2, poll))
    expect(error).toMatchObject({ kind: 'network' })
    expect(error.message).toMatch(/Set PIPESPAN_PLATFORM_CA_FILE/)
  })

  it("says that the platform's certificate is for another host, instead of naming an option", async () => {
    const [key, cert] = ['key', 'crt'].map(kind =>
      readFileSync(new URL(`../../fixtures/tls/localhost.${kind}`, import.meta.url), 'utf8'),
    )
    await using test = clientOf(`https://localhost:${await listen(createServer({ key, cert }))}`, {
      ca: cert,
      dispatcher: rules => new Agent({ connect: { ...rules, servername: 'platform.example' } }),
    })
    const { message } = await rejection(test.client.pipeline(1, 2, poll))
    expect(message).toMatch(/ERR_TLS_CERT_ALTNAME_INVALID.*The certificate is for another host/)
  })
})

describe('the path segment of a project or group in the API', () => {
  it('addresses a project or group by its id or its encoded path', () => {
    expect(segmentOf(4711)).toBe('4711')
    expect(segmentOf('harbour/tools/crane')).toBe('harbour%2Ftools%2Fcrane')
    expect(segmentOf('/harbour/crane+1/')).toBe('harbour%2Fcrane%2B1')
  })

  it.each(['', '/', '.', '..'])('rejects the project path %j, because it would address another resource', id => {
    expect(() => segmentOf(id)).toThrow(PlatformError)
  })

  it.each([-1, 1.5, Number.NaN, 2 ** 60])('rejects the project id %d', id => {
    expect(() => segmentOf(id)).toThrow(PlatformError)
  })
})
