// A delivery that comes too slowly holds nothing for long.
import { expect, test } from 'vitest'
import { openRaw } from '../web/raw-exchange.ts'
import { open, runIngress } from './running-ingress.ts'

test('a body that does not come in time: 408, nothing kept, and its share of the budget is free again', async () => {
  const { port, ingress, store, post } = await runIngress({
    secrets: open,
    maxBody: 1_000,
    maxInFlight: 1_000,
    limits: { headers: 100, request: 200 },
  })
  const connection = await openRaw(port)
  connection.socket.write(
    'POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
  )
  expect(await connection.closed()).toMatch(/^HTTP\/1\.1 408 /)
  await expect.poll(() => ingress.counts.refused.incomplete).toBe(1)
  expect((await store.inbox.state()).waiting).toBe(0)
  expect((await post('{}')).status).toBe(202)
})
