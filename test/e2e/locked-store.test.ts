// Tests the shipped daemon while another process, such as a shell that an operator left open, has SQLite's write lock on its store.
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver, patient } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { Daemon } from './daemon.ts'

it('answers health checks and rejects webhooks while another process locks the database, and recovers afterwards', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const daemon = await Daemon.start({ ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '0s' })
  const other = closeAfterTest(new DatabaseSync(daemon.storeFile, { timeout: 10_000 }))
  const post = async (id: number): Promise<[number, string | null]> => {
    const headers = { 'x-service-event': 'Pipeline Hook', 'idempotency-key': `of ${id}` }
    const { status, headers: answered } = await daemon.post(pipelineEvent({ id }), headers)
    return [status, answered.get('retry-after')]
  }
  other.exec('BEGIN IMMEDIATE')
  expect(await post(1)).toEqual([503, '30'])
  await daemon.process.logged(line => JSON.stringify(line).includes('database is locked'))
  const since = performance.now()
  // If a transaction waited for SQLite's lock, each of the following requests would take 10 s.
  for (let count = 0; count < 20; count += 1) {
    for (const url of [daemon.url, daemon.adminUrl]) expect((await fetch(`${url}/healthz`)).status).toBe(200)
  }
  expect(await post(2)).toEqual([503, '30'])
  expect(performance.now() - since).toBeLessThan(9_000)
  // The daemon caches the result of `/readyz` for some seconds.
  const ready = async (): Promise<number> => (await fetch(`${daemon.adminUrl}/readyz`)).status
  await expect.poll(ready).toBe(503)
  other.exec('ROLLBACK')
  for (const id of [1, 2]) expect(await post(id)).toEqual([202, null])
  await receiver.until(spans => new Set(spans.map(({ traceId }) => traceId)).size === 2)
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  expect(new Set(receiver.spans.map(({ spanId }) => spanId)).size).toBe(receiver.spans.length)
})
