// Tests whether the server may have received a failed request: if that is wrong, a token may be created twice.
import { createServer, type Socket } from 'node:net'
import { Agent } from 'undici'
import { expect, it } from 'vitest'
import { closeAfterTest, listen } from '../../support/after-test.ts'
import { send } from '../../../src/features/tokens/request.ts'

it('reports that a request was not sent if no connection was made in time', async () => {
  const open = new Set<Socket>()
  // The server accepts connections and never answers the first message of TLS.
  const server = createServer(socket => void open.add(socket))
  const url = new URL(`https://127.0.0.1:${await listen(server)}/tokens`)
  const dispatcher = closeAfterTest(new Agent({ connect: { timeout: 100 } }))
  const answer = await send({ method: 'POST', url, headers: {}, timeoutMs: 600_000, dispatcher })
  expect(answer).toMatchObject({ kind: 'failed', sent: false, certificate: false })
  for (const socket of open) socket.destroy()
})
