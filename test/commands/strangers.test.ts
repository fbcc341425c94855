// Tests every command that sends requests while another service, or none, is at the configured address.
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { runCommand } from '../e2e/run-command.ts'

type Stranger = 'page' | 'words' | 'mail' | 'closing' | 'nobody'
const ports = new Map<Stranger, number>()
const servers: Server[] = []

beforeAll(async () => {
  const talk = (onConnection: (socket: Socket) => void): Server =>
    createServer(socket => onConnection(socket.on('error', () => undefined)))
  const listening: readonly [Stranger, Server][] = [
    [
      'page',
      createHttpServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<!doctype html>Hello')),
    ],
    ['words', createHttpServer((_, answer) => answer.end('It works'))],
    ['mail', talk(socket => socket.end('220 mail.example.com ESMTP\r\n'))],
    ['closing', talk(socket => socket.destroy())],
  ]
  for (const [name, server] of listening) {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    ports.set(name, (server.address() as AddressInfo).port)
    servers.push(server)
  }
  const [free = 0] = await freePorts(1)
  ports.set('nobody', free)
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
const noTokens = /web page answered instead of the token API|the answer is not from the token API/
const noPostgres = /the server closes the connection before a PostgreSQL handshake/

it.each([
  // The platform error does not distinguish a web page from other text, because the configured address is wrong in either case.
  ['hooks', 'page', noPlatform],
  ['hooks', 'words', noPlatform],
  ['tokens', 'page', noTokens],
  ['tokens', 'words', /not a list of tokens.*check PIPESPAN_OBSERVABILITY_URL/],
  ['tokens', 'mail', /did not answer \(its answer is not HTTP/],
  ['tokens', 'closing', /did not answer \(it closes the connection/],
  ['tokens', 'nobody', /did not answer \(connect ECONNREFUSED/],
  ['store', 'words', noPostgres],
  ['store', 'closing', noPostgres],
  ['store', 'nobody', /ECONNREFUSED/],
] as const)('reports the problem if %s connects to the wrong service: %s', async (command, stranger, sentence) => {
  expect(await complaintOf(command, stranger)).toMatch(sentence)
})
