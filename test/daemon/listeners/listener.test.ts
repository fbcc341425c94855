// Tests what a listener guarantees regardless of its routes: limits, an orderly shutdown, addresses and TLS.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../../src/lib/fault.ts'
import { createListener, type Routes } from '../../../src/daemon/listeners/listener.ts'
import { exchange, openRaw } from './raw-exchange.ts'
import { get, local, run } from './running-listener.ts'

const pem = (name: string) => ({
  cert: readFileSync(new URL(`../../fixtures/tls/${name}.cert.pem`, import.meta.url)),
  key: readFileSync(new URL(`../../fixtures/tls/${name}.key.pem`, import.meta.url)),
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
    await createListener(local).stop(0)
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
    expect(() => createListener({ ...local, host: '::1', tls })).toThrow(
      /^The TLS certificate and key cannot be used: .* Provide a PEM certificate chain/,
    )
  })
})
