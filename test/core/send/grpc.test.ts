// Tests endpoints that use gRPC or a protocol other than HTTP: which error is reported, and that nothing is treated as delivered.
import { createServer as createHttp2, createSecureServer } from 'node:http2'
import { createServer, type Socket } from 'node:net'
import { readFileSync } from 'node:fs'
import { createServer as createTls } from 'node:tls'
import { expect, it } from 'vitest'
import { checkDestinations } from '../../../src/commands/doctor/destinations.ts'
import { createOtlpHttp } from '../../../src/core/send/otlp-http.ts'
import { verdictOf, type Verdict } from '../../../src/core/send/verdict.ts'
import { closeAfterTest, listen } from '../../support/after-test.ts'
import { endpoint } from './bench.ts'

const file = (name: string): string => `${import.meta.dirname}/tls/${name}`
const tls = { cert: readFileSync(file('server.crt')), key: readFileSync(file('server.key')) }
const sentence = 'this is OTLP/gRPC; OTLP/HTTP usually listens at 4318'

/** Encodes an HTTP/2 frame on stream 0. */
function frame(type: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0, 0, payload.length, type, 0, 0, 0, 0, 0]), payload])
}
const settings = frame(4, Buffer.from([0, 5, 0, 0, 0x40, 0]))
const goAway = frame(7, Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]), Buffer.from('Unexpected HTTP/1.x')]))

function talking(onRequest: (socket: Socket) => void, greeting?: Buffer) {
  return createServer(socket => {
    socket.on('error', () => undefined)
    if (greeting !== undefined) socket.write(greeting)
    socket.once('data', () => onRequest(socket))
  })
}

async function verdictAt(url: string): Promise<Verdict> {
  const http = closeAfterTest(createOtlpHttp(endpoint(url, { tls: { caFile: file('ca.crt') } }), undefined, 1))
  return verdictOf(await http.post(Buffer.from([10]), undefined, new AbortController().signal), 'traces', Date.now())
}

it.each([
  ['an HTTP/2 server', () => createHttp2(), 'http'],
  ['an HTTP/2 server with TLS', () => createSecureServer(tls), 'https'],
  ['a server that first sends its settings', () => talking(socket => socket.end(), settings), 'http'],
  [
    'a server that first sends empty settings',
    () => talking(socket => socket.end(), frame(4, Buffer.alloc(0))),
    'http',
  ],
  ['a server that responds with GOAWAY', () => talking(socket => socket.end(goAway)), 'http'],
  ['a server that sends its settings, then GOAWAY', () => talking(socket => socket.end(goAway), settings), 'http'],
  [
    'an endpoint that responds as an HTTP/2 client',
    () => talking(socket => socket.end('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')),
    'http',
  ],
  ['a TLS server that negotiates no protocol', () => createTls(tls, socket => socket.end(settings)), 'https'],
] as const)('reports that the endpoint is OTLP/gRPC and that nothing was received: %s', async (_, server, scheme) => {
  const url = `${scheme}://127.0.0.1:${await listen(server())}/v1/traces`
  expect(await verdictAt(url)).toEqual({ as: 'later', kind: 'other', message: sentence, outcomeUnknown: false })
})

it('does not mistake every unknown endpoint for a gRPC server', async () => {
  const mail = `http://127.0.0.1:${await listen(talking(socket => socket.end(), Buffer.from('220 mail ESMTP\r\n')))}`
  expect(await verdictAt(mail)).toMatchObject({
    kind: 'unreachable',
    message: expect.stringMatching(/^its response is not HTTP/) as string,
  })
  const closing = `http://127.0.0.1:${await listen(talking(socket => socket.end()))}`
  expect(await verdictAt(closing)).toMatchObject({ kind: 'unreachable', outcomeUnknown: true })
})

it('suspects gRPC because of the port if the endpoint does not use HTTP, and keeps exports that the endpoint may have received', () => {
  const reason = 'it closes the connection: other side closed (UND_ERR_SOCKET)'
  const answer = { kind: 'failed', reason, outcomeUnknown: true, grpcBy: 'port' } as const
  expect(verdictOf(answer, 'traces', 0)).toEqual({
    ...{ as: 'later', kind: 'other', outcomeUnknown: true },
    message: `${reason}; the port is that of OTLP/gRPC, and OTLP/HTTP usually listens at 4318`,
  })
  expect(verdictOf(answer, 'notifications', 0)).toMatchObject({ kind: 'unreachable', message: reason })
})

it('reports a gRPC endpoint in `pipespan doctor`, with the port to use instead', async () => {
  const url = `http://127.0.0.1:${await listen(createHttp2())}/v1/traces`
  const [finding] = await checkDestinations([{ name: 'default', signals: { traces: endpoint(url) } }], false)
  expect(finding).toMatchObject({
    level: 'failure',
    what: `"default" for traces (${url}) is not an OTLP/HTTP receiver: ${sentence}.`,
    remedy: expect.stringContaining('4318') as string,
  })
})
