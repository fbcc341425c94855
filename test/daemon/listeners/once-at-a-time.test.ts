// Tests how many requests are read from one connection per turn of the event loop.
import { createServer, type RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { listen } from '../../support/after-test.ts'
import { onceAtATime } from '../../../src/daemon/listeners/once-at-a-time.ts'
import { openRaw } from './raw-exchange.ts'

const ask = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

const serve = async (handler: RequestListener): Promise<number> => listen(createServer(handler))

const answer: RequestListener = (_request, response) => void response.end('Heard.')

test('does not parse further requests from a closed connection', async () => {
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
