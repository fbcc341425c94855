// Tests what the doctor reports about the daemon: whether it responds at its address, and whether the webhook secrets match.
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import path from 'node:path'
import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { doctorWorld, signingToken, warning, type Reported } from './doctor-world.ts'
import { listen } from '../support/after-test.ts'

const tls = path.join(import.meta.dirname, '..', 'fixtures', 'tls')
const world = doctorWorld()

it.each<readonly [string, (server: Server) => void, RegExp]>([
  [
    'a web page',
    server =>
      server.on('request', (_, answer: ServerResponse) =>
        answer.setHeader('content-type', 'text/html').end('<!-- x --><html>'),
      ),
    /200 with a web page/,
  ],
  [
    'a web page that claims to be JSON',
    server =>
      server.on('request', (_, answer: ServerResponse) =>
        answer.setHeader('content-type', 'application/json').end('<div>'),
      ),
    /200 with a web page/,
  ],
  [
    'a 404 without a body',
    server => server.on('request', (_, answer: ServerResponse) => answer.writeHead(404).end()),
    /404 with an empty body/,
  ],
  [
    'a health check of its own',
    server => server.on('request', (_, answer: ServerResponse) => answer.end('{"status":"ok"}')),
    /200 with JSON of another shape/,
  ],
  [
    'another protocol',
    server => server.on('connection', (socket: Socket) => socket.end('+PONG\r\n')),
    /its response is not HTTP/,
  ],
  [
    'a closed connection',
    server => server.on('connection', (socket: Socket) => socket.end()),
    /it closes the connection/,
  ],
])("detects another service at the daemon's address that responds with %s", async (_, behave, what) => {
  const server = createHttpServer()
  behave(server)
  const posted: string[] = []
  server.on('request', ({ method }: IncomingMessage) => posted.push(method ?? ''))
  world.env.PIPESPAN_LISTEN = `127.0.0.1:${await listen(server)}`
  const { code, reported } = await world.examined()
  expect(code).toBe(2)
  expect(reported).toMatchObject([{ check: 'daemon', level: 'failure' }])
  expect(reported[0]?.what).toMatch(/^Something listens at http:\/\/127\.0\.0\.1:\d+, but it is not Pipespan: /)
  expect(reported[0]?.what).toMatch(what)
  // The webhook secret is not sent to another service.
  expect(posted).not.toContain('POST')
})

it('detects a service without TLS at an HTTPS address', async () => {
  const server = createHttpServer((_, answer) => answer.end('hello'))
  world.env.PIPESPAN_LISTEN = `127.0.0.1:${await listen(server)}`
  world.env.PIPESPAN_TLS_CERT_FILE = path.join(tls, 'localhost.crt')
  world.env.PIPESPAN_TLS_KEY_FILE = path.join(tls, 'localhost.key')
  const { reported } = await world.examined()
  expect(reported).toMatchObject([
    { check: 'daemon', level: 'failure', what: expect.stringMatching(/it does not speak HTTPS\.$/) as string },
  ])
})

/** Sends deliveries with a wrong webhook secret. */
async function sendWrong(count: number): Promise<void> {
  const wrong = { 'x-gitlab-event': 'Pipeline Hook', 'x-gitlab-token': 'the-platforms-secret' }
  const headers = { 'content-type': 'application/json', ...wrong }
  for (let sent = 0; sent < count; sent += 1)
    expect((await fetch(`${world.daemon.url}/webhooks`, { method: 'POST', headers, body: '{}' })).status).toBe(401)
}

it("reports, after five deliveries with a wrong webhook secret, that the platform's secret differs from the daemon's", async () => {
  world.restartAfterTest()
  await world.restartDaemon()
  await sendWrong(4)
  expect(await world.examined()).toEqual({ code: 0, reported: [] })
  await sendWrong(1)
  await world.finds(warning('webhooks', expect.stringContaining('to the value of PIPESPAN_WEBHOOK_TOKEN') as string))
})

it('does not send the admin token to a service other than the daemon', async () => {
  const seen: IncomingMessage['headers'][] = []
  const server = createHttpServer(({ headers }, answer) => {
    seen.push(headers)
    answer.end('hello')
  })
  world.env.PIPESPAN_ADMIN_LISTEN = `127.0.0.1:${await listen(server)}`
  world.env.PIPESPAN_ADMIN_TOKEN = 'an-admin-token-of-tests'
  await world.examined()
  expect(seen).not.toEqual([])
  expect(JSON.stringify(seen)).not.toContain('an-admin-token-of-tests')
})

it('reports a daemon that verifies signatures but has no token to identify the platform', async () => {
  world.restartAfterTest()
  delete world.env.PIPESPAN_WEBHOOK_TOKEN
  world.env.PIPESPAN_WEBHOOK_SIGNING_TOKEN = signingToken
  await world.restartDaemon(world.env)
  const { findings } = JSON.parse((await world.run('--json')).text) as { findings: Reported[] }
  expect(findings.filter(({ check }) => check === 'daemon')).toEqual([
    {
      check: 'daemon',
      level: 'fine',
      what: `The daemon at ${world.daemon.url} is ready and accepts the webhook secret.`,
      remedy: expect.stringContaining('Set PIPESPAN_WEBHOOK_TOKEN too') as string,
    },
  ])
})
