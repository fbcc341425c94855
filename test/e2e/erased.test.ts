// Pipeline variables of deliveries that come into the store another way than by the ingress: fetched anew from the platform, or restored with a
// backup. While the daemon runs, no file of the store holds one any more once its delivery is taken in.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { storedBytes } from '../support/stored-bytes.ts'
import { Daemon } from './daemon.ts'

const variable = 'planted-value-of-a-variable'
const fixture = readFileSync(
  path.join(import.meta.dirname, '..', 'fixtures', 'webhooks', 'pipeline-failed.json'),
  'utf8',
)

function body(id: number): Buffer {
  const payload = JSON.parse(fixture.replaceAll('23904', String(id))) as { object_attributes: object }
  const variables = [{ key: 'DEPLOY_PASSWORD', value: variable }]
  return Buffer.from(JSON.stringify({ ...payload, object_attributes: { ...payload.object_attributes, variables } }))
}

it('erases deliveries that were restored from a backup from every file of the store soon after they are processed', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  await daemon.stop()
  // As a backup has it: what waited in the log of deliveries is in the table.
  const store = new DatabaseSync(daemon.storeFile)
  const insert = store.prepare(
    `INSERT INTO inbox (event, source, received_at, body) VALUES ('Pipeline Hook', 'webhook', ?, ?)`,
  )
  for (let id = 1; id <= 20; id += 1) insert.run(Date.now(), body(id))
  store.close()
  expect(holdsVariable(daemon)).toBe(true)
  await daemon.restart()
  await receiver.until(spans => new Set(spans.map(({ traceId }) => traceId)).size === 20)
  await expect.poll(() => holdsVariable(daemon)).toBe(false)
  expect(daemon.process.child.exitCode).toBe(null)
})

function holdsVariable({ storeFile }: Daemon): boolean {
  return storedBytes(path.dirname(storeFile)).includes(variable)
}
