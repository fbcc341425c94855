// Tests what a listener guarantees regardless of its routes: limits, errors, and an orderly shutdown.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { request } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ConfigError } from '../../../src/lib/fault.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createHealth } from '../../../src/daemon/listeners/health.ts'
import {
  createListener,
  type Listener,
  type ListenerOptions,
  type Routes,
} from '../../../src/daemon/listeners/listener.ts'
import { exchange, openRaw } from './raw-exchange.ts'

const health = createHealth({
  proveWritable: async () => undefined,
  stopping: () => false,
  now: Date.now,
  log: silentLog(),
})

interface Running {
  readonly listener: Listener
  readonly port: number
  readonly url: string
}

async function run(options: Partial<ListenerOptions> = {}, routes?: Routes): Promise<Running> {
  const listener = createListener({
    name: 'test',
    host: '127.0.0.1',
    port: 0,
    trustProxy: false,
    health,
    log: silentLog(),
    ...options,
  })
  if (routes !== undefined) listener.register(routes)
  const { port, url } = await listener.start()
  onTestFinished(() => listener.stop(0))
  return { listener, port, url }
}

const pem = (name: string) => ({
  cert: readFileSync(new URL(`../../fixtures/tls/${name}.cert.pem`, import.meta.url)),
  key: readFileSync(new URL(`../../fixtures/tls/${name}.key.pem`, import.meta.url)),
})

const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${more}\r\n`

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

describe('limits on connections', () => {
  test('closes a connection on which no request is sent', async () => {
    const { port } = await run({ limits: { headers: 100, request: 200 } })
    const connection = await openRaw(port)
    await connection.closed()
  })

  test('closes an idle connection after the keep-alive timeout', async () => {
    const { port } = await run({ limits: { keepAlive: 100 } })
    const connection = await openRaw(port)
    connection.socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await connection.closed()).toContain('Alive')
  })

  test('closes a connection after a few responses if hundreds of requests are pipelined on it', async () => {
    let asked = 0
    const { port } = await run({}, async app => {
      app.get('/count', async () => ({ message: `${(asked += 1)}` }))
    })
    const connection = await openRaw(port)
    connection.socket.write('GET /count HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(500))
    await connection.closed()
    expect(asked).toBeLessThan(100)
    expect(await exchange(port, get('/count'))).toContain(`${asked}`)
  })

  test("grants one address all connections if a proxy is trusted, because all clients then share the proxy's address", async () => {
    const { port } = await run({ trustProxy: true, limits: { connections: 4, connectionsOfAddress: 1 } })
    const all = [await openRaw(port), await openRaw(port), await openRaw(port), await openRaw(port)]
    for (const one of all) {
      one.socket.write(get('/healthz'))
      expect(await one.closed()).toContain('Alive')
    }
  })
})

describe('stopping the listener', () => {
  test('finishes requests in flight, closes idle connections immediately, and accepts no new connections', async () => {
    let finish: (() => void) | undefined
    const slow: Routes = async app => {
      app.get('/slow', async () => {
        await new Promise<void>(resolve => (finish = resolve))
        return { message: 'done' }
      })
    }
    const { listener, port } = await run({}, slow)
    const inFlight = await openRaw(port)
    const idle = await openRaw(port)
    const unused = await openRaw(port)
    idle.socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
    await idle.until(/Alive/)
    inFlight.socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
    await expect.poll(() => finish).toBeDefined()

    const stopped = listener.stop(60_000)
    await idle.closed()
    await unused.closed()
    await expect(openRaw(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    finish?.()
    expect(await inFlight.closed()).toMatch(/^HTTP\/1\.1 200 [^]*connection: close[^]*done/)
    await stopped
  })

  test('closes connections that do not finish in time', async () => {
    let asked = false
    const never: Routes = async app => {
      app.get('/never', () => {
        asked = true
        return new Promise(() => undefined)
      })
    }
    const { listener, port } = await run({}, never)
    const connection = await openRaw(port)
    connection.socket.write(get('/never'))
    await expect.poll(() => asked).toBe(true)
    await listener.stop(50)
    expect(await connection.closed()).toBe('')
  })

  test('can be stopped before it was started', async () => {
    const listener = createListener({
      name: 'test',
      host: '127.0.0.1',
      port: 0,
      trustProxy: false,
      health,
      log: silentLog(),
    })
    await listener.stop(0)
  })
})

describe('listen addresses', () => {
  test('reports an address that is already in use as a configuration error with the reason', async () => {
    const { port } = await run()
    await expect(run({ port })).rejects.toThrow(
      new RegExp(`^The test listener cannot bind 127\\.0\\.0\\.1:${port}: .*EADDRINUSE.* Use another address`),
    )
    await expect(run({ port })).rejects.toBeInstanceOf(ConfigError)
  })

  test('reports an address that this machine does not have as a configuration error', async () => {
    await expect(run({ host: '203.0.113.7' })).rejects.toBeInstanceOf(ConfigError)
  })

  test.skipIf(
    !Object.values(networkInterfaces())
      .flat()
      .some(address => address?.family === 'IPv6'),
  )('listens on both IPv4 and IPv6 for the address ::', async () => {
    const { port, url } = await run({ host: '::' })
    expect(url).toBe(`http://[::]:${port}`)
    for (const host of ['127.0.0.1', '::1']) {
      const connection = await openRaw(port, host)
      connection.socket.write(get('/healthz'))
      expect(await connection.closed()).toContain('Alive')
    }
  })

  test.each(['/ci', 'ci/', '/ci/'])(
    'serves routes under the base path %s, and health checks both under it and at the root',
    async basePath => {
      const { port, url } = await run(
        { basePath },
        async app => void app.get('/page', async () => ({ message: 'page' })),
      )
      expect(url).toBe(`http://127.0.0.1:${port}/ci`)
      const status = async (path: string): Promise<number> =>
        (await request(`http://127.0.0.1:${port}${path}`)).statusCode
      expect(await Promise.all(['/ci/page', '/page', '/healthz', '/ci/healthz', '/ci/readyz'].map(status))).toEqual([
        200, 404, 200, 200, 200,
      ])
    },
  )
})

describe('TLS', () => {
  async function dial(port: number): Promise<TLSSocket> {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    return socket
  }

  test('answers requests over TLS, including malformed ones, and uses a renewed certificate for the next connection', async () => {
    const { listener, port, url } = await run({ tls: pem('first') })
    expect(url).toBe(`https://127.0.0.1:${port}`)
    const socket = await dial(port)
    expect(socket.getPeerCertificate().subject.CN).toBe('first.example')
    socket.write('nonsense\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /)

    listener.renewTls(pem('second'))
    const next = await dial(port)
    expect(next.getPeerCertificate().subject.CN).toBe('second.example')
    expect(() => listener.renewTls({ ...pem('first'), key: pem('second').key })).toThrow(ConfigError)
    next.write(get('/healthz'))
    expect(String(await once(next, 'data'))).toContain('Alive')
  })

  test('reports an unusable certificate as a configuration error', () => {
    const tls = { cert: 'nonsense', key: 'nonsense' }
    expect(() =>
      createListener({ name: 'test', host: '::1', port: 0, trustProxy: false, health, log: silentLog(), tls }),
    ).toThrow(/^The TLS certificate and key cannot be used: .* Provide a PEM certificate chain/)
  })
})
