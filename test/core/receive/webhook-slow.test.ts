// Tests that a delivery that arrives too slowly does not tie up resources for long.
import { expect, test } from 'vitest'
import { openRaw } from '../../daemon/listeners/raw-exchange.ts'
import { open, runIngress } from './running-ingress.ts'

test('responds with 408 to a body that is too slow, stores nothing, and frees its share of the byte budget', async () => {
  const { port, ingress, accepted, post } = await runIngress({
    secrets: open,
    maxBody: 1_000,
    limits: { headers: 100, request: 200 },
  })
  const head = 'POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n'
  const halfSent = async (): Promise<number> => {
    const connection = await openRaw(port)
    connection.socket.write(`${head}{`)
    expect(await connection.closed()).toMatch(/^HTTP\/1\.1 408 /)
    return ingress.counts.refused.incomplete
  }
  // On a busy machine the request may time out before its headers have been read. Then no body was read.
  await expect.poll(halfSent).toBeGreaterThan(0)
  expect(accepted).toHaveLength(0)
  await expect.poll(async () => (await post('{}')).status).toBe(202)
})
