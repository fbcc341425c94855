// What the OpenTelemetry serializers write, the decoders of the demo read back: for arbitrary telemetry.
import { SeverityNumber, SpanKind, SpanStatusCode, TraceFlags, type HrTime } from '@opentelemetry/api'
import { ProtobufLogsSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeLogs } from '../../src/demo/otlp-logs.ts'
import { exportResponse, traceRequest } from '../../src/demo/otlp-messages.ts'
import { decodeTraces } from '../../src/demo/otlp-traces.ts'
import type { Attributes as SentAttributes } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { runs } from '../full.ts'

type LogRecord = Parameters<typeof ProtobufLogsSerializer.serializeRequest>[0][number]

const text = fc.string({ unit: 'grapheme', maxLength: 12 })
// The serializers write every whole number as an int64, where -0 and what lies beyond 2^53 lose their nature.
const double = fc
  .double()
  .filter(value => (Number.isSafeInteger(value + 0) ? !Object.is(value, -0) : !Number.isInteger(value)))
const value = fc.oneof(text, fc.boolean(), fc.maxSafeInteger(), double, fc.array(text, { maxLength: 3 }))
const key = fc.oneof(
  fc.string({ minLength: 1, maxLength: 8 }).filter(name => name !== '__proto__'),
  fc.constantFrom('constructor', 'toString'),
)
const attributes = fc.dictionary(key, value, { maxKeys: 4 })
const time: fc.Arbitrary<HrTime> = fc.tuple(fc.nat(4_000_000_000), fc.nat(999_999_999))
const hex = (length: number): fc.Arbitrary<string> =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map(bytes => Buffer.from(bytes).toString('hex'))
    .filter(id => /[^0]/.test(id))
const context = fc.record({ traceId: hex(16), spanId: hex(8) }).map(ids => ({ ...ids, traceFlags: TraceFlags.SAMPLED }))
const resource = resourceFromAttributes({ 'service.name': 'shop', 'service.instance.id': '7' })
const scope = { name: 'pipespan', version: '1.2.3', schemaUrl: 'https://opentelemetry.io/schemas/1.45.0' }

const span = fc.record({
  name: text,
  kind: fc.constantFrom(SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CLIENT, SpanKind.PRODUCER, SpanKind.CONSUMER),
  context,
  parentSpanContext: fc.option(context, { nil: undefined }),
  startTime: time,
  endTime: time,
  status: fc.record({
    code: fc.constantFrom(SpanStatusCode.UNSET, SpanStatusCode.OK, SpanStatusCode.ERROR),
    message: text,
  }),
  attributes,
  links: fc.array(fc.record({ context, attributes }), { maxLength: 2 }),
  events: fc.array(fc.record({ name: text, time, attributes }), { maxLength: 2 }),
})

const nanos = ([seconds, rest]: HrTime): bigint => BigInt(seconds) * 1_000_000_000n + BigInt(rest)
const plain = (sent: SentAttributes): object => Object.assign(Object.create(null) as object, sent)

describe('the decoders', () => {
  it('read back every span that the trace serializer writes', () => {
    fc.assert(
      fc.property(fc.array(span, { minLength: 1, maxLength: 4 }), spans => {
        const sent = spans.map(({ context, parentSpanContext, ...rest }): ReadableSpan => ({
          ...rest,
          ...(parentSpanContext === undefined ? {} : { parentSpanContext }),
          spanContext: () => context,
          duration: [0, 0],
          ended: true,
          resource,
          instrumentationScope: scope,
          droppedAttributesCount: 0,
          droppedEventsCount: 0,
          droppedLinksCount: 0,
        }))
        const received = decodeTraces(ProtobufTraceSerializer.serializeRequest(sent)!)
        expect(received).toHaveLength(spans.length)
        received.forEach((found, index) => {
          const { context, parentSpanContext, ...wanted } = spans[index]!
          expect(found).toMatchObject({
            traceId: context.traceId,
            spanId: context.spanId,
            parentSpanId: parentSpanContext?.spanId,
            name: wanted.name,
            kind: ['internal', 'server', 'client', 'producer', 'consumer'][wanted.kind],
            startNanos: nanos(wanted.startTime),
            endNanos: nanos(wanted.endTime),
            start: Math.floor(wanted.startTime[0] * 1000 + Math.floor(wanted.startTime[1] / 1e6)),
            status: ['unset', 'ok', 'error'][wanted.status.code],
            statusMessage: wanted.status.message,
          })
          expect(found.attributes).toEqual(plain(wanted.attributes))
          expect(found.links.map(({ traceId, spanId }) => [traceId, spanId])).toEqual(
            wanted.links.map(link => [link.context.traceId, link.context.spanId]),
          )
          expect(found.links.map(link => link.attributes)).toEqual(wanted.links.map(link => plain(link.attributes)))
          expect(found.events).toEqual(
            wanted.events.map(event => ({
              name: event.name,
              nanos: nanos(event.time),
              attributes: plain(event.attributes),
            })),
          )
          expect({ ...found.resource.attributes }).toEqual({ 'service.name': 'shop', 'service.instance.id': '7' })
          expect(found.scope).toMatchObject({ name: 'pipespan', version: '1.2.3', schemaUrl: scope.schemaUrl })
        })
      }),
      runs(60),
    )
  })

  it('read back every log record that the log serializer writes', () => {
    const record = fc.record({
      hrTime: time,
      hrTimeObserved: time,
      spanContext: fc.option(context, { nil: undefined }),
      severityNumber: fc.constantFrom(
        SeverityNumber.DEBUG,
        SeverityNumber.INFO,
        SeverityNumber.WARN,
        SeverityNumber.ERROR,
      ),
      severityText: text,
      body: text,
      eventName: text,
      attributes,
      droppedAttributesCount: fc.nat(9),
    })
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 4 }), records => {
        const sent = records.map(({ spanContext, ...rest }): LogRecord => ({
          ...rest,
          ...(spanContext === undefined ? {} : { spanContext }),
          resource,
          instrumentationScope: scope,
        }))
        const received = decodeLogs(ProtobufLogsSerializer.serializeRequest(sent)!)
        expect(received).toHaveLength(records.length)
        received.forEach((found, index) => {
          const wanted = records[index]!
          expect(found).toMatchObject({
            nanos: nanos(wanted.hrTime),
            observedNanos: nanos(wanted.hrTimeObserved),
            severityNumber: wanted.severityNumber,
            severityText: wanted.severityText,
            body: wanted.body,
            eventName: wanted.eventName,
            traceId: wanted.spanContext?.traceId,
            spanId: wanted.spanContext?.spanId,
            flags: wanted.spanContext?.traceFlags ?? 0,
            droppedAttributesCount: wanted.droppedAttributesCount,
          })
          expect(found.attributes).toEqual(plain(wanted.attributes))
        })
      }),
      runs(60),
    )
  })

  it('keep a key named __proto__ as a plain key', () => {
    const key = { key: '__proto__', value: { stringValue: 'x' } }
    const body = { resourceSpans: [{ resource: { attributes: [key] }, scopeSpans: [{ spans: [{ name: 's' }] }] }] }
    const [found] = decodeTraces(traceRequest.encode(traceRequest.fromObject(body)).finish())
    expect(Object.entries(found!.resource.attributes)).toEqual([['__proto__', 'x']])
  })

  it('write answers that the serializer reads', () => {
    const answer = exportResponse.encode({ partialSuccess: { rejected: 3, errorMessage: 'too old' } }).finish()
    const read = ProtobufTraceSerializer.deserializeResponse(answer)
    expect(read.partialSuccess).toMatchObject({ rejectedSpans: 3, errorMessage: 'too old' })
  })
})
