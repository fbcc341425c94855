// Tests that a request body is compressed and delivered unchanged.
import { expect, it } from 'vitest'
import { Backend, encoderWith } from './backend.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { createSender } from '../../../src/core/send/sender.ts'
import { endpoint } from './bench.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

/** One body is smaller and the other larger than the amount that is compressed in one turn of the event loop. */
it.each([40_000, 400_000])('delivers a compressed body of %i bytes unchanged, and releases its memory', async bytes => {
  const backend = closeAfterTest(await Backend.start())
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
