// Traces as bytes, read back with the protocol's own definitions.
import protobuf from 'protobufjs'
import fc from 'fast-check'
import { runs } from '../../full.ts'
import { describe, expect, it } from 'vitest'
import { profiles } from '../../../src/daemon/profile.ts'
import { decodeLogs } from '../../support/otlp-logs.ts'
import { encodeLogs, encodeTraces, tracesAsJson } from '../../../src/core/telemetry/encode.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { stories } from './stories.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

const settings = telemetrySettings({ profiles })
const success = stories.success![0]!

/** As much of opentelemetry/proto/trace/v1/trace.proto as the questions below need. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
  message Scope { string name = 1; string version = 2; }
  message Span { bytes trace_id = 1; bytes span_id = 2; string name = 5; fixed64 start_time_unix_nano = 7; repeated KeyValue attributes = 9; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; } }
  message ArrayValue { repeated AnyValue values = 1; }
`)

interface Decoded {
  readonly resourceSpans: readonly {
    readonly schemaUrl: string
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly startTimeUnixNano: string
        readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
      }[]
    }[]
  }[]
}

function decoded(bytes: Uint8Array): Decoded {
  const type = root.lookupType('Request')
  return type.toObject(type.decode(bytes), { longs: String, arrays: true }) as Decoded
}

function spans({ resourceSpans }: Decoded): Decoded['resourceSpans'][number]['scopeSpans'][number]['spans'] {
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(scope => scope.spans))
}

function withCoverage(coverage: number, profile = 'generic'): Chunk {
  const trace = { ...success.trace, profile }
  const pipeline = { ...success.pipeline, facts: { ...success.pipeline.facts, coverage: undefined } }
  return { ...success, trace, pipeline, jobs: success.jobs.slice(0, 1).map(job => ({ ...job, coverage })) }
}

function coverageIn(message: Decoded): unknown[] {
  const attributes = spans(message).flatMap(span => span.attributes)
  return attributes.filter(({ key }) => key.endsWith('coverage')).map(({ value }) => value)
}

function createdIn(
  all: readonly { readonly attributes: readonly { readonly key: string; readonly value: object }[] }[],
) {
  const attributes = all.flatMap(span => span.attributes).filter(({ key }) => key.endsWith('created_at'))
  return attributes.map(({ value }) => String((value as { intValue: unknown }).intValue))
}

describe('a request', () => {
  it('has one ResourceSpans for each chunk, each with the schema URL', () => {
    const chunks = Object.values(stories).flat()
    const { resourceSpans } = decoded(encodeTraces(chunks, settings))
    expect(resourceSpans).toHaveLength(chunks.length)
    expect(new Set(resourceSpans.map(({ schemaUrl }) => schemaUrl))).toEqual(
      new Set(['https://opentelemetry.io/schemas/1.44.0']),
    )
  })

  it('has times with nanosecond precision', () => {
    const starts = spans(decoded(encodeTraces([success], settings))).map(({ startTimeUnixNano }) => startTimeUnixNano)
    expect(starts).toContain('1772442062250000000')
  })

  it('has the same content as protobuf and as JSON', () => {
    const json = JSON.parse(tracesAsJson([success], settings)) as Decoded
    const names = (message: Decoded) => spans(message).map(({ attributes }) => attributes.map(({ key }) => key))
    expect(names(json)).toEqual(names(decoded(encodeTraces([success], settings))))
  })

  it('has the creation time of a job in nanoseconds for every millisecond and microsecond', () => {
    const millis = fc.integer({ min: 1, max: 9_223_372_036_853 })
    const micros = fc.tuple(fc.integer({ min: 1, max: 4_102_444_800_000 }), fc.integer({ min: 0, max: 999 }))
    const instant = fc.oneof(
      millis.map(at => [at, 0] as const),
      micros,
    )
    fc.assert(
      fc.property(instant, fc.constantFrom('generic', 'gitlab'), ([at, more], profile) => {
        const trace = { ...success.trace, profile }
        const jobs = success.jobs.slice(0, 1).map(job => ({ ...job, createdAt: at + more / 1000 }))
        const chunk = { ...success, trace, jobs }
        const exact = `${BigInt(at) * 1_000_000n + BigInt(more) * 1_000n}`
        const json = JSON.parse(tracesAsJson([chunk], settings)) as Decoded
        for (const message of [decoded(encodeTraces([chunk], settings)), json]) {
          const reported = createdIn(spans(message))
          expect(reported).toEqual([exact, exact])
        }
        const records = decodeLogs(encodeLogs([chunk], settings)).flatMap(({ attributes }) =>
          Object.entries(attributes),
        )
        const logged = records.filter(([key]) => key.endsWith('created_at')).map(([, value]) => String(value as bigint))
        expect(logged).toEqual([exact, exact])
      }),
      runs(1_000),
    )
  })

  it('has coverage as an exact double under every profile, whole or not', () => {
    const coverage = fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.double({ min: 0, max: 100, noNaN: true }))
    fc.assert(
      fc.property(coverage, fc.constantFrom('generic', 'gitlab'), (value, profile) => {
        const chunk = withCoverage(value, profile)
        for (const message of [
          decoded(encodeTraces([chunk], settings)),
          JSON.parse(tracesAsJson([chunk], settings)) as Decoded,
        ]) {
          const reported = coverageIn(message) as { doubleValue?: number }[]
          expect(reported).toHaveLength(2)
          for (const { doubleValue } of reported) expect(doubleValue).toBe(value)
        }
      }),
    )
  })
})
