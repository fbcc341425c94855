// Tests every command that sends requests while another service, or none, is at the configured address.
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { runCommand } from '../e2e/run-command.ts'

type Stranger = 'a web page' | 'plain text' | 'a mail server' | 'a closed connection' | 'nothing'
const ports = new Map<Stranger, number>()
const servers: Server[] = []

beforeAll(async () => {
  const talk = (onConnection: (socket: Socket) => void): Server =>
    createServer(socket => onConnection(socket.on('error', () => undefined)))
  const listening: readonly [Stranger, Server][] = [
    [
      'a web page',
      createHttpServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<!doctype html>Hello')),
    ],
    ['plain text', createHttpServer((_, answer) => answer.end('It works'))],
    ['a mail server', talk(socket => socket.end('220 mail.example.com ESMTP\r\n'))],
    ['a closed connection', talk(socket => socket.destroy())],
  ]
  for (const [name, server] of listening) {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    ports.set(name, (server.address() as AddressInfo).port)
    servers.push(server)
  }
  const [free = 0] = await freePorts(1)
  ports.set('nothing', free)
})
afterAll(() => {
  for (const server of servers) server.close()
})

const commands = {
  hooks: (address: string) => ({
    args: ['hooks', 'ensure', '--project', '1', '--url', 'https://pipespan.example.com/webhooks'],
    env: { PIPESPAN_PLATFORM_URL: `http://${address}`, PIPESPAN_PLATFORM_TOKEN: 'a-token' },
  }),
  tokens: (address: string) => ({
    args: ['tokens', 'list'],
    env: { PIPESPAN_OBSERVABILITY_URL: `http://${address}`, PIPESPAN_OBSERVABILITY_API_KEY: 'a-key' },
  }),
  store: (address: string) => ({ args: ['migrate'], env: { PIPESPAN_STORE_URL: `postgres://u@${address}/db` } }),
}

async function complaintOf(command: keyof typeof commands, stranger: Stranger): Promise<string> {
  const { args, env } = commands[command](`127.0.0.1:${ports.get(stranger)}`)
  const everywhere = { PIPESPAN_WEBHOOK_TOKEN: 'x', PIPESPAN_LOG_LEVEL: 'silent' }
  const { code, stderr } = await runCommand(args, { ...everywhere, ...env })
  expect(code).toBe(1)
  return stderr
}

const noPlatform = /web page answered instead of the platform's API|response does not come from the platform's API/
const noTokens = /web page answered instead of the token API|the response is not from the token API/
const noPostgres = /the server closes the connection before a PostgreSQL handshake/

it.each([
  // The platform's client reports the same error for a web page and for plain text, because the configured address is wrong in either case.
  ['hooks', 'a web page', noPlatform],
  ['hooks', 'plain text', noPlatform],
  ['tokens', 'a web page', noTokens],
  ['tokens', 'plain text', /not a list of tokens.*check PIPESPAN_OBSERVABILITY_URL/],
  ['tokens', 'a mail server', /did not answer \(its response is not HTTP/],
  ['tokens', 'a closed connection', /did not answer \(it closes the connection/],
  ['tokens', 'nothing', /did not answer \(connect ECONNREFUSED/],
  ['store', 'plain text', noPostgres],
  ['store', 'a closed connection', noPostgres],
  ['store', 'nothing', /ECONNREFUSED/],
] as const)(
  'reports the problem if the command `%s` finds %s at the configured address',
  async (command, stranger, sentence) => {
    expect(await complaintOf(command, stranger)).toMatch(sentence)
  },
)
