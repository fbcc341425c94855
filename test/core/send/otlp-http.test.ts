import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Backend, ok } from './backend.ts'
import { createOtlpHttp, type OtlpHttp } from '../../../src/core/send/otlp-http.ts'
import { endpoint as compressed, nowhere } from './bench.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { version } from '../../../src/lib/version.ts'
import type { Answer } from '../../../src/core/send/verdict.ts'
import type { Endpoint, Proxies } from '../../../src/core/send/destination.ts'

const never = new AbortController().signal
const pem = (name: string): string => fileURLToPath(new URL(`tls/${name}`, import.meta.url))
const opened: OtlpHttp[] = []

/** An endpoint for these tests. The posted bodies are empty, so they are not compressed. */
function endpoint(url: string, options: Partial<Endpoint> = {}): Endpoint {
  return compressed(url, { compression: 'none', ...options })
}

function http(settings: Endpoint, proxies?: Proxies): OtlpHttp {
  const made = createOtlpHttp(settings, proxies, 4)
  opened.push(made)
  return made
}

async function post(settings: Endpoint, token?: string, proxies?: Proxies): Promise<Answer> {
  return http(settings, proxies).post(new Uint8Array(), token === undefined ? undefined : new Secret(token), never)
}

/**
 * Returns the result of a round with a short deadline. On a slow machine, the deadline may pass before the action under test has begun. Then the
 * round is repeated with a longer deadline.
 */
async function withinDeadline<T>(round: (timeoutMs: number) => Promise<T | undefined>): Promise<T> {
  for (const timeoutMs of [200, 2_000, 20_000]) {
    const found = await round(timeoutMs)
    if (found !== undefined) return found
  }
  throw new Error('nothing began, even within 20 s')
}

describe('a single OTLP POST request', () => {
  let backend: Backend
  const plain = (options: Partial<Endpoint> = {}): Endpoint => endpoint(`${backend.url}/v1/traces`, options)

  beforeEach(async () => {
    backend = await Backend.start()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(async made => made.close()))
    await backend.close()
  })

  it('sends an OTLP request with the protobuf content type, its length, a user agent and the configured headers', async () => {
    const headers = { 'X-Scope-OrgID': new Secret('acme'), authorization: new Secret('Basic abc') }
    await post(plain({ url: `${backend.url}/otlp/v1/traces?env=ci`, headers }))
    const [request] = backend.requests
    expect(request?.path).toBe('/otlp/v1/traces?env=ci')
    expect(request?.method).toBe('POST')
    expect(request?.headers).toMatchObject({
      'content-type': 'application/x-protobuf',
      'content-length': '0',
      'user-agent': `pipespan/${version}`,
      'x-scope-orgid': 'acme',
      authorization: 'Basic abc',
    })
    expect(request?.headers).not.toHaveProperty('transfer-encoding')
    expect(request?.headers).not.toHaveProperty('content-encoding')
  })

  it('replaces a configured Authorization header with the bearer token', async () => {
    await post(plain({ headers: { Authorization: new Secret('Basic abc') } }), 'tok-1')
    expect(backend.requests[0]?.headers.authorization).toBe('Bearer tok-1')
  })

  it("does not follow the backend's redirects", async () => {
    backend.behave = () => ({ status: 307, headers: { location: `${backend.url}/elsewhere` } })
    expect(await post(plain())).toMatchObject({ kind: 'answered', status: 307 })
    expect(backend.requests).toHaveLength(1)
  })

  it('ends an OTLP request at its deadline if the response arrives byte by byte, with an unknown outcome', async () => {
    backend.behave = () => 'drip headers'
    const { answer, timeoutMs } = await withinDeadline(async timeoutMs => {
      const answer = await post(plain({ timeoutMs }))
      return backend.requests.length === 0 ? undefined : { answer, timeoutMs }
    })
    expect(answer).toEqual({ kind: 'failed', reason: `no response within ${timeoutMs / 1000} s`, outcomeUnknown: true })
  })

  it('uses the status of a response even if its body never ends', async () => {
    backend.behave = () => 'drip body'
    const answer = await withinDeadline(async timeoutMs => {
      const answer = await post(plain({ timeoutMs }))
      return answer.kind === 'answered' ? answer : undefined
    })
    expect(answer.status).toBe(200)
  })

  it('reads at most 64 KiB of a response', async () => {
    backend.behave = () => ({ status: 500, body: 'x'.repeat(5_000_000) })
    const answer = await post(plain())
    expect(answer).toMatchObject({ kind: 'answered', status: 500 })
    if (answer.kind === 'answered') expect(answer.body.length).toBeLessThanOrEqual(64 * 1024)
  })

  it('distinguishes a refused connection, on which nothing was sent, from a broken one, on which data may have been sent', async () => {
    backend.behave = () => 'cut'
    expect(await post(plain())).toMatchObject({ kind: 'failed', outcomeUnknown: true })
    const refused = await post(endpoint(`${nowhere}/v1/traces`))
    expect(refused).toMatchObject({ kind: 'failed', outcomeUnknown: false })
    expect(refused.kind === 'failed' && refused.reason).toMatch(/ECONNREFUSED/)
  })

  it('ends an OTLP request at once when the client is stopped', async () => {
    backend.behave = () => 'hang'
    const stop = new AbortController()
    const answer = http(plain()).post(new Uint8Array(), undefined, stop.signal)
    await backend.until(({ requests }) => requests.length === 1)
    stop.abort()
    expect(await answer).toMatchObject({ kind: 'failed', outcomeUnknown: true })
  })

  it('does not send an OTLP request whose deadline passed while it was waiting for a connection', async () => {
    const { answers, sent } = await withinDeadline(async timeoutMs => {
      const before = backend.requests.length
      const one = createOtlpHttp(plain({ timeoutMs }), undefined, 1)
      opened.push(one)
      backend.behave = () => {
        // The process is blocked until the deadlines of both requests have passed. Otherwise the second request would still have time left when the
        // connection of the first one becomes free.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs + 100)
        return 'hang'
      }
      const answers = await Promise.all([1, 2].map(() => one.post(new Uint8Array(), undefined, never)))
      if (backend.requests.length === before) return undefined
      backend.behave = () => ok
      const next = await one.post(new Uint8Array(), undefined, never)
      return next.kind === 'answered' ? { answers, sent: backend.requests.length - before } : undefined
    })
    expect(answers.map(answer => answer.kind === 'failed' && answer.outcomeUnknown)).toEqual([true, false])
    expect(sent).toBe(2)
  })

  it('reports what is wrong with a TLS file, and how to fix it', () => {
    const tls = { caFile: '/nowhere/ca.pem' }
    expect(() => createOtlpHttp(plain({ tls }), undefined, 1)).toThrow(
      'The OTLP CA certificate /nowhere/ca.pem cannot be read (ENOENT). Use a PEM file that this process can read.',
    )
  })
})

describe('TLS connections to a backend', () => {
  let backend: Backend
  const files = { caFile: pem('ca.crt'), certFile: pem('client.crt'), keyFile: pem('client.key') }

  beforeEach(async () => {
    backend = await Backend.start({
      ...{ cert: readFileSync(pem('server.crt')), key: readFileSync(pem('server.key')) },
      ...{ ca: readFileSync(pem('ca.crt')), requestCert: true, rejectUnauthorized: true },
    })
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(async made => made.close()))
    await backend.close()
  })

  it('trusts the configured CA and sends the client certificate', async () => {
    expect(await post(endpoint(backend.url, { tls: files }))).toMatchObject({ kind: 'answered', status: 200 })
  })

  it('rejects a TLS connection if the CA is unknown', async () => {
    const answer = await post(endpoint(backend.url))
    expect(answer).toMatchObject({ kind: 'failed', outcomeUnknown: false })
    expect(answer.kind === 'failed' && answer.reason).toMatch(/certificate/)
  })

  it('opens a TLS connection through a proxy', async () => {
    const proxy = await Proxy.start()
    const proxies = { https: `http://user:word@127.0.0.1:${proxy.port}`, no: 'example.com' }
    const settings = endpoint(backend.url.replace('127.0.0.1', 'localhost'), { tls: files })
    expect(await post(settings, undefined, proxies)).toMatchObject({ kind: 'answered', status: 200 })
    expect(proxy.seen).toEqual([`CONNECT localhost:${backend.port} Basic ${btoa('user:word')}`])
    await Promise.all(opened.splice(0).map(async made => made.close()))
    await proxy.close()
  })
})

describe('proxies for OTLP requests', () => {
  let backend: Backend
  let proxy: Proxy

  beforeEach(async () => {
    backend = await Backend.start()
    proxy = await Proxy.start()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(async made => made.close()))
    await backend.close()
    await proxy.close()
  })

  it('forwards unencrypted requests through a proxy', async () => {
    const settings = endpoint(`${backend.url}/v1/traces`)
    const answer = await post(settings, undefined, { http: `http://127.0.0.1:${proxy.port}` })
    expect(answer).toMatchObject({ kind: 'answered', status: 200 })
    expect(proxy.seen).toEqual([`POST ${settings.url}`])
  })

  it('bypasses the proxy for hosts in NO_PROXY, and if the proxy is configured for the other scheme (HTTP or HTTPS)', async () => {
    const settings = endpoint(`${backend.url}/v1/traces`)
    const address = `http://127.0.0.1:${proxy.port}`
    expect(await post(settings, undefined, { http: address, no: '127.0.0.1' })).toMatchObject({ status: 200 })
    expect(await post(settings, undefined, { https: address })).toMatchObject({ status: 200 })
    expect(proxy.seen).toEqual([])
  })

  it('configures proxies only through the options, never through the environment', async () => {
    const before = process.env.HTTP_PROXY
    process.env.HTTP_PROXY = `http://127.0.0.1:${proxy.port}`
    try {
      expect(await post(endpoint(`${backend.url}/v1/traces`))).toMatchObject({ status: 200 })
    } finally {
      if (before === undefined) delete process.env.HTTP_PROXY
      else process.env.HTTP_PROXY = before
    }
    expect(proxy.seen).toEqual([])
  })
})

/** A proxy that forwards absolute-form requests and tunnels CONNECT. */
class Proxy {
  readonly seen: string[] = []
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      this.seen.push(`${request.method} ${request.url}`)
      request.resume().on('end', () => response.end())
    })
    this.#server.on('connect', (request, client) => {
      this.seen.push(`CONNECT ${request.url} ${request.headers['proxy-authorization']}`)
      const [host, port] = (request.url ?? '').split(':')
      const upstream = connect(Number(port), host === 'localhost' ? '127.0.0.1' : host, () => {
        client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
        upstream.pipe(client).pipe(upstream)
      })
      for (const end of [upstream, client]) end.on('error', () => [upstream, client].forEach(other => other.destroy()))
    })
  }

  static async start(): Promise<Proxy> {
    const proxy = new Proxy()
    await new Promise<void>(resolve => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    await new Promise<void>(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }
}
