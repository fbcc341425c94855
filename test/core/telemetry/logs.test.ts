// How snapshots look as log records: golden files of whole stories, and what must hold whatever is reported.
import fc from 'fast-check'
import { ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer'
import { describe, expect, it } from 'vitest'
import { decodeLogs } from '../../support/otlp-logs.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { encode, encodeLogs, logsAsJson } from '../../../src/core/telemetry/encode.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { readableRecord, readableRecords, readableSpans, sdkResource } from './sdk.ts'
import { logsRequest } from '../../../src/core/telemetry/otlp/messages.ts'
import { schemaUrl } from '../../../src/core/telemetry/mapping/semconv.ts'
import { toLogs, toRecords } from '../../../src/core/telemetry/logs.ts'
import { anyChunk } from './arbitraries.ts'
import { officially } from './official.ts'
import { readable } from './golden.ts'
import { stories } from './stories.ts'
import { runs } from '../../full.ts'

const settings = telemetrySettings({ profiles })

describe('the log records of whole stories', () => {
  for (const [name, chunks] of Object.entries(stories)) {
    it(`are as the golden file shows: ${name}`, async () => {
      await expect(readable(logsAsJson(chunks, settings))).toMatchFileSnapshot(`../../golden/logs/${name}.json`)
    })
  }
})

describe('a log record', () => {
  it('has the severity of its result, where an allowed failure is a warning', () => {
    const said = (story: string) =>
      readableRecords(stories[story]![0]!, settings).map(({ body, severityText, severityNumber }) => [
        body,
        severityText,
        severityNumber,
      ])
    expect(said('failure')).toEqual([
      ['Pipeline failed: main', 'ERROR', 17],
      ['Job failed: unit (test)', 'ERROR', 17],
      ['Job failed: audit (test)', 'WARN', 13],
      ['Job failed: unit (test)', 'ERROR', 17],
      ['Job skipped: live (deploy)', 'DEBUG', 5],
      ['Job failed: browser (test)', 'ERROR', 17],
    ])
    expect(said('canceled').slice(0, 2)).toEqual([
      ['Pipeline canceled: Build and deploy', 'WARN', 13],
      ['Job canceled: compile (build)', 'WARN', 13],
    ])
  })

  it('encodes a whole double as a double', () => {
    const records = decodeLogs(encodeLogs(stories.success!, settings))
    const unit = records.find(({ body }) => body === 'Job success: unit (test)')!
    expect(unit.attributes['job.coverage']).toBe(88)
    expect(logsAsJson(stories.success!, settings)).toMatch(/"doubleValue": 88\b/)
  })

  it('has the bytes of the official serializer', () => {
    fc.assert(
      fc.property(fc.array(anyChunk, { maxLength: 3 }), given => {
        const chunks = given.map(chunk => ({ ...chunk, jobs: chunk.jobs.map(job => ({ ...job, coverage: 88.5 })) }))
        const records = chunks.flatMap(chunk => readableRecords(chunk, settings))
        const official = officially(records, all => ProtobufLogsSerializer.serializeRequest(all))
        expect(Buffer.from(encodeLogs(chunks, settings)).equals(official)).toBe(true)
      }),
      runs(300),
    )
  })

  it('may be an event beside records of other scopes of one resource', () => {
    const [chunk] = stories.success!
    const [first, ...others] = toRecords(chunk!, settings).map(record => ({ ...record, attributes: [] }))
    const event = { ...first!, eventName: 'pipespan.section' }
    const inside = { name: 'pipespan.job', version: '1.2.3' }
    const logs = toLogs(chunk!, settings)!
    const scopeLogs = [
      { ...logs.scopeLogs[0]!, logRecords: others },
      { scope: inside, logRecords: [event], schemaUrl },
    ]
    const request = { resourceLogs: [{ ...logs, scopeLogs }] }
    const resource = sdkResource(chunk!, settings)
    const official = ProtobufLogsSerializer.serializeRequest([
      ...others.map(record => readableRecord(record, resource)),
      readableRecord(event, resource, { ...inside, schemaUrl }),
    ])
    expect(Buffer.from(encode(logsRequest, request)).equals(official!)).toBe(true)
    expect(JSON.stringify(logsRequest.json(request))).toContain('"eventName":"pipespan.section"')
  })

  it('in a supplement exists only for the late job', () => {
    const late = stories.supplement!.find(({ kind }) => kind === 'supplement')!
    expect(readableRecords(late, settings).map(({ body }) => body)).toEqual([
      'Job failed: unit (test)',
      'Job success: trigger (deploy)',
    ])
  })
})

describe('whatever is observed', () => {
  it('every span has a record in the same order, with its ids, attributes and a time', () => {
    fc.assert(
      fc.property(anyChunk, chunk => {
        const spans = readableSpans(chunk, settings)
        const records = readableRecords(chunk, settings)
        expect(records.map(({ spanContext }) => spanContext)).toEqual(spans.map(span => span.spanContext()))
        records.forEach(({ hrTime, attributes }, index) => {
          expect(hrTime[0] >= 0 && hrTime[0] + hrTime[1] > 0).toBe(true)
          expect(attributes).toMatchObject(spans[index]!.attributes)
        })
      }),
    )
  })

  it('the bytes of two chunks are the bytes of each, concatenated', () => {
    fc.assert(
      fc.property(anyChunk, anyChunk, (a, b) => {
        const apart = Buffer.concat([encodeLogs([a], settings), encodeLogs([b], settings)])
        expect(Buffer.from(encodeLogs([a, b], settings)).equals(apart)).toBe(true)
      }),
    )
  })
})
