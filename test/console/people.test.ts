// People whom a proxy has logged in: who gets in, what each may see and do, and what is recorded of it.
import { countFigures } from '../support/counted-figures.ts'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { identifier, type PeopleEntry } from '../../src/console/access/person.ts'
import { manyRuns } from '../core/store/many-runs.ts'
import { openHouse, until, type House } from './house.ts'

interface Costs {
  readonly total?: { readonly totalMs: number }
  readonly projects: readonly { readonly totalMs: number }[]
  readonly days: readonly { readonly totalMs: number }[]
}
interface Trends {
  readonly total: { readonly runs: number }
  readonly projects: readonly { readonly runs: number }[]
}

const token = 'an-admin-token-that-nobody-guesses'
const header = 'x-auth-request-email'
const [operator, viewer, shopViewer, shopOperator] = [
  'ops@acme.example',
  'all@acme.example',
  'shop@acme.example',
  'lead@shop.example',
]
let house: House
let letters: readonly { readonly id: number; readonly pipelineId?: number | undefined }[]

const yaml = `
admin:
  trusted_header: X-Auth-Request-Email
  trusted_proxies: [127.0.0.0/8, '::1']
  people:
    - { who: ['ops@acme.example'], role: operator }
    - { who: ['shop@*'], role: viewer, projects: { include: ['brightwater/shop/**'] } }
    - { who: ['*@shop.example'], role: operator, projects: { include: ['brightwater/shop/**'] } }
    - { who: ['all@*'], role: viewer }
`

beforeAll(async () => {
  const env = { PIPESPAN_ADMIN_TOKEN: token, SERVICE_OBSERVABILITY_EXPORT: 'traces,logs' }
  house = await openHouse(env, yaml)
  await house.live(['mergeRequest', 'nightly', 'family', 'flakyRunner'])
  const refuse = { fault: { kind: 'status', status: 400, message: 'too much of brightwater/data/warehouse' } } as const
  house.receiver.misbehave({ ...refuse, when: ({ signal }) => signal === 'traces' })
  const at = (seconds: number): string => new Date(Date.now() - 600_000 + seconds * 1_000).toISOString()
  for (const [id, projectId, project] of [
    [901, 71, 'brightwater/shop/storefront'],
    [902, 72, 'brightwater/data/warehouse'],
  ] as const) {
    const body = JSON.stringify({
      object_kind: 'pipeline',
      object_attributes: { id, ref: 'main', status: 'success', created_at: at(0), finished_at: at(60) },
      project: {
        id: projectId,
        name: 'x',
        path_with_namespace: project,
        web_url: `https://git.example.com/${project}`,
      },
      builds: [],
    })
    await house.post(body)
  }
  await until(async () => (await house.daemon.store.outbox.deadLetters(5)).length === 2)
  house.receiver.behave()
  letters = await house.daemon.store.outbox.deadLetters(5)
})
afterAll(async () => house.close())

const ask = async (who: string, address: string, init: RequestInit = {}): Promise<Response> =>
  fetch(house.url + address, { redirect: 'manual', ...init, headers: { [header]: who, ...(init.headers as object) } })
const text = async (who: string, address: string): Promise<string> => (await ask(who, address)).text()
async function json<T>(who: string, address: string): Promise<T> {
  const answer = await ask(who, `/api${address}`)
  const body = await answer.text()
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}: ${body.slice(0, 300)}`)
  return JSON.parse(body) as T
}
const letterOf = (pipelineId: number): number => letters.find(one => one.pipelineId === pipelineId)?.id ?? 0

/** With the form token of a page, as a browser sends it. */
async function act(who: string, address: string, body: object): Promise<Response> {
  const form = /name="form" value="([^"]+)"/.exec(await text(who, '/exports/confirm?do=drop&which=all'))?.[1] ?? ''
  const headers = { 'content-type': 'application/json', 'x-pipespan-form': form }
  return ask(who, address, { method: 'POST', headers, body: JSON.stringify(body) })
}

describe('who gets in', () => {
  it('is whom an entry names, with the role on every page', async () => {
    for (const [who, role] of [
      [operator, 'operator'],
      [viewer, 'viewer'],
      [shopViewer, 'viewer'],
    ] as const) {
      const answer = await ask(who, '/')
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining(`${who}, ${role}`)])
    }
  })

  it('is nobody else, not even from this machine', async () => {
    for (const who of [
      'nobody@other.example',
      'ops@acme.example, x',
      `${'a'.repeat(300)}@acme.example`,
      'ops@acme.example x',
    ]) {
      expect((await ask(who, '/')).status, who).toBe(403)
      expect((await ask(who, '/api/overview')).status, who).toBe(403)
    }
    const page = await fetch(house.url, { redirect: 'manual' })
    expect([page.status, page.headers.get('location')]).toEqual([303, '/login?next=%2F'])
    expect((await fetch(`${house.url}/api/overview`)).status).toBe(401)
  })

  it('is still whoever has the admin token, also beside a header that names nobody', async () => {
    const authorization = `Bearer ${token}`
    expect((await fetch(`${house.url}/api/overview`, { headers: { authorization } })).status).toBe(200)
    expect((await ask('nobody@other.example', '/api/overview', { headers: { authorization } })).status).toBe(200)
    expect(
      (await ask('nobody@other.example', '/api/overview', { headers: { authorization: 'Bearer wrong' } })).status,
    ).toBe(401)
  })

  it('is nobody who sends the header twice', async () => {
    const { port, hostname } = new URL(house.url)
    const answer = await new Promise<string>(resolve => {
      const socket = connect(Number(port), hostname)
      let all = ''
      socket.setEncoding('utf8').on('data', (chunk: string) => (all += chunk))
      socket.on('end', () => resolve(all))
      socket.end(
        `GET /api/overview HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${header}: ${viewer}\r\nX-Auth-Request-Email: ${operator}\r\n\r\n`,
      )
    })
    expect(answer).toMatch(/^HTTP\/1.1 403/)
  })

  it('is decided by the connection, not by what a request says of itself', () => {
    const people: PeopleEntry[] = [{ who: ['*'], role: 'viewer' }]
    const identify = identifier({ header: 'x-user', proxies: ['10.1.0.0/16', 'fd00::/8', '192.0.2.7'], people })
    const from = (remoteAddress: string, ...rawHeaders: string[]): unknown =>
      identify({ raw: { socket: { remoteAddress }, rawHeaders } } as never)
    for (const proxy of ['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1', '192.0.2.7']) {
      expect(from(proxy, 'X-User', 'amina'), proxy).toMatchObject({ name: 'amina', role: 'viewer' })
    }
    for (const other of ['10.2.0.1', '192.0.2.8', '::ffff:10.2.0.1', '2001:db8::1', '']) {
      expect(from(other, 'X-User', 'amina', 'X-Forwarded-For', '10.1.2.3'), other).toBe('absent')
    }
    expect(from('10.1.2.3', 'X_User', 'amina')).toBe('absent')
    for (const bad of ['', 'a b', 'a,b', 'a\u202eb', 'x'.repeat(255)])
      expect(from('10.1.2.3', 'X-User', bad)).toBe('nobody')
  })
})

describe('somebody who is bound to projects', () => {
  const others = /brightwater\/(?!shop\b)\w|warehouse/
  const pages = [
    '/',
    '/pipelines',
    '/trends?span=30d',
    '/trends/regressions',
    '/cost',
    '/tests',
    '/tests/costly',
    '/environments',
    '/changes',
    '/components',
    '/timeline?span=7d',
    '/exports',
    '/sources',
    '/runners',
  ]
  const answers = [
    '/overview',
    '/pipelines?limit=200',
    '/trends',
    '/trends/regressions',
    '/cost',
    '/tests',
    '/tests/costly',
    '/environments',
    '/changes',
    '/components',
    '/timeline?span=7d',
    '/exports',
    '/sources',
    '/fix-first',
  ]

  it.each([...pages, ...answers.map(one => `/api${one}`)])('sees nothing of others on %s', async address => {
    const answer = await ask(shopViewer, address)
    expect(answer.status).toBe(200)
    expect(await answer.text()).not.toMatch(others)
    expect(await text(viewer, '/api/pipelines?limit=200')).toMatch(others)
  })

  it('gets sums of their own projects alone', async () => {
    const costs = await json<Costs>(shopViewer, '/cost')
    const sum = costs.projects.reduce((total, { totalMs }) => total + totalMs, 0)
    expect([costs.total?.totalMs, costs.days.reduce((total, { totalMs }) => total + totalMs, 0)]).toEqual([sum, sum])
    expect(sum).toBeLessThan((await json<Costs>(viewer, '/cost')).total?.totalMs ?? 0)
    const trends = await json<Trends>(shopViewer, '/trends')
    expect(trends.total.runs).toBe(trends.projects.reduce((total, { runs }) => total + runs, 0))
    expect(trends.total.runs).toBeLessThan((await json<Trends>(viewer, '/trends')).total.runs)
  })

  it('is shown neither the state of destinations nor the errors of backends', async () => {
    for (const address of ['/', '/exports', '/tokens']) {
      const page = await text(shopViewer, address)
      expect(page).toContain('The state of destinations is shown to people who may see all projects.')
      expect(page).not.toContain('too much of')
    }
    expect(await json<object>(shopViewer, '/exports')).toMatchObject({ queues: [] })
    expect(await text(viewer, '/exports')).toContain('too much of brightwater/data/warehouse')
  })

  it('finds no pipeline of others, by whatever route', async () => {
    expect((await ask(shopViewer, '/pipelines/71/901')).status).toBe(200)
    for (const address of ['/pipelines/72/902', '/api/pipelines/72/902', `/exports/${letterOf(902)}`]) {
      expect((await ask(shopViewer, address)).status, address).toBe(404)
    }
    expect((await ask(shopViewer, '/metrics')).status).toBe(403)
    expect((await ask(viewer, '/metrics')).status).toBe(200)
  })

  it('gets no more of an open page than of one that is loaded', async () => {
    const ended = new AbortController()
    const answer = await ask(shopViewer, '/live?page=%2Fpipelines', { signal: ended.signal })
    let seen = ''
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      seen += chunk
      if (seen.includes('brightwater/shop') && seen.endsWith('\n\n')) break
    }
    ended.abort()
    expect(seen).not.toMatch(others)
  })

  it('sees their pipelines beside many newer ones of others, and no cursor that tells of those', async () => {
    interface List {
      pipelines: { project: string }[]
      next?: unknown
      total?: number
    }
    const own = await json<List>(shopViewer, '/pipelines?limit=200')
    await manyRuns({ store: house.daemon.store, runs: 700, until: Date.now() + 60_000, every: 10 })
    await countFigures(house.daemon.store)
    const { pipelines, next, total } = await json<List>(shopViewer, '/pipelines?limit=200')
    expect([pipelines.length, next, total]).toEqual([own.pipelines.length, undefined, own.total])
    expect(pipelines.length).toBeGreaterThan(3)
    expect(await text(shopViewer, '/pipelines')).toContain('brightwater/shop/storefront')
    for (const filter of [
      'project=acme/shop/api',
      'project=acme/',
      'ref=release/24.6',
      'text=amina',
      'job=unit&project=acme/',
    ])
      expect([filter, await json<List>(shopViewer, `/pipelines?limit=1&${filter}`)]).toEqual([
        filter,
        expect.not.objectContaining({
          next: expect.anything() as unknown,
          searchedBackTo: expect.anything() as unknown,
        }),
      ])
    expect((await json<List>(viewer, '/pipelines?limit=1&project=acme/shop/api')).next).toBeDefined()
  })
})

describe('a viewer', () => {
  it('has no buttons that change something, and is refused if they try', async () => {
    const page = await text(viewer, '/exports')
    expect(page).toContain('Dead letters')
    expect(page).not.toMatch(/Send again|Drop/)
    expect(await text(operator, '/exports')).toContain('Send all again')
    for (const address of ['/api/dead-letters/retry', '/api/dead-letters/drop']) {
      expect((await act(viewer, address, { ids: 'all' })).status).toBe(403)
    }
    expect((await act(viewer, '/api/exports/try', {})).status).toBe(403)
    expect(await house.daemon.store.outbox.deadLetters(5)).toHaveLength(2)
  })
})

describe('an operator', () => {
  it('who is bound acts only on their own projects, and not on what concerns all', async () => {
    expect((await act(shopOperator, '/api/exports/try', {})).status).toBe(403)
    expect(await (await act(shopOperator, '/api/dead-letters/drop', { ids: [letterOf(902)] })).json()).toEqual({
      count: 0,
    })
    expect(await (await act(shopOperator, '/api/dead-letters/drop', { ids: 'all' })).json()).toEqual({ count: 1 })
    expect((await house.daemon.store.outbox.deadLetters(5)).map(({ pipelineId }) => pipelineId)).toEqual([902])
  })

  it('needs the form of a page, as everybody does who has no token', async () => {
    const headers = { 'content-type': 'application/json', 'x-pipespan-form': 'guessed' }
    const sent = await ask(operator, '/api/dead-letters/drop', { method: 'POST', headers, body: '{"ids":"all"}' })
    expect(sent.status).toBe(403)
  })

  it('leaves an event of each action', async () => {
    expect(await (await act(operator, '/api/dead-letters/retry', { ids: 'all' })).json()).toEqual({ count: 1 })
    const actions = (): object[] =>
      house.receiver.logs
        .filter(one => one.eventName === 'pipespan.operator.action')
        .map(({ attributes }) => attributes)
    await until(async () => actions().length === 3)
    expect(actions()).toEqual([
      expect.objectContaining({
        'user.name': shopOperator,
        'pipespan.operator.action': 'drop',
        'pipespan.operator.count': 0,
      }),
      expect.objectContaining({
        'user.name': shopOperator,
        'pipespan.operator.target': 'all',
        'pipespan.operator.count': 1,
      }),
      expect.objectContaining({
        ...{ 'user.name': operator, 'pipespan.operator.role': 'operator', 'pipespan.operator.action': 'retry' },
        ...{ 'pipespan.operator.target': 'all', 'pipespan.operator.count': 1 },
      }),
    ])
  })
})
