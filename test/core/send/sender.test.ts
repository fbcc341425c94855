// What the sender makes of a body on its way.
import { beforeEach, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { Backend, encoderWith } from './backend.ts'
import { createSender } from '../../../src/core/send/sender.ts'
import { endpoint } from './bench.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

let backend: Backend
beforeEach(async () => {
  backend = closeAfterTest(await Backend.start())
})
/** One below, one above what is compressed at once. */
it.each([40_000, 400_000])('delivers a compressed body of %i bytes unchanged, and releases its memory', async bytes => {
  const settings = endpoint(`${backend.url}/v1/traces`)
  const sender = createSender({ signal: 'traces', endpoint: settings, connections: 1, clock: systemClock })
  const body = encoderWith(() => bytes)({ key: { pipelineId: 7 } } as unknown as Chunk)
  const plain = Buffer.from(body)
  expect((await sender.send(body)).verdict.as).toBe('delivered')
  expect(body).toHaveLength(0)
  const [request] = backend.requests
  expect(request?.headers['content-encoding']).toBe('gzip')
  expect(Number(request?.headers['content-length'])).toBeLessThan(bytes / 10)
  expect(Buffer.compare(request?.body ?? Buffer.alloc(0), plain)).toBe(0)
  await sender.close()
})
