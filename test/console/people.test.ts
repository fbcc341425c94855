// Tests people who are logged in by a proxy: who is let in, what each may see and do, and how actions are recorded.
import { countFigures } from '../support/counted-figures.ts'
import { closeAfterTest } from '../support/after-test.ts'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { identifier, type PeopleEntry } from '../../src/console/access/person.ts'
import { manyRuns } from '../core/store/many-runs.ts'
import { answerAddresses, pageAddresses, allPages } from '../support/console-parts.ts'
import { ask as askAt, openHouse, pipelineWebhook, until, type House } from './house.ts'

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

const peopleOf = (hosts = ''): string => `
admin:
  trusted_header: X-Auth-Request-Email
  trusted_proxies: [127.0.0.0/8, '::1']
  ${hosts}
  people:
    - { who: ['ops@acme.example'], role: operator }
    - { who: ['shop@*'], role: viewer, projects: { include: ['brightwater/shop/**'] } }
    - { who: ['*@shop.example'], role: operator, projects: { include: ['brightwater/shop/**'] } }
    - { who: ['all@*'], role: viewer }
`

beforeAll(async () => {
  const env = { PIPESPAN_ADMIN_TOKEN: token, SERVICE_OBSERVABILITY_EXPORT: 'traces,logs' }
  house = await openHouse(env, peopleOf())
  await house.live(['mergeRequest', 'nightly', 'family', 'flakyRunner'])
  const refuse = { fault: { kind: 'status', status: 400, message: 'too much of brightwater/data/warehouse' } } as const
  house.receiver.misbehave({ ...refuse, when: ({ signal }) => signal === 'traces' })
  for (const [id, projectId, path] of [
    [901, 71, 'brightwater/shop/storefront'],
    [902, 72, 'brightwater/data/warehouse'],
  ] as const)
    await house.post(pipelineWebhook({ id, begun: Date.now() - 600_000, project: { id: projectId, path } }))
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

async function act(who: string, address: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return ask(who, address, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function post(who: string, form: Record<string, string>): Promise<Response> {
  return ask(who, '/exports/do', { method: 'POST', body: new URLSearchParams(form) })
}

describe('access through a proxy that logs people in', () => {
  it('lets in people who match an entry of `admin.people`, and shows their role on every page', async () => {
    for (const [who, role] of [
      [operator, 'operator'],
      [viewer, 'viewer'],
      [shopViewer, 'viewer'],
    ] as const) {
      const answer = await ask(who, '/')
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining(`${who}, ${role}`)])
    }
  })

  it('sends each of several people who open the same page their own version of it', async () => {
    const headers = { 'if-none-match': '"none"' }
    const all = [operator, viewer, shopViewer, shopOperator]
    const pages = await Promise.all(all.map(async who => (await ask(who, '/pipelines', { headers })).text()))
    for (const [at, page] of pages.entries()) {
      expect(page).toContain(`${all[at]}, `)
      expect(page.includes('brightwater/data/warehouse')).toBe(at < 2)
    }
  })

  it('rejects everybody who matches no entry of `admin.people`, even from this machine', async () => {
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

  it('lets in clients with the admin token, even if a header names an unknown person', async () => {
    const authorization = `Bearer ${token}`
    expect((await fetch(`${house.url}/api/overview`, { headers: { authorization } })).status).toBe(200)
    expect((await ask('nobody@other.example', '/api/overview', { headers: { authorization } })).status).toBe(200)
    expect(
      (await ask('nobody@other.example', '/api/overview', { headers: { authorization: 'Bearer wrong' } })).status,
    ).toBe(401)
  })

  it('rejects a request that contains the user header twice', async () => {
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

  it("trusts the user header based on the connection's address, not on other headers", () => {
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

  it('shows the login page only to people who can log in with the token', async () => {
    expect(await askAt(`${house.url}/login`, { headers: { [header]: viewer } })).toMatchObject({
      ...{ status: 303, headers: { location: '/' } },
    })
    expect((await askAt(`${house.url}/login`)).body).toContain('name="token"')
    const open = closeAfterTest(await openHouse({}, peopleOf(`hosts: [Pipespan.example.com]`)))
    expect(await askAt(`${open.url}/login`)).toMatchObject({ status: 303, headers: { location: '/' } })
    expect((await askAt(open.url)).status).toBe(403)
    // The tested Host headers are names from the daemon's configuration, and other names.
    for (const [host, status] of [
      ['pipespan.example.com:443', 200],
      ['localhost', 200],
      ['example.com', 403],
      ['pipespan.example.com.evil.example', 403],
    ] as const)
      expect([host, (await askAt(open.url, { headers: { host, [header]: viewer } })).status]).toEqual([host, status])
    const refused = await askAt(`${open.url}/api/overview`, { headers: { host: 'example.com', [header]: viewer } })
    expect(refused.body).toContain('PIPESPAN_ADMIN_HOSTS')
  })
})

describe("a request's host name", () => {
  it.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:8081', '10.0.0.1', 'x@localhost'])(
    'rejects the host name of a website that resolves to this machine: %j',
    async host => {
      const headers = { host, [header]: operator, 'content-type': 'application/json' }
      for (const address of ['/', '/api/overview', '/metrics', '/exports/confirm?do=drop&which=all']) {
        const answer = await askAt(house.url + address, { headers })
        expect([address, answer.status]).toEqual([address, 403])
        expect(answer.body).not.toContain('pipespan_')
      }
      const drop = { method: 'POST', headers, body: '{"ids":"all"}' }
      expect((await askAt(`${house.url}/api/dead-letters/drop`, drop)).status).toBe(403)
      expect(await house.daemon.store.outbox.deadLetters(9)).toHaveLength(2)
    },
  )

  it('accepts loopback host names from anyone, and any host name from clients with the admin token', async () => {
    for (const host of ['localhost', 'LOCALHOST:9', '127.1.2.3:80', '[::1]:8081'])
      expect((await askAt(house.url, { headers: { host, [header]: operator } })).status, host).toBe(200)
    const headers = { host: 'evil.example', [header]: operator, authorization: `Bearer ${token}` }
    expect((await askAt(`${house.url}/api/overview`, { headers })).status).toBe(200)
  })

  const from = (remoteAddress: string, localAddress: string, hosts?: readonly string[]) => {
    const people = [{ who: ['*'], role: 'viewer' }] as const
    const identify = identifier({ header: 'x-user', proxies: ['0.0.0.0/0', '::/0'], hosts, people })
    return (...names: readonly string[]): unknown => {
      const rawHeaders = ['X-User', 'amina', ...names.flatMap(name => ['Host', name])]
      const found = identify({ raw: { socket: { remoteAddress, localAddress }, rawHeaders } } as never)
      return typeof found === 'string' ? found : found.name
    }
  }

  it('checks the host name of requests from this machine, under all of its addresses', () => {
    for (const here of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '10.1.2.3', 'fd00::7']) {
      const identify = from(here, here)
      expect([here, identify('evil.example'), identify('localhost:8081')]).toEqual([here, 'other host', 'amina'])
      expect([identify(), identify('localhost', 'evil.example')]).toEqual(['other host', 'other host'])
    }
    expect(from('127.0.0.1', '127.0.0.2')('evil.example')).toBe('other host')
  })

  it('checks the host name of requests from other machines if host names are configured', () => {
    expect(from('10.1.2.3', '10.9.9.9')('any.example')).toBe('amina')
    const identify = from('10.1.2.3', '10.9.9.9', ['pipespan.example.com'])
    expect([identify('any.example'), identify('Pipespan.example.com:8443')]).toEqual(['other host', 'amina'])
  })
})

describe('a person who may see only some projects', () => {
  const others = /brightwater\/(?!shop\b)\w|warehouse/
  it.each([...pageAddresses, ...answerAddresses.map(one => `/api${one}`)].filter(one => !one.endsWith('/audit')))(
    'shows a person nothing about projects that they may not see on %s',
    async address => {
      const answer = await ask(shopViewer, address)
      expect(answer.status).toBe(200)
      expect(await answer.text()).not.toMatch(others)
      expect(await text(viewer, '/api/pipelines?limit=200')).toMatch(others)
    },
  )

  it('shows neither the state of destinations nor backend errors to a person who may see only some projects', async () => {
    for (const address of ['/', '/exports', '/tokens']) {
      const page = await text(shopViewer, address)
      expect(page).toContain('Only people who may see all projects see the state of destinations.')
      expect(page).not.toContain('too much of')
    }
    expect(await json<object>(shopViewer, '/exports')).toMatchObject({ queues: [] })
    expect(await text(viewer, '/exports')).toContain('too much of brightwater/data/warehouse')
  })

  it('does not let a person open a pipeline of a project that they may not see, under any URL', async () => {
    expect((await ask(shopViewer, '/pipelines/71/901')).status).toBe(200)
    for (const address of ['/pipelines/72/902', '/api/pipelines/72/902', `/exports/${letterOf(902)}`]) {
      expect((await ask(shopViewer, address)).status, address).toBe(404)
    }
    expect((await ask(shopViewer, '/metrics')).status).toBe(403)
    expect((await ask(viewer, '/metrics')).status).toBe(200)
  })

  it('lists the pipelines that a person may see among many newer ones of other projects, without a cursor that reveals the newer ones', async () => {
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

describe('a person with the viewer role', () => {
  it('shows a viewer no buttons or forms for actions on any page', async () => {
    const letter = String(letterOf(901))
    for (const { path } of allPages) {
      const address = path
        .replace(/:pipelineId/, '901')
        .replace(/:projectId/, '71')
        .replace(/:id/, letter)
        .replace(/:\w+/g, '1')
      for (const query of ['', '?do=drop&which=all', `?do=retry&which=${letter}`, '?environment=production']) {
        const body = await text(viewer, address + query)
        expect([address, query, /method="post"|exports\/confirm/i.exec(body)?.[0]]).toEqual([address, query, undefined])
      }
    }
    expect(await text(operator, '/exports')).toContain('Send all again')
  })

  it('responds with 403 to a viewer who tries an action, without a confirmation page', async () => {
    for (const query of ['do=drop&which=all', 'do=retry&which=all', `do=drop&which=${letterOf(901)}`, 'do=burn']) {
      const answer = await ask(viewer, `/exports/confirm?${query}`)
      expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('Your role does not allow')])
    }
    for (const path of ['dead-letters/drop', 'dead-letters/retry', 'exports/try'])
      expect((await act(viewer, `/api/${path}`, { ids: 'all' })).status).toBe(403)
    for (const action of ['drop', 'retry', 'now'])
      expect((await post(viewer, { do: action, which: 'all' })).status).toBe(403)
    expect(await house.daemon.store.outbox.deadLetters(5)).toHaveLength(2)
  })
})

describe('a person with the operator role', () => {
  it('lets an operator confirm only actions on projects that they may see', async () => {
    const confirm = async (who: string, which: string | number): Promise<number> =>
      (await ask(who, `/exports/confirm?do=drop&which=${which}`)).status
    for (const [who, which, status] of [
      [operator, letterOf(902), 200],
      [shopOperator, letterOf(901), 200],
      [shopOperator, 'all', 200],
      [shopOperator, letterOf(902), 404],
      [operator, 999_999, 404],
    ] as const)
      expect([who, which, await confirm(who, which)]).toEqual([who, which, status])
    expect((await post(shopOperator, { do: 'now' })).status).toBe(403)
  })

  it('lets an operator who may see only some projects act on those projects, but not on all projects at once', async () => {
    expect((await act(shopOperator, '/api/exports/try', {})).status).toBe(403)
    expect(await (await act(shopOperator, '/api/dead-letters/drop', { ids: [letterOf(902)] })).json()).toEqual({
      count: 0,
    })
    expect(await (await act(shopOperator, '/api/dead-letters/drop', { ids: 'all' })).json()).toEqual({ count: 1 })
    expect((await house.daemon.store.outbox.deadLetters(5)).map(({ pipelineId }) => pipelineId)).toEqual([902])
  })

  it('exports an event for each operator action', async () => {
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
