// Tests who is let in behind a proxy that logs people in: by the header that the proxy sets, and by the host name of the request.
import { closeAfterTest } from '../support/after-test.ts'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { identifier, type PeopleEntry } from '../../src/console/access/person.ts'
import { ask as askAt, openHouse } from './house.ts'
import {
  header,
  openPeopleHouse,
  operator,
  peopleOf,
  shopOperator,
  shopViewer,
  token,
  viewer,
  type PeopleHouse,
} from './people-house.ts'

let house: PeopleHouse
beforeAll(async () => {
  house = await openPeopleHouse()
})
afterAll(async () => house.close())

describe('access through a proxy that logs people in', () => {
  it('lets in people who match an entry of `admin.people`, and shows their role on every page', async () => {
    for (const [who, role] of [
      [operator, 'operator'],
      [viewer, 'viewer'],
      [shopViewer, 'viewer'],
    ] as const) {
      const answer = await house.ask(who, '/')
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining(`${who}, ${role}`)])
    }
  })

  it('sends each of several people who open the same page their own version of it', async () => {
    const headers = { 'if-none-match': '"none"' }
    const all = [operator, viewer, shopViewer, shopOperator]
    const pages = await Promise.all(all.map(async who => (await house.ask(who, '/pipelines', { headers })).text()))
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
      expect((await house.ask(who, '/')).status, who).toBe(403)
      expect((await house.ask(who, '/api/overview')).status, who).toBe(403)
    }
    const page = await fetch(house.url, { redirect: 'manual' })
    expect([page.status, page.headers.get('location')]).toEqual([303, '/login?next=%2F'])
    expect((await fetch(`${house.url}/api/overview`)).status).toBe(401)
  })

  it('lets in clients with the admin token, even if a header names an unknown person', async () => {
    const authorization = `Bearer ${token}`
    expect((await fetch(`${house.url}/api/overview`, { headers: { authorization } })).status).toBe(200)
    expect((await house.ask('nobody@other.example', '/api/overview', { headers: { authorization } })).status).toBe(200)
    expect(
      (await house.ask('nobody@other.example', '/api/overview', { headers: { authorization: 'Bearer wrong' } })).status,
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
