// What is read back of stored requests, for people and for joining points, is all that was written, and a message is sent as it was stored.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyChunk } from './arbitraries.ts'
import { encode, encodeLogs, encodeMetrics, encodeTraces } from '../../../src/core/telemetry/encode.ts'
import { joined, messagesBy, requestOf } from '../../../src/core/send/messages.ts'
import { logsRequest, metricsRequest, traceRequest } from '../../../src/core/telemetry/otlp/messages.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { runs } from '../../full.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { TelemetrySettings } from '../../../src/core/telemetry/settings.ts'

const settings = telemetrySettings({ profiles, jobMetrics: 'all' })

const again = {
  traces: (bytes: Uint8Array) => encode(traceRequest, traceRequest.contentOf(bytes)),
  logs: (bytes: Uint8Array) => encode(logsRequest, logsRequest.contentOf(bytes)),
  metrics: (bytes: Uint8Array) => encode(metricsRequest, metricsRequest.contentOf(bytes)),
} as const

describe.each([
  ['traces', encodeTraces],
  ['logs', encodeLogs],
  ['metrics', encodeMetrics],
] satisfies [keyof typeof again, (chunks: readonly Chunk[], settings: TelemetrySettings) => Uint8Array][])(
  'a request of %s',
  (signal, encodeAll) => {
    it('is read as what was written: written again it has the same bytes', () => {
      let written = 0
      fc.assert(
        fc.property(fc.array(anyChunk, { maxLength: 3 }), chunks => {
          const bytes = encodeAll(chunks, settings)
          written += bytes.length
          expect(Buffer.from(again[signal](bytes)).equals(bytes)).toBe(true)
        }),
        runs(300),
      )
      expect(written).toBeGreaterThan(0)
    })

    it('is the same after it was a stored message', () => {
      fc.assert(
        fc.property(anyChunk, chunk => {
          const plain = encodeAll([chunk], settings)
          const store = messagesBy(() => () => plain)
          const stored = store(chunk, [{ destination: 'default', signal }])
          expect(stored).toHaveLength(plain.length === 0 ? 0 : 1)
          for (const { body } of stored) {
            expect(Buffer.from(joined(signal, [requestOf(body)])).equals(plain)).toBe(true)
          }
        }),
        runs(100),
      )
    })
  },
)
