// Tests the requests for all signals: golden files of complete scenarios, stored requests that are read back, and values that the official
// serializers cannot encode.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyChunk } from './arbitraries.ts'
import { decodeLogs } from '../../support/otlp-decode.ts'
import {
  encode,
  encodeLogs,
  encodeMetrics,
  encodeTraces,
  logsAsJson,
  metricsAsJson,
  requestAsJson,
  tracesAsJson,
} from '../../../src/core/telemetry/encode.ts'
import { joined, messagesBy, requestOf } from '../../../src/core/send/messages.ts'
import { logsRequest, metricsRequest, traceRequest } from '../../../src/core/telemetry/otlp/messages.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { runs } from '../../full.ts'
import { stories } from './stories.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { toDelta } from '../../../src/core/telemetry/metrics/delta.ts'
import { version } from '../../../src/lib/version.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

const settings = telemetrySettings({ profiles })
const all = telemetrySettings({ profiles, jobMetrics: 'all' })

/** Formats JSON for human readers, with every `{ key, value }` and every short array on one line, and without Pipespan's version. */
function readable(json: string): string {
  return `${written(JSON.parse(json), '').replaceAll(`"version": "${version}"`, '"version": "VERSION"')}\n`
}

function written(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null || 'key' in value) return JSON.stringify(value)
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    return value.length === 0 ? '[]' : `[\n${value.map(item => inner + written(item, inner)).join(',\n')}\n${indent}]`
  }
  const fields = Object.entries(value).map(([key, field]) => `${inner}${JSON.stringify(key)}: ${written(field, inner)}`)
  return fields.length === 0 ? '{}' : `{\n${fields.join(',\n')}\n${indent}}`
}

describe.each([
  {
    signal: 'traces' as const,
    asJson: (chunks: readonly Chunk[]) => tracesAsJson(chunks, settings),
    encoded: (chunks: readonly Chunk[]) => encodeTraces(chunks, all),
    again: (bytes: Uint8Array) => encode(traceRequest, traceRequest.contentOf(bytes)),
  },
  {
    signal: 'logs' as const,
    asJson: (chunks: readonly Chunk[]) => logsAsJson(chunks, settings),
    encoded: (chunks: readonly Chunk[]) => encodeLogs(chunks, all),
    again: (bytes: Uint8Array) => encode(logsRequest, logsRequest.contentOf(bytes)),
  },
  {
    signal: 'metrics' as const,
    asJson: (chunks: readonly Chunk[]) => metricsAsJson(chunks.flatMap(chunk => toDelta(chunk, settings) ?? [])),
    encoded: (chunks: readonly Chunk[]) => encodeMetrics(chunks, all),
    again: (bytes: Uint8Array) => encode(metricsRequest, metricsRequest.contentOf(bytes)),
  },
])('a $signal request', ({ signal, asJson, encoded, again }) => {
  it.each(Object.entries(stories))('matches the golden file of the story %s', async (name, chunks) => {
    await expect(readable(asJson(chunks))).toMatchFileSnapshot(`../../golden/${signal}/${name}.json`)
  })

  it('reads requests back as they were written, alone or concatenated, and encodes them again to the same bytes', () => {
    let written = 0
    fc.assert(
      fc.property(fc.array(anyChunk, { maxLength: 3 }), chunks => {
        const bytes = encoded(chunks)
        written += bytes.length
        expect(Buffer.from(again(bytes)).equals(bytes)).toBe(true)
        expect(Buffer.concat(chunks.map(chunk => encoded([chunk]))).equals(bytes)).toBe(true)
      }),
      runs(300),
    )
    expect(written).toBeGreaterThan(0)
  })

  it('builds the same request from a stored message as from the chunk itself', () => {
    fc.assert(
      fc.property(anyChunk, chunk => {
        const plain = encoded([chunk])
        const stored = messagesBy(() => () => plain)(chunk, [{ destination: 'default', signal }])
        expect(stored).toHaveLength(plain.length === 0 ? 0 : 1)
        for (const { body } of stored) {
          expect(Buffer.from(joined(signal, [requestOf(body)])).equals(plain)).toBe(true)
        }
      }),
      runs(100),
    )
  })
})

describe('a value that a JavaScript number can represent only as an integer, or not at all', () => {
  const [success] = stories.success!
  /** Returns the value of the attribute in protobuf, and in the JSON of the same request. */
  function reported(changes: object, profile: string, tail: string): [unknown[], string] {
    const trace = { ...success!.trace, profile }
    const facts = { ...success!.pipeline.facts, coverage: undefined }
    const jobs = success!.jobs.slice(0, 1).map(job => ({ ...job, ...changes }))
    const bytes = encodeLogs([{ ...success!, trace, jobs, pipeline: { ...success!.pipeline, facts } }], settings)
    const attributes = decodeLogs(bytes).flatMap(one => Object.entries(one.attributes))
    return [attributes.filter(([key]) => key.endsWith(tail)).map(([, value]) => value), requestAsJson('logs', bytes)]
  }
  const profile = fc.constantFrom('generic', 'gitlab')

  it('encodes the creation time of a job exactly, for every millisecond and microsecond', () => {
    const millis = fc.integer({ min: 1, max: 9_223_372_036_853 }).map(at => [at, 0] as const)
    const micros = fc.tuple(fc.integer({ min: 1, max: 4_102_444_800_000 }), fc.integer({ min: 0, max: 999 }))
    fc.assert(
      fc.property(fc.oneof(millis, micros), profile, ([at, more], name) => {
        const exact = `${BigInt(at) * 1_000_000n + BigInt(more) * 1_000n}`
        const [values, json] = reported({ createdAt: at + more / 1000 }, name, 'created_at')
        expect(values.map(value => String(value as bigint))).toEqual([exact, exact])
        expect(json).toContain(exact)
      }),
      runs(1_000),
    )
  })

  it('encodes coverage as a double, whether or not it is whole', () => {
    const coverage = fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.double({ min: 0, max: 100, noNaN: true }))
    fc.assert(
      fc.property(coverage, profile, (value, name) => {
        const [values, json] = reported({ coverage: value }, name, 'coverage')
        expect(values).toEqual([value + 0, value + 0])
        expect(json.match(/"doubleValue"/g)?.length).toBeGreaterThanOrEqual(2)
      }),
    )
  })
})
