// Tests the spans and log records of arbitrary observations: their properties, and that their encoded bytes equal those of the official serializers.
import fc from 'fast-check'
import { ProtobufLogsSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { describe, expect, it } from 'vitest'
import { profiles } from '../../../src/daemon/profile.ts'
import { attributesFrom } from '../../../src/core/telemetry/otlp/attribute.ts'
import { encode, encodeLogs, encodeTraces } from '../../../src/core/telemetry/encode.ts'
import { readableRecords, readableSpan, readableSpans, sdkResource } from './sdk.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { toTraces } from '../../../src/core/telemetry/traces.ts'
import { traceRequest, type Span } from '../../../src/core/telemetry/otlp/messages.ts'
import { officially } from './official.ts'
import { changes, anyJobSnapshot, anyChunk } from './arbitraries.ts'
import { stories } from './stories.ts'
import { binaryText } from '../../support/binary-text.ts'
import type { JobSnapshot, Chunk } from '../../../src/model/chunk.ts'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { runs } from '../../full.ts'

const settings = telemetrySettings({ profiles })
const success = stories.success![0]!

function official(spans: readonly ReadableSpan[]): Uint8Array {
  return officially(spans, prepared => ProtobufTraceSerializer.serializeRequest(prepared))
}

function officialOf(chunks: readonly Chunk[], chosen = settings): Uint8Array {
  return official(chunks.flatMap(chunk => readableSpans(chunk, chosen)))
}

/** Returns a request with these spans, and the resource and scope of the story. */
function requestOf(...spans: Span[]): Uint8Array {
  const traces = toTraces(success, settings)!
  const scopeSpans = [{ ...traces.scopeSpans[0]!, spans }]
  return encode(traceRequest, { resourceSpans: [{ ...traces, scopeSpans }] })
}

const [firstSpan] = toTraces(success, settings)!.scopeSpans[0]!.spans

function withPercentCoverage(job: JobSnapshot): JobSnapshot {
  return {
    ...job,
    coverage: job.coverage === undefined ? undefined : (Math.round(Math.abs(job.coverage) * 100) % 10_001) / 100,
  }
}

describe('the trace encoder', () => {
  it.each(Object.entries(stories))(
    'encodes the story "%s" to the same bytes as the official serializer',
    (_name, chunks) => {
      expect(Buffer.from(encodeTraces(chunks, settings)).equals(officialOf(chunks))).toBe(true)
    },
  )

  it('encodes jobs that differ in a few fields to the same bytes as the official serializer', () => {
    const strict = telemetrySettings({
      profiles,
      drop: ['job.user.*', '*.allow_failure'],
      hash: ['*.runner.description', '*.stage', '*.duration', 'job.created_at'],
      valueLengthLimit: 5,
    })
    const hidden = telemetrySettings({ profiles, hash: ['*.url.full', '*.run.id'], drop: ['job.id', 'job.name'] })
    const alike = fc
      .tuple(anyJobSnapshot, fc.array(changes, { maxLength: 12 }))
      .map(([job, all]) => all.map((change, n) => withPercentCoverage({ ...job, ...change, id: job.id + n })))
    const chunks = fc.array(
      fc.tuple(anyChunk, alike).map(([chunk, jobs]) => ({ ...chunk, jobs })),
      { minLength: 1, maxLength: 2 },
    )
    fc.assert(
      fc.property(chunks, fc.constantFrom(settings, strict, hidden), (given, chosen) => {
        expect(Buffer.from(encodeTraces(given, chosen)).equals(officialOf(given, chosen))).toBe(true)
      }),
      runs(300),
    )
  })

  it('encodes every value, time and string to the same bytes as the official serializer', () => {
    const value = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.boolean(),
      fc.double(),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.constantFrom(2 ** 31, 2 ** 32, 2 ** 53, 2 ** 63, -(2 ** 63), 1_767_225_600_123_000_000, -0, 0.5),
      fc.array(fc.string(), { maxLength: 40 }),
      fc.array(fc.integer(), { maxLength: 4 }),
    )
    const attributes = fc.dictionary(fc.string({ minLength: 1, maxLength: 200 }), value, { maxKeys: 30 })
    const time = fc.integer({ min: 1, max: 9_223_372_036_854 })
    fc.assert(
      fc.property(attributes, time, time, binaryText(), (given, start, end, name) => {
        const time = { startTimeUnixNano: start, endTimeUnixNano: end }
        const span = { ...firstSpan!, name, attributes: attributesFrom(given), ...time }
        const bytes = Buffer.from(requestOf(span))
        expect(bytes.equals(official([readableSpan(span, sdkResource(success, settings))]))).toBe(true)
      }),
      runs(1_000),
    )
  })

  it('encodes a message that outgrows its buffer', () => {
    const [first] = success.jobs
    const jobs = Array.from({ length: 1_000 }, (_, n) => ({ ...first!, id: n + 1, name: `job ${n}` }))
    const chunks = [{ ...success, jobs }]
    const bytes = encodeTraces(chunks, settings)
    expect(bytes.length).toBeGreaterThan(1024 * 1024)
    expect(Buffer.from(bytes).equals(officialOf(chunks))).toBe(true)
  })

  it('discards a message that could not be encoded', () => {
    const broken = attributesFrom({ name: 'value' })
    broken[0]!.table.write = () => {
      throw new Error('broken')
    }
    expect(() => requestOf({ ...firstSpan!, attributes: broken }, firstSpan!)).toThrow('broken')
    expect(Buffer.from(encodeTraces([success], settings)).equals(officialOf([success]))).toBe(true)
  })

  it('returns an independent copy of the bytes to each caller', () => {
    const all = Object.values(stories)
    const first = all.map(chunks => encodeTraces(chunks, settings))
    for (const chunks of all) encodeTraces(chunks, settings)
    for (const [n, bytes] of first.entries()) expect(Buffer.from(bytes).equals(officialOf(all[n]!))).toBe(true)
  })
})

it('encodes log records to the same bytes as the official serializer', () => {
  fc.assert(
    fc.property(fc.array(anyChunk, { maxLength: 3 }), given => {
      const chunks = given.map(chunk => ({ ...chunk, jobs: chunk.jobs.map(job => ({ ...job, coverage: 88.5 })) }))
      const records = chunks.flatMap(chunk => readableRecords(chunk, settings))
      const written = officially(records, all => ProtobufLogsSerializer.serializeRequest(all))
      expect(Buffer.from(encodeLogs(chunks, settings)).equals(written)).toBe(true)
    }),
    runs(300),
  )
})

describe('spans and log records of arbitrary observations', () => {
  it('never starts a span at or before the epoch, and never ends it before its start', () => {
    fc.assert(
      fc.property(anyChunk, chunk => {
        for (const { startTime, endTime } of readableSpans(chunk, settings)) {
          const [start, end] = [startTime, endTime].map(([s, n]) => BigInt(s) * 1_000_000_000n + BigInt(n))
          expect(start! > 0n && end! >= start! && end! < 2n ** 63n).toBe(true)
        }
      }),
    )
  })

  it('gives every span valid, unique IDs, and a log record with the same IDs and attributes in the same order', () => {
    fc.assert(
      fc.property(anyChunk, chunk => {
        const spans = readableSpans(chunk, settings)
        const contexts = spans.map(span => span.spanContext())
        for (const { traceId, spanId } of contexts) {
          expect(traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/)
          expect(spanId).toMatch(/^(?!0{16})[0-9a-f]{16}$/)
        }
        expect(new Set(contexts.map(({ spanId }) => spanId)).size).toBe(contexts.length)
        const records = readableRecords(chunk, settings)
        expect(records.map(({ spanContext }) => spanContext)).toEqual(contexts)
        records.forEach(({ hrTime, attributes }, index) => {
          expect(hrTime[0] >= 0 && hrTime[0] + hrTime[1] > 0).toBe(true)
          expect(attributes).toMatchObject(spans[index]!.attributes)
        })
      }),
    )
  })
})

it("names the pipeline's span as in the semantic conventions if configured", () => {
  const conventions = telemetrySettings({ profiles, spanNames: 'conventions' })
  const namesOf = (story: string) => readableSpans(stories[story]![0]!, conventions).map(({ name }) => name)
  expect(namesOf('success').slice(0, 2)).toEqual(['RUN Build and deploy', 'job: compile'])
  expect(namesOf('failure')[0]).toBe('RUN')
})
