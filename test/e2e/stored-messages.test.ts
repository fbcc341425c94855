// Tests messages that an earlier process stored, possibly of another version or with another configuration. They are sent byte for byte as stored.
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { listen } from '../support/after-test.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { Daemon } from './daemon.ts'

/** A protobuf field that no version knows yet: number 1000, with three bytes. */
const ofTomorrow = Buffer.from([0xc2, 0x3e, 3, 1, 2, 3])

/** Starts a backend that responds to each request with `status`, and stores the decompressed requests by path. */
async function startBackend(): Promise<{
  status: number
  readonly bodies: Map<string, Buffer[]>
  readonly url: string
}> {
  const backend = { status: 503, bodies: new Map<string, Buffer[]>(), url: '' }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const path = request.url ?? ''
      backend.bodies.set(path, [...(backend.bodies.get(path) ?? []), gunzipSync(Buffer.concat(chunks))])
      response.writeHead(backend.status, { 'content-type': 'application/x-protobuf' }).end()
    })
  })
  backend.url = `http://127.0.0.1:${await listen(server)}`
  return backend
}

it('sends stored messages byte for byte, whatever version and configuration of Pipespan stored them', async () => {
  const backend = await startBackend()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: backend.url,
    PIPESPAN_SETTLE: '1ms',
    SERVICE_OBSERVABILITY_EXPORT: 'traces,logs',
  }
  const daemon = await Daemon.start(env)
  const posted = await daemon.post(pipelineEvent({ id: 1 }))
  expect(posted.status).toBe(202)
  await expect.poll(() => backend.bodies.size, { timeout: 60_000 }).toBe(2)
  const before = new Map([...backend.bodies].map(([path, [first]]) => [path, first]))
  await daemon.kill()
  backend.bodies.clear()
  const store = new DatabaseSync(daemon.storeFile)
  const messages = store.prepare('SELECT id, signal, body FROM messages').all() as unknown as {
    id: number
    signal: string
    body: Uint8Array
  }[]
  expect(messages.map(({ signal }) => signal).sort()).toEqual(['logs', 'traces'])
  const update = store.prepare('UPDATE messages SET body = ? WHERE id = ?')
  for (const { id, signal, body } of messages) {
    const stored = zstdDecompressSync(body)
    expect(stored.equals(before.get(`/v1/${signal}`) ?? Buffer.alloc(0))).toBe(true)
    update.run(zstdCompressSync(Buffer.concat([stored, ofTomorrow])), id)
  }
  store.exec('UPDATE outbox SET due_at = 0')
  store.close()

  backend.status = 200
  await daemon.restart({ PIPESPAN_ATTRIBUTES_DROP: 'cicd.*', OTEL_RESOURCE_ATTRIBUTES: 'team=other' })
  await expect.poll(() => backend.bodies.size, { timeout: 60_000 }).toBe(2)
  for (const [path, sent] of backend.bodies) {
    expect(sent.map(body => body.toString('hex'))).toEqual([
      Buffer.concat([before.get(path) ?? Buffer.alloc(0), ofTomorrow]).toString('hex'),
    ])
  }
})
