// What strangers' requests cost: how many of one connection are read, and how many of all are answered, in one turn of the event loop.
import { createServer, type RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { listen } from '../support/after-test.ts'
import { createProvenPeers } from '../../src/lib/proven-peers.ts'
import { onceAtATime } from '../../src/web/once-at-a-time.ts'
import { strangersInTurn } from '../../src/web/strangers-in-turn.ts'
import { openRaw } from './raw-exchange.ts'

const ask = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

const serve = async (handler: RequestListener): Promise<number> => listen(createServer(handler))

const answer: RequestListener = (_request, response) => void response.end('Heard.')

test('does not parse further requests of a closed connection', async () => {
  let parsed = 0
  const limited = onceAtATime()(answer)
  const port = await serve((request, response) => {
    parsed += 1
    limited(request, response)
  })
  const connection = await openRaw(port)
  connection.socket.write(ask.repeat(2_000))
  await connection.closed()
  expect(parsed).toBe(9)
})

test('answers strangers in turn, a few at a time, without delaying senders that have shown the secret', async () => {
  const peers = createProvenPeers()
  const order: string[] = []
  const limited = strangersInTurn(peers)((request, response) => {
    order.push(request.url ?? '')
    response.end('Heard.')
  })
  let waiting = 0
  const all = Promise.withResolvers<undefined>()
  const port = await serve((request, response) => {
    if (request.url === '/honest') peers.proved(request.socket, '192.0.2.1')
    // All of them at once, as they come out of one poll of the sockets on a busy machine.
    void all.promise.then(() => limited(request, response))
    if ((waiting += 1) === 201) all.resolve(undefined)
  })
  const strangers = await Promise.all(Array.from({ length: 40 }, async () => openRaw(port)))
  for (const [at, { socket }] of strangers.entries()) socket.write(`GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(5))
  await expect.poll(() => waiting).toBe(200)
  const honest = await openRaw(port)
  honest.socket.write('GET /honest HTTP/1.1\r\nHost: a\r\n\r\n')
  await honest.until(/Heard/)
  expect(order.indexOf('/honest')).toBe(4)
  await Promise.all(strangers.map(async stranger => stranger.until(/(?:Heard[^]*){5}/)))
  expect(order).toHaveLength(201)
  // One of each connection in the next turn.
  expect(new Set(order.slice(5, 9)).size).toBe(4)
})

test('closes a connection with too many waiting requests', async () => {
  let answered = 0
  const limited = strangersInTurn(createProvenPeers())((request, response) => {
    answered += 1
    answer(request, response)
  })
  const connection = await openRaw(await serve(limited))
  connection.socket.write(ask.repeat(500))
  await connection.closed()
  expect(answered).toBe(4)
})
