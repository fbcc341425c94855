// What keeps people apart whom a proxy on this machine has logged in: names of the daemon, forms on every replica, places for open pages, and what each
// role is offered.
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { createFormKey } from '../../src/console/access/access.ts'
import { formToken } from '../../src/console/access/session.ts'
import { identifier } from '../../src/console/access/person.ts'
import { livePlaces } from '../../src/console/live.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { openHouse, until, type House } from './house.ts'
import { openSqlite } from '../support/stores.ts'
import { silentLog } from '../../src/lib/log.ts'
import { Secret } from '../../src/lib/secret.ts'
import { siteOf } from '../../src/console/site.ts'
import { consoleParts, noParts } from '../support/console-parts.ts'

const token = 'an-admin-token-that-nobody-guesses'
const [operator, viewer, shopOperator] = ['ops@acme.example', 'all@acme.example', 'lead@shop.example']
const peopleOf = (hosts = ''): string => `
admin:
  trusted_header: X-Auth-Request-Email
  trusted_proxies: [127.0.0.0/8, '::1']
  ${hosts}
  people:
    - { who: ['ops@acme.example'], role: operator }
    - { who: ['lead@shop.example'], role: operator, projects: { include: ['acme/shop'] } }
    - { who: ['*@acme.example'], role: viewer }
`

interface Answer {
  readonly status: number
  readonly location: string | undefined
  readonly body: string
}

/** fetch does not let a test choose the host name. */
async function ask(
  url: string,
  who: string | undefined,
  { headers = {}, method = 'GET', body }: { headers?: Record<string, string>; method?: string; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const own = who === undefined ? {} : { 'x-auth-request-email': who }
    const sent = request(url, { method, headers: { connection: 'close', ...own, ...headers } }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, location: answer.headers.location, body: text }))
    })
    sent.on('error', reject).end(body)
  })
}

const formIn = ({ body }: Answer): string => /name="form" value="([^"]+)"/.exec(body)?.[1] ?? ''

async function post(url: string, who: string, form: Record<string, string>): Promise<Answer> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return ask(url, who, { method: 'POST', headers, body: new URLSearchParams(form).toString() })
}

async function deadLetterOf(house: House, id: number, project: { id: number; path: string }): Promise<number> {
  const refuse = { fault: { kind: 'status', status: 400, message: 'no' } } as const
  house.receiver.misbehave({ ...refuse, when: ({ signal }) => signal === 'traces' })
  const web = `https://git.example.com/${project.path}`
  const times = { created_at: '2026-06-01T10:00:00Z', finished_at: '2026-06-01T10:01:00Z' }
  await house.post(
    JSON.stringify({
      object_kind: 'pipeline',
      object_attributes: { id, ref: 'main', status: 'success', ...times },
      project: { id: project.id, name: 'x', path_with_namespace: project.path, web_url: web },
      builds: [],
    }),
  )
  const found = async () => (await house.daemon.store.outbox.deadLetters(9)).find(one => one.pipelineId === id)
  await until(async () => (await found()) !== undefined)
  return (await found())?.id ?? 0
}

describe('behind a proxy on this machine', () => {
  let house: House
  let [shop, other] = [0, 0]
  beforeAll(async () => {
    house = await openHouse({ PIPESPAN_ADMIN_TOKEN: token }, peopleOf())
    // A backend that has never accepted anything is not believed when it refuses.
    await house.live(['small'])
    shop = await deadLetterOf(house, 1, { id: 3, path: 'acme/shop' })
    other = await deadLetterOf(house, 2, { id: 4, path: 'acme/other' })
  })
  afterAll(async () => house.close())

  it.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:8081', '10.0.0.1', 'x@localhost'])(
    'rejects the name %j of a web site that lets its name point here',
    async host => {
      for (const path of [
        '/',
        '/pipelines',
        '/api/overview',
        '/live?page=/',
        '/metrics',
        '/exports/confirm?do=drop&which=all',
      ]) {
        const answer = await ask(house.url + path, operator, { headers: { host } })
        expect([path, answer.status]).toEqual([path, 403])
        expect(answer.body).not.toContain('pipespan_')
      }
      const headers = {
        host,
        'content-type': 'application/json',
        'x-pipespan-form': formToken(new Secret(token), `operator ${operator}`),
      }
      const drop = { method: 'POST', headers, body: '{"ids":"all"}' }
      expect((await ask(`${house.url}/api/dead-letters/drop`, operator, drop)).status).toBe(403)
      expect(await house.daemon.store.outbox.deadLetters(9)).toHaveLength(2)
    },
  )

  it('is open under loopback names, and to the token under any name', async () => {
    for (const host of ['localhost', 'LOCALHOST:9', '127.1.2.3:80', '[::1]:8081'])
      expect((await ask(house.url, operator, { headers: { host } })).status, host).toBe(200)
    const headers = { host: 'evil.example', authorization: `Bearer ${token}` }
    expect((await ask(`${house.url}/api/overview`, operator, { headers })).status).toBe(200)
  })

  it('is open under the names that are configured', async () => {
    const named = await openHouse({}, peopleOf(`hosts: [Pipespan.example.com, ci.example.com]`))
    try {
      for (const [host, status] of [
        ['pipespan.example.com', 200],
        ['CI.example.com:443', 200],
        ['localhost', 200],
        ['example.com', 403],
        ['pipespan.example.com.evil.example', 403],
      ] as const)
        expect([host, (await ask(named.url, viewer, { headers: { host } })).status]).toEqual([host, status])
      const refused = await ask(`${named.url}/api/overview`, viewer, { headers: { host: 'example.com' } })
      expect(refused.body).toContain('PIPESPAN_ADMIN_HOSTS')
    } finally {
      await named.close()
    }
  })

  it('offers viewers no form that changes something, on any page', async () => {
    for (const { path } of siteOf(noParts, { adminToken: () => undefined }, consoleParts)) {
      const address = path
        .replace(/:pipelineId/, '1')
        .replace(/:projectId/, '3')
        .replace(/:id/, String(shop))
        .replace(/:\w+/g, '1')
      for (const query of ['', '?do=drop&which=all', `?do=retry&which=${shop}`, '?environment=production']) {
        const { body } = await ask(house.url + address + query, viewer)
        expect([address, query, /method="post"|exports\/confirm/i.exec(body)?.[0]]).toEqual([address, query, undefined])
      }
    }
  })

  it('answers a viewer who asks for a confirmation with 403, also on a page that stays open', async () => {
    for (const query of ['do=drop&which=all', 'do=retry&which=all', `do=drop&which=${shop}`, 'do=burn']) {
      const answer = await ask(`${house.url}/exports/confirm?${query}`, viewer)
      expect([answer.status, formIn(answer)]).toEqual([403, ''])
      expect(answer.body).toContain('Your role does not allow this')
    }
    const form = formToken(new Secret(token), `viewer ${viewer}`)
    const headers = { 'content-type': 'application/json', 'x-pipespan-form': form }
    for (const path of ['dead-letters/drop', 'dead-letters/retry', 'exports/try']) {
      const asked = { method: 'POST', headers, body: '{"ids":"all"}' }
      expect((await ask(`${house.url}/api/${path}`, viewer, asked)).body).toContain('Your role does not allow this')
    }
    for (const action of ['drop', 'retry', 'now'])
      expect((await post(`${house.url}/exports/do`, viewer, { form, do: action, which: 'all' })).status).toBe(403)
    const live = await firstEvent(
      `${house.url}/live?${new URLSearchParams({ page: '/exports/confirm?do=drop&which=all' }).toString()}`,
      viewer,
    )
    expect(live).toContain('Not allowed')
    expect(live).not.toContain('<form')
  })

  it('asks operators to confirm what concerns their own projects, and nothing else', async () => {
    const confirm = async (who: string, which: string | number): Promise<readonly [number, boolean]> => {
      const answer = await ask(`${house.url}/exports/confirm?do=drop&which=${which}`, who)
      return [answer.status, formIn(answer) !== '']
    }
    expect(await confirm(operator, other)).toEqual([200, true])
    expect(await confirm(shopOperator, shop)).toEqual([200, true])
    expect(await confirm(shopOperator, 'all')).toEqual([200, true])
    expect(await confirm(shopOperator, other)).toEqual([404, false])
    expect(await confirm(operator, 999_999)).toEqual([404, false])
    const form = formToken(new Secret(token), `operator ${shopOperator}`)
    expect((await post(`${house.url}/exports/do`, shopOperator, { form, do: 'now' })).status).toBe(403)
  })

  it('offers the form of the token only to whom it can log in', async () => {
    expect(await ask(`${house.url}/login`, viewer)).toMatchObject({ status: 303, location: '/' })
    expect((await ask(`${house.url}/login`, undefined)).body).toContain('name="token"')
    const open = await openHouse({}, peopleOf())
    try {
      expect(await ask(`${open.url}/login`, undefined)).toMatchObject({ status: 303, location: '/' })
      expect((await ask(open.url, undefined)).status).toBe(403)
    } finally {
      await open.close()
    }
  })

  it('gives each person some open pages, so that one who opens many takes none from others', async () => {
    const streams = await Promise.all(
      Array.from({ length: livePlaces.max + 6 }, async (_, at) =>
        open(at % 2 === 0 ? viewer : viewer.toUpperCase().replace('ACME.EXAMPLE', 'acme.example')),
      ),
    )
    const statuses = streams.map(({ status }) => status)
    expect(statuses.filter(status => status === 200)).toHaveLength(livePlaces.maxEach)
    expect(statuses.filter(status => status === 429)).toHaveLength(streams.length - livePlaces.maxEach)
    expect(await firstEvent(`${house.url}/live?page=/pipelines`, operator)).toContain('event: page')
    // Many people together: who has none gets a place of whoever has most.
    const crowd = await Promise.all(
      Array.from({ length: livePlaces.max }, async (_, at) => open(`crowd${at % 4}@acme.example`)),
    )
    expect(await firstEvent(`${house.url}/live?page=/pipelines`, operator)).toContain('event: page')
    for (const { end } of [...streams, ...crowd]) end()
  })

  async function open(who: string): Promise<{ readonly status: number; readonly end: () => void }> {
    const ended = new AbortController()
    const headers = { 'x-auth-request-email': who }
    const answer = await fetch(`${house.url}/live?page=%2Fpipelines`, { headers, signal: ended.signal })
    return { status: answer.status, end: () => ended.abort() }
  }
})

async function firstEvent(url: string, who: string): Promise<string> {
  const ended = new AbortController()
  const answer = await fetch(url, { headers: { 'x-auth-request-email': who }, signal: ended.signal })
  let seen = ''
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    seen += chunk
    if (seen.includes('event: page') && seen.endsWith('\n\n')) break
  }
  ended.abort()
  return seen
}

describe('the name that a request is for', () => {
  const people = [{ who: ['*'], role: 'viewer' }] as const
  const from = (remoteAddress: string, localAddress: string, hosts?: readonly string[]) => {
    const identify = identifier({ header: 'x-user', proxies: ['0.0.0.0/0', '::/0'], hosts, people })
    return (...names: readonly string[]): unknown => {
      const rawHeaders = ['X-User', 'amina', ...names.flatMap(name => ['Host', name])]
      const found = identify({ raw: { socket: { remoteAddress, localAddress }, rawHeaders } } as never)
      return typeof found === 'string' ? found : found.name
    }
  }

  it('is checked for this machine under all of its addresses', () => {
    for (const here of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '10.1.2.3', 'fd00::7']) {
      const identify = from(here, here)
      expect([here, identify('evil.example'), identify('localhost:8081')]).toEqual([here, 'other host', 'amina'])
      expect(identify(), 'none').toBe('other host')
      expect(identify('localhost', 'evil.example'), 'two').toBe('other host')
    }
    expect(from('127.0.0.1', '127.0.0.2')('evil.example')).toBe('other host')
  })

  it('is checked for other machines if names are configured', () => {
    expect(from('10.1.2.3', '10.9.9.9')('any.example')).toBe('amina')
    const identify = from('10.1.2.3', '10.9.9.9', ['pipespan.example.com'])
    expect([identify('any.example'), identify('Pipespan.example.com:8443')]).toEqual(['other host', 'amina'])
  })
})

describe('a form of one replica', () => {
  it.each([
    ['somebody whom the proxy has logged in', peopleOf(), operator],
    ['this machine, without a token', undefined, ''],
  ])('is accepted by another one, and after a restart: of %s', async (_, yaml, who) => {
    const env = { PIPESPAN_STORE_URL: await newDatabase() }
    const one = closeAfterTest(await openHouse(env, yaml))
    const form = formIn(await ask(`${one.url}/exports/confirm?do=drop&which=all`, who))
    expect(form).toMatch(/^[\w-]{43}$/)
    const two = closeAfterTest(await openHouse(env, yaml))
    const sent = { form, do: 'drop', which: 'all' }
    expect((await post(`${two.url}/exports/do`, who, sent)).status).toBe(303)
    expect((await post(`${two.url}/exports/do`, who, { ...sent, form: `${form.slice(0, -1)}_` })).status).toBe(403)
    await one.daemon.stop(0)
    const third = closeAfterTest(await openHouse(env, yaml))
    expect((await post(`${third.url}/exports/do`, who, sent)).status).toBe(303)
  })

  it('is accepted by its own process while the store takes no writes, and by all afterwards', async () => {
    const store = closeAfterTest(openSqlite(':memory:', { now: () => 1, maxSize: 1e9 }))
    let isFull = true
    const keyOf = (): (() => Promise<Secret>) =>
      createFormKey({
        token: () => undefined,
        formKeys: {
          change: async (...given) =>
            isFull ? Promise.reject(new Error('no room')) : store.repositories.formKeys.change(...given),
        },
        log: silentLog(),
      })
    const [one, two] = [keyOf(), keyOf()]
    const own = (await one()).reveal()
    expect((await one()).reveal()).toBe(own)
    isFull = false
    const shared = (await two()).reveal()
    expect([(await one()).reveal(), (await keyOf()()).reveal()]).toEqual([shared, shared])
  })

  it('is of one person and role alone', async () => {
    const house = closeAfterTest(await openHouse({}, peopleOf()))
    const form = formIn(await ask(`${house.url}/exports/confirm?do=drop&which=all`, operator))
    expect((await post(`${house.url}/exports/do`, shopOperator, { form, do: 'drop', which: 'all' })).status).toBe(403)
  })
})
