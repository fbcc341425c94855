// Tests who may open the pages, with and without an admin token.
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask, openHouse, type Answer, type House } from './house.ts'
import { answerAddresses, pageAddresses } from '../support/console-parts.ts'

const token = 'an-admin-token-of-this-test'
const formType = { 'content-type': 'application/x-www-form-urlencoded' }

async function post(url: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> {
  const body = new URLSearchParams(form).toString()
  return ask(url, { method: 'POST', body, headers: { ...formType, ...headers } })
}

describe('the console without an admin token', () => {
  let house: House
  beforeAll(async () => {
    house = await openHouse()
  })
  afterAll(async () => house.close())

  it.each(['localhost', 'LOCALHOST:9', '127.0.0.1:8081', '127.1.2.3', '[::1]:8081'])(
    'serves the pages under the host name %s',
    async host => {
      expect(await ask(house.url, { headers: { host } })).toMatchObject({ status: 200 })
    },
  )

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '128.0.0.1',
    '[::2]',
    'x@localhost',
  ])('rejects the host name %s, whatever address it resolves to', async host => {
    for (const path of ['/', '/pipelines', '/api/overview', '/metrics']) {
      const answer = await ask(`${house.url}${path}`, { headers: { host } })
      expect(answer.status, path).toBe(403)
      expect(answer.body).not.toContain('Overview')
      expect(answer.body).not.toContain('pipespan_')
    }
  })

  it.each([
    { 'x-forwarded-for': '203.0.113.9' },
    { 'x-forwarded-for': '127.0.0.1, 203.0.113.9' },
    { 'x-forwarded-host': 'pipespan.example.com' },
    { 'x-real-ip': '203.0.113.9' },
    { forwarded: 'for=203.0.113.9' },
  ])('rejects non-local clients behind a local proxy: %o', async (headers: Record<string, string>) => {
    for (const path of ['/', '/api/overview', '/metrics']) {
      expect(await ask(`${house.url}${path}`, { headers: { host: 'localhost', ...headers } })).toMatchObject({
        status: 403,
      })
    }
  })

  it('accepts local clients behind a local proxy', async () => {
    const headers = {
      host: 'localhost',
      'x-forwarded-for': '::1, ::ffff:127.0.0.1, 127.0.0.1',
      'x-forwarded-host': 'localhost:3000',
    }
    expect(await ask(house.url, { headers })).toMatchObject({ status: 200 })
  })

  it('sends strict security headers with every page', async () => {
    const { headers } = await ask(house.url)
    expect(headers['content-security-policy']).toBe(
      "default-src 'none';script-src 'self';style-src 'self';img-src 'self';connect-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'",
    )
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
    })
  })

  it('accepts actions from its own pages and from scripts, but not from pages on other sites', async () => {
    const actions = [
      async (headers: Record<string, string>) => post(`${house.url}/exports/do`, { do: 'drop', which: 'all' }, headers),
      async (headers: Record<string, string>) =>
        ask(`${house.url}/api/dead-letters/drop`, {
          ...{ method: 'POST', body: '{"ids":"all"}' },
          headers: { 'content-type': 'application/json', ...headers },
        }),
    ]
    const foreign = [
      ...['http://evil.example', 'null', 'http://localhost:1'].map(origin => ({ origin })),
      ...['cross-site', 'same-site'].map(site => ({ 'sec-fetch-site': site })),
    ]
    const ours = [{ origin: house.url, 'sec-fetch-site': 'same-origin' }, {}]
    for (const act of actions) {
      const statuses = async (all: readonly object[]): Promise<number[]> =>
        Promise.all(all.map(async headers => (await act(headers as Record<string, string>)).status))
      expect(await statuses(foreign)).toEqual(foreign.map(() => 403))
      expect((await statuses(ours)).every(status => status < 400)).toBe(true)
    }
  })

  it('responds to an unknown path with a 404 page', async () => {
    expect(await ask(`${house.url}/pipelines/3/99`)).toMatchObject({
      status: 404,
      body: expect.stringContaining('Not found') as string,
    })
    expect((await ask(`${house.url}/pipelines/x/1`)).status).toBe(404)
    expect((await ask(`${house.url}/exports/0`)).status).toBe(404)
    expect((await ask(`${house.url}/exports/confirm?do=burn&which=all`)).status).toBe(404)
    expect((await ask(`${house.url}/assets/..%2fframe.ts`)).status).toBe(404)
  })

  it('has no login page if no admin token is set', async () => {
    expect(await ask(`${house.url}/login`)).toMatchObject({ status: 303, headers: { location: '/' } })
  })
})

describe('the console with an admin token', () => {
  let house: House
  beforeAll(async () => {
    house = await openHouse({ PIPESPAN_ADMIN_TOKEN: token, PIPESPAN_BASE_PATH: '/spans', PIPESPAN_TRUST_PROXY: 'true' })
  })
  afterAll(async () => house.close())

  const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address })

  async function login(headers: Record<string, string> = {}): Promise<{ cookie: string; whole: string }> {
    const answer = await post(`${house.url}/login`, { token, next: '/exports' }, headers)
    expect(answer).toMatchObject({ status: 303, headers: { location: '/spans/exports' } })
    const whole = String(answer.headers['set-cookie']?.[0])
    return { whole, cookie: whole.split(';')[0] ?? '' }
  }

  it('redirects unauthenticated clients to the login page, which remembers the requested page', async () => {
    const answer = await ask(`${house.url}/pipelines?ref=main`)
    expect(answer).toMatchObject({ status: 303, headers: { location: '/spans/login?next=%2Fpipelines%3Fref%3Dmain' } })
    const page = await ask(`${house.url}/login?next=%2Fpipelines%3Fref%3Dmain`)
    expect(page.body).toContain('value="/pipelines?ref=main"')
  })

  it.each([
    ...[
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      '/\n/evil.example',
      '/\u2028evil.example',
      '/\ud800',
    ],
    ...['/\u0000', '/é', `/${'x'.repeat(3_000)}`, ''],
  ])('never redirects to another host, and never sends an invalid header: %j', async next => {
    const answer = await post(`${house.url}/login`, { token, next })
    expect(answer).toMatchObject({ status: 303, headers: { location: '/spans/' } })
  })

  it('ignores the redirect targets if the login request contains more than one', async () => {
    expect((await ask(`${house.url}/login?next=/a&next=/b`)).body).toContain('name="next" value="/"')
  })

  it('marks the session cookie as HttpOnly, SameSite and, behind HTTPS, Secure', async () => {
    expect((await login()).whole).toMatch(
      /^pipespan_session=[\w.-]+; Path=\/spans; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    )
    expect((await login({ 'x-forwarded-proto': 'https' })).whole).toMatch(/; Secure$/)
  })

  it('accepts a session cookie under any host name, but rejects a modified cookie', async () => {
    const { cookie } = await login()
    expect((await ask(`${house.url}/`, { headers: { cookie, host: 'pipespan.example.com' } })).status).toBe(200)
    for (const forged of [
      `${cookie.slice(0, -1)}${cookie.endsWith('A') ? 'B' : 'A'}`,
      cookie.slice(0, -1),
      `${cookie}A`,
    ]) {
      expect((await ask(`${house.url}/`, { headers: { cookie: forged } })).status).toBe(303)
    }
  })

  it('rejects a session cookie after the session was logged out, and still accepts others', async () => {
    const [{ cookie }, other] = [await login(), await login()]
    expect((await post(`${house.url}/logout`, {}, { cookie, origin: 'https://evil.example' })).status).toBe(403)
    const out = await post(`${house.url}/logout`, {}, { cookie })
    expect([out.status, String(out.headers['set-cookie']?.[0])]).toEqual([
      303,
      expect.stringMatching(/^pipespan_session=; .*Max-Age=0/),
    ])
    for (const path of ['/', '/pipelines']) {
      expect((await ask(`${house.url}${path}`, { headers: { cookie } })).status, path).toBe(303)
    }
    for (const path of ['/api/overview', '/metrics']) {
      expect((await ask(`${house.url}${path}`, { headers: { cookie } })).status, path).toBe(401)
    }
    expect((await ask(`${house.url}/`, { headers: { cookie: other.cookie } })).status).toBe(200)
  })

  it('accepts the admin token as a bearer token from scripts, even for actions', async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    expect((await ask(`${house.url}/api/overview`, { headers })).status).toBe(200)
    const answer = await ask(`${house.url}/api/dead-letters/retry`, { method: 'POST', headers, body: '{"ids":"all"}' })
    expect(answer).toMatchObject({ status: 200, body: '{"count":0}' })
    expect(await ask(`${house.url}/api/overview`)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
    })
  })

  it('shows the metrics only to clients with the admin token or a session, even on loopback', async () => {
    const metrics = `${house.url}/metrics`
    expect(await ask(metrics)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.any(String) as string },
    })
    expect((await ask(metrics, { headers: { authorization: 'Bearer wrong', ...from('192.0.2.1') } })).status).toBe(401)
    const shown = { status: 200, body: expect.stringContaining('pipespan_webhook_deliveries') as string }
    expect(await ask(metrics, { headers: { authorization: `Bearer ${token}`, host: 'proxy.example' } })).toMatchObject(
      shown,
    )
    expect(await ask(metrics, { headers: { cookie: (await login()).cookie } })).toMatchObject(shown)
  })

  const guess = async (number: number, address: string, path = '/metrics'): Promise<number> =>
    (await ask(`${house.url}${path}`, { headers: { authorization: `Bearer wrong-${number}`, ...from(address) } }))
      .status

  it('counts wrong admin tokens on every route, and still accepts the right one', async () => {
    const address = '192.0.2.7'
    const statuses = [await guess(1, address), await guess(2, address, '/api/overview'), await guess(3, address, '/')]
    for (const wrong of ['one', 'two', 'three']) {
      statuses.push((await post(`${house.url}/login`, { token: wrong, next: '/' }, from(address))).status)
    }
    expect(statuses).toEqual([401, 401, 303, 401, 401, 429])
    expect(await guess(4, address)).toBe(429)
    const bearer = { authorization: `Bearer ${token}`, ...from(address) }
    const rightly = await Promise.all([
      ask(`${house.url}/api/overview`, { headers: bearer }),
      ask(`${house.url}/metrics`, { headers: bearer }),
      post(`${house.url}/login`, { token, next: '/' }, from(address)),
      ...[5, 6, 7, 8].map(async number => guess(number, address)),
    ])
    expect(rightly.map(answer => (typeof answer === 'number' ? answer : answer.status))).toEqual([
      ...[200, 200, 303],
      ...[429, 429, 429, 429],
    ])
  })

  it('does not count a wrong token again when it is repeated', async () => {
    for (let count = 0; count < 8; count += 1) expect(await guess(1, '192.0.2.8')).toBe(401)
    expect(await guess(2, '192.0.2.8')).toBe(401)
  })

  it('counts wrong tokens by the client address that the proxy reports, whatever addresses the client itself reports', async () => {
    const statuses: number[] = []
    for (let count = 0; count < 6; count += 1) statuses.push(await guess(count, `198.51.100.${count}, 192.0.2.9`))
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })

  it('compares only one token at a time on a connection from an address that has sent too many wrong tokens', async () => {
    const address = '192.0.2.10'
    for (let count = 0; count < 5; count += 1) await guess(count, address)
    const asked = (bearer: string): string =>
      `GET /spans/metrics HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nAuthorization: Bearer ${bearer}\r\n\r\n`
    const { port } = new URL(house.url)
    const answers = await new Promise<string>((resolve, reject) => {
      let text = ''
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(asked('guess-1') + asked(token)))
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        if (text.split('HTTP/1.1 ').length > 2) socket.end()
      })
      socket.on('close', () => resolve(text)).on('error', reject)
    })
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['429', '429'])
  })

  it('never prints the admin token', async () => {
    const { cookie } = await login()
    for (const path of [...pageAddresses, ...answerAddresses.map(one => `/api${one}`)].filter(
      one => !one.endsWith('/audit'),
    )) {
      const { status, body } = await ask(`${house.url}${path}`, { headers: { cookie } })
      expect(status, path).toBe(200)
      expect(body).not.toContain(token)
    }
  })
})

it('shows everybody the metrics, but nothing else, if PIPESPAN_METRICS_OPEN is set', async () => {
  const open = { PIPESPAN_ADMIN_LISTEN: '0.0.0.0:0', PIPESPAN_ADMIN_TOKEN: token, PIPESPAN_METRICS_OPEN: 'true' }
  const house = await openHouse(open)
  try {
    const url = house.url.replace('0.0.0.0', '127.0.0.1')
    const headers = { host: 'pipespan.example', 'x-forwarded-for': '203.0.113.9' }
    const statuses = ['/metrics', '/api/overview'].map(async path => (await ask(url + path, { headers })).status)
    expect(await Promise.all(statuses)).toEqual([200, 401])
  } finally {
    await house.close()
  }
})
