// Tests the responses that come from no route: unknown paths, wrong methods, errors, and requests that are not valid HTTP.
import { pino } from 'pino'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { exchange, openRaw } from './raw-exchange.ts'
import { get, run } from './running-listener.ts'
import type { Routes } from '../../../src/daemon/listeners/listener.ts'

describe('responses without a route', () => {
  const routes: Routes = async app => {
    app.get('/runs/:id', async () => ({ message: 'a run' }))
    app.delete('/runs/:id', async () => ({ message: 'gone' }))
    app.get('/files/*', async () => ({ message: 'a file' }))
    app.get('/boom', async () => {
      throw new Error('the password is swordfish')
    })
  }

  test('responds to an unknown path with 404, whatever the method, the body and its type', async () => {
    const { url } = await run({}, routes)
    for (const path of ['/', '/runs', '/runs/1/2', '/runs/', '/webhooks?x=1', '/__proto__', '/..%2f..%2fetc']) {
      const answer = await request(url + path, {
        method: 'POST',
        body: '{broken',
        headers: { 'content-type': 'application/json' },
      })
      expect(answer.statusCode).toBe(404)
      expect(await answer.body.json()).toEqual({ message: 'Not found.' })
    }
  })

  test.each([
    ['POST', '/healthz', 'GET, HEAD'],
    ['PUT', '/runs/7', 'DELETE, GET, HEAD'],
    ['PUT', '/runs/7/?x=/', 'DELETE, GET, HEAD'],
    ['POST', '/files/a/b', 'GET, HEAD'],
    ['OPTIONS', '/readyz', 'GET, HEAD'],
  ])('responds to a wrong method (%s %s) with 405 and the allowed methods', async (method, path, allow) => {
    const { port } = await run({}, routes)
    const answer = await exchange(port, get(path).replace('GET', method))
    expect(answer).toMatch(/^HTTP\/1\.1 405 /)
    expect(answer).toContain(`\r\nallow: ${allow}\r\n`)
  })

  test('waits no longer than its time limit for a huge body to an unknown path', async () => {
    const { port } = await run({ limits: { headers: 100, request: 200 } })
    const connection = await openRaw(port)
    connection.socket.write('POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 25000000\r\n\r\n')
    expect(await connection.closed()).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('ignores the body of a request that was already rejected, even if its sender disconnects immediately', async () => {
    let asked = 0
    let acted = 0
    let closed = 0
    const guarded: Routes = async app => {
      app.addContentTypeParser('*', (_request, _payload, done) => done(null))
      app.addHook('onRequest', async (request, reply) => {
        asked += 1
        request.raw.socket.once('close', () => (closed += 1))
        return reply.code(401).send({ message: 'No.' })
      })
      app.post('/act', async () => {
        acted += 1
        return { message: 'done' }
      })
    }
    const { port } = await run({}, guarded)
    for (let at = 0; at < 20; at += 1) {
      const { socket } = await openRaw(port)
      socket.write('POST /act HTTP/1.1\r\nHost: a\r\nContent-Type: a/b\r\nContent-Length: 25000000\r\n\r\n')
      await expect.poll(() => asked).toBe(at + 1)
      socket.resetAndDestroy()
    }
    await expect.poll(() => closed).toBe(20)
    // The daemon handles a closed connection within one turn of the event loop. A separate request arrives many turns later, when the closed
    // connections have been handled.
    expect(await exchange(port, get('/healthz'))).toContain('Alive')
    expect(acted).toBe(0)
  })

  test("responds with 500 without the error's details if a route throws, and logs the error with the request ID", async () => {
    const lines: string[] = []
    const { url } = await run({ log: pino({ level: 'error' }, { write: line => lines.push(line) }) }, routes)
    const answer = await request(`${url}/boom`)
    expect(answer.statusCode).toBe(500)
    expect(await answer.body.json()).toEqual({ message: 'Internal error; see the log.' })
    expect(JSON.parse(lines[0]!)).toMatchObject({ route: '/boom', requestId: expect.any(String) as string })
    expect(lines.join()).toContain('swordfish')
  })

  test.each([
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a TLS greeting to a plain port', '\x16\x03\x01\x02\x00\x01\x00', 400],
    ['an unknown method', 'BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['an expectation', 'POST /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: cake\r\n\r\n', 417],
    ['a header without a colon', 'GET /healthz HTTP/1.1\r\nHost a\r\n\r\n', 400],
    ['two lengths', 'POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400],
    [
      'a length and chunks',
      'POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a bad escape in the path', get('/runs/%zz'), 400],
    ['20 kB of headers', get('/healthz', `X-Long: ${'x'.repeat(20_000)}\r\n`), 431],
  ])('rejects %s with a JSON message', async (_name, text, status) => {
    const { port } = await run({}, routes)
    const answer = await exchange(port, text)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer).toMatch(/\r\n\r\n\{"message":"[^"]+"\}$/)
    expect(answer).toMatch(/connection: close/i)
  })

  test('closes the connection after a malformed request that follows a valid one, without altering the valid response', async () => {
    const { port } = await run()
    const connection = await openRaw(port)
    connection.socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
    await connection.until(/Alive/)
    connection.socket.write('nonsense\r\n\r\n')
    expect((await connection.closed()).match(/HTTP\/1\.1/g)).toHaveLength(1)
  })

  test('does not reveal the server software in any response', async () => {
    const { port } = await run({}, routes)
    for (const text of [get('/healthz'), get('/nowhere'), get('/boom'), 'nonsense\r\n\r\n']) {
      expect(await exchange(port, text)).not.toMatch(/^(server|x-powered-by|via):|fastify|node|pipespan/im)
    }
  })
})
