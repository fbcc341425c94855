import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHouse, type House } from './house.ts'

const token = 'an-admin-token-of-this-test'

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** fetch does not let a test say which host it means. */
async function ask(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { body, method = 'GET', headers = {} } = options
    const sent = request(url, { method, headers: { connection: 'close', ...headers } }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }))
    })
    sent.on('error', reject).end(body)
  })
}

const formType = { 'content-type': 'application/x-www-form-urlencoded' }

async function post(url: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> {
  const body = new URLSearchParams(form).toString()
  return ask(url, { method: 'POST', body, headers: { ...formType, ...headers } })
}

function formToken({ body }: Answer): string {
  return /name="form" value="([^"]+)"/.exec(body)?.[1] ?? ''
}

describe('without an admin token', () => {
  let house: House
  beforeAll(async () => {
    house = await openHouse()
  })
  afterAll(async () => house.close())

  it.each(['localhost', 'LOCALHOST:9', '127.0.0.1:8081', '127.1.2.3', '[::1]:8081'])(
    'opens by the name %s',
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
  ])('turns away who asks by the name %s, whatever it resolves to', async host => {
    for (const path of ['/', '/pipelines', '/api/overview', '/live?page=/']) {
      const answer = await ask(`${house.url}${path}`, { headers: { host } })
      expect(answer.status, path).toBe(403)
      expect(answer.body).not.toContain('Overview')
    }
  })

  it.each([
    { 'x-forwarded-for': '203.0.113.9' },
    { 'x-forwarded-for': '127.0.0.1, 203.0.113.9' },
    { 'x-forwarded-host': 'pipespan.example.com' },
    { 'x-real-ip': '203.0.113.9' },
    { forwarded: 'for=203.0.113.9' },
  ])(
    'turns away who comes from elsewhere through a proxy of this machine: %o',
    async (headers: Record<string, string>) => {
      for (const path of ['/', '/api/overview']) {
        expect(await ask(`${house.url}${path}`, { headers: { host: 'localhost', ...headers } })).toMatchObject({
          status: 403,
        })
      }
    },
  )

  it('opens through a proxy of this machine for this machine', async () => {
    const headers = {
      host: 'localhost',
      'x-forwarded-for': '::1, ::ffff:127.0.0.1, 127.0.0.1',
      'x-forwarded-host': 'localhost:3000',
    }
    expect(await ask(house.url, { headers })).toMatchObject({ status: 200 })
  })

  it('sends strict headers with every page', async () => {
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

  it('takes an action from its own form only', async () => {
    const form = formToken(await ask(`${house.url}/exports/confirm?do=drop&which=all`))
    const act = { do: 'drop', which: 'all' }
    expect(form).not.toBe('')
    expect((await post(`${house.url}/exports/do`, act)).status).toBe(403)
    expect((await post(`${house.url}/exports/do`, { ...act, form: `${form}x` })).status).toBe(403)
    for (const headers of [{ origin: 'http://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }]) {
      expect((await post(`${house.url}/exports/do`, { ...act, form }, headers as Record<string, string>)).status).toBe(
        403,
      )
    }
    expect(await post(`${house.url}/exports/do`, { ...act, form })).toMatchObject({ status: 303 })
  })

  it('takes no action over the API from a page of somebody else', async () => {
    const body = JSON.stringify({ ids: 'all' })
    const headers = { 'content-type': 'application/json' }
    expect((await ask(`${house.url}/api/dead-letters/drop`, { method: 'POST', body, headers })).status).toBe(403)
  })

  it('answers what is no address of a page with 404, and says so in words', async () => {
    expect(await ask(`${house.url}/pipelines/3/99`)).toMatchObject({
      status: 404,
      body: expect.stringContaining('Not found') as string,
    })
    expect((await ask(`${house.url}/pipelines/x/1`)).status).toBe(404)
    expect((await ask(`${house.url}/exports/0`)).status).toBe(404)
    expect((await ask(`${house.url}/exports/confirm?do=burn&which=all`)).status).toBe(404)
    expect((await ask(`${house.url}/assets/..%2fframe.ts`)).status).toBe(404)
  })

  it('has no login', async () => {
    expect(await ask(`${house.url}/login`)).toMatchObject({ status: 303, headers: { location: '/' } })
  })
})

describe('with an admin token', () => {
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

  it('leads whoever is unknown to the login, and back again', async () => {
    const answer = await ask(`${house.url}/pipelines?ref=main`)
    expect(answer).toMatchObject({ status: 303, headers: { location: '/spans/login?next=%2Fpipelines%3Fref%3Dmain' } })
    const page = await ask(`${house.url}/login?next=%2Fpipelines%3Fref%3Dmain`)
    expect(page.body).toContain('value="/pipelines?ref=main"')
  })

  it.each(['//evil.example', '/\\evil.example', 'https://evil.example', '/\n/evil.example'])(
    'never leads to another host: %j',
    async next => {
      const answer = await post(`${house.url}/login`, { token, next })
      expect(answer.headers.location).toBe('/spans/')
    },
  )

  it('gives a cookie that scripts, other sites and plain connections do not see', async () => {
    expect((await login()).whole).toMatch(
      /^pipespan_session=[\w.-]+; Path=\/spans; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    )
    expect((await login({ 'x-forwarded-proto': 'https' })).whole).toMatch(/; Secure$/)
  })

  it('opens with the cookie by any name, and not with one that was touched', async () => {
    const { cookie } = await login()
    expect((await ask(`${house.url}/`, { headers: { cookie, host: 'pipespan.example.com' } })).status).toBe(200)
    const [name = '', value = ''] = cookie.split('=')
    const [expires = '', nonce = '', mac = ''] = value.split('.')
    for (const forged of [
      [String(Number(expires) + 1), nonce, mac],
      [expires, `${nonce.slice(1)}A`, mac],
      [expires, nonce, `${mac.slice(1)}A`],
      [expires, nonce, ''],
    ]) {
      expect((await ask(`${house.url}/`, { headers: { cookie: `${name}=${forged.join('.')}` } })).status).toBe(303)
    }
  })

  it('lets a session log out with its own form only', async () => {
    const { cookie } = await login()
    const form = formToken(await ask(`${house.url}/`, { headers: { cookie } }))
    expect((await post(`${house.url}/logout`, {}, { cookie })).status).toBe(403)
    const other = await login()
    expect((await post(`${house.url}/logout`, { form }, { cookie: other.cookie })).status).toBe(403)
    const out = await post(`${house.url}/logout`, { form }, { cookie })
    expect(out.status).toBe(303)
    expect(String(out.headers['set-cookie']?.[0])).toMatch(/^pipespan_session=; .*Max-Age=0/)
  })

  it('takes the token as bearer from scripts, also for actions', async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    expect((await ask(`${house.url}/api/overview`, { headers })).status).toBe(200)
    const answer = await ask(`${house.url}/api/dead-letters/retry`, { method: 'POST', headers, body: '{"ids":"all"}' })
    expect(answer).toMatchObject({ status: 200, body: '{"count":0}' })
    expect(await ask(`${house.url}/api/overview`)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
    })
    expect((await ask(`${house.url}/live?page=/`)).status).toBe(401)
  })

  it('lets one address try five times, and others go on', async () => {
    const wrong = { token: 'not-the-admin-token', next: '/' }
    const statuses: number[] = []
    for (let count = 0; count < 6; count += 1) {
      statuses.push((await post(`${house.url}/login`, wrong, from('192.0.2.7'))).status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
    const right = await post(`${house.url}/login`, { token, next: '/' }, from('192.0.2.7'))
    expect(right).toMatchObject({ status: 429, headers: { 'retry-after': expect.stringMatching(/^\d+$/) as string } })
    const bearer = { authorization: `Bearer ${token}`, ...from('192.0.2.7') }
    expect((await ask(`${house.url}/api/overview`, { headers: bearer })).status).toBe(429)
    expect((await post(`${house.url}/login`, { token, next: '/' }, from('192.0.2.8'))).status).toBe(303)
  })

  it('counts tries by the address that the proxy saw, whatever the sender writes before it', async () => {
    const statuses: number[] = []
    for (let count = 0; count < 6; count += 1) {
      const sender = from(`198.51.100.${count}, 192.0.2.9`)
      statuses.push((await post(`${house.url}/login`, { token: 'not-the-admin-token', next: '/' }, sender)).status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })

  it('never shows the token', async () => {
    const { cookie } = await login()
    for (const path of [
      '/',
      '/pipelines',
      '/trends',
      '/sources',
      '/exports',
      '/tokens',
      '/api/tokens',
      '/api/sources',
    ]) {
      const { status, body } = await ask(`${house.url}${path}`, { headers: { cookie } })
      expect(status, path).toBe(200)
      expect(body).not.toContain(token)
    }
  })
})
