// Tests how spans that jobs wrote into their artifacts are read from a platform over HTTP, and exported below the spans of their jobs.
import { insideTelemetry } from '../../../src/features/job-insides/telemetry/insides.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { answer, type PlatformServer, type Reply } from '../../platform/rest/platform-server.ts'
import { createReadSpans } from '../../../src/platform/reports/read-spans.ts'
import { createSpanReading } from '../../../src/features/job-insides/read-spans.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { derivedSpanIds } from '../../../src/features/job-insides/telemetry/derived-ids.ts'
import { encodeTraces, tracesAsJson } from '../../../src/core/telemetry/encode.ts'
import { insideCounters, type InsideCounters } from '../../../src/features/job-insides/counts.ts'
import { job, t0 } from '../../flow/world.ts'
import { jobSpanId, pipelineSpanId, sectionSpanId, testSpanId } from '../../../src/core/telemetry/otlp/ids.ts'
import { JobWorld, packed } from './job-world.ts'
import { linearPattern } from '../../support/linear-pattern.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { JobReader } from '../../../src/features/job-insides/job-reader.ts'
import type { ObservedJob } from '../../../src/model/observation.ts'

const settings = telemetrySettings({ profiles, insides: insideTelemetry, drop: ['*.SECRET_*'] })

describe("jobs' own spans", () => {
  let world: JobWorld
  let platform: PlatformServer
  let reader: JobReader
  let counters: InsideCounters
  let faults: string[] = []
  /** The files in the archive of a job's artifacts, by path. */
  let files: Record<string, Reply> = {}
  const paths = ['telemetry/a b.otlp.json', 'more.otlp.jsonl']

  beforeEach(async () => {
    files = {}
    faults = []
    world = await JobWorld.open((asked, response) => {
      const [, file = ''] = asked.path.split('/artifacts/')
      const reply = files[decodeURIComponent(file)]
      ;(reply ?? answer(404, '{"message":"404 File Not Found"}'))(asked, response)
    })
    platform = world.platform
    counters = insideCounters()
    const redactText = createTextRedaction([linearPattern('ACME-[0-9]+')])
    reader = world.reader({
      spans: createSpanReading({
        ...{ counters, spanIds: derivedSpanIds, runs: world.store.runs },
        onFault: (what, facts) => faults.push(`${String(facts.reason)}: ${what}`),
        readSpans: createReadSpans(world.client, { paths, maxText: 4_096, redactText }),
      }),
    })
    return async () => world.close()
  })

  /** Exports a pipeline with these jobs, and reads their spans. */
  async function finish(jobs: ObservedJob[], pipelineId = 7): Promise<void> {
    await world.finish(jobs, { reads: { spans: true }, pipelineId })
    await reader.drain()
  }
  const withArtifacts = (id: number): ObservedJob =>
    job(id, `build ${id}`, 'success', { started: 1, finished: 50 }, { artifactSizes: { archive: 1 } })

  const nanos = (seconds: number): string => `${t0 + seconds * 1_000}123456`
  const idOf = (id: string): string => id.padStart(16, '0')
  const span = (id: string, more: object = {}): object => ({
    ...{ traceId: 'a'.repeat(32), spanId: idOf(id), name: `span ${id}` },
    ...{ startTimeUnixNano: nanos(5), endTimeUnixNano: nanos(6), ...more },
  })
  const request = (...own: object[]): string =>
    JSON.stringify({ resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans: own }] }] })
  let scopes: (string | undefined)[] = []
  async function sentSpans(): Promise<OtlpSpan[]> {
    const chunks = await world.sent('traces')
    if (chunks.length > 0) expect(encodeTraces(chunks, settings).length).toBeGreaterThan(0)
    const { resourceSpans = [] } = JSON.parse(tracesAsJson(chunks, settings)) as Partial<OtlpTraces>
    scopes = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.map(one => one.scope?.name))
    return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(one => one.spans))
  }

  it("exports a job's own spans below the job's span, with their original ids", async () => {
    const attributes = [
      { key: 'cicd.pipeline.task.run.id', value: { stringValue: 'mine' } },
      { key: 'owner', value: { stringValue: 'ACME-12' } },
      { key: 'api_token', value: { stringValue: 'correct-horse-9' } },
      { key: 'big', value: { intValue: '9007199254740993' } },
      { key: 'whole', value: { doubleValue: 2 } },
      { key: 'list', value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'ACME-3' }] } } },
      { key: 'map', value: { kvlistValue: { values: [] } } },
      { key: 'SECRET.SECRET_1', value: { boolValue: true } },
      { key: 'nothing', value: {} },
    ]
    const links = [
      { traceId: 'A'.repeat(32), spanId: idOf('2') },
      { traceId: 'b'.repeat(32), spanId: 'c'.repeat(16) },
    ]
    const inCircle = [span('4', { parentSpanId: idOf('5') }), span('5', { parentSpanId: idOf('4') })]
    files = {
      'telemetry/a b.otlp.json': answer(
        200,
        request(
          span('1', { attributes, kind: 3, status: { code: 2, message: 'no ACME-9' } }),
          span('2', { parentSpanId: idOf('1'), events: [{ timeUnixNano: nanos(5.5), name: 'now' }] }),
          span('3', { parentSpanId: 'f'.repeat(16), links }),
        ),
      ),
      'more.otlp.jsonl': packed(inCircle.map(one => `${request(one)}\n\n`).join('')),
    }
    await finish([withArtifacts(1), job(2, 'lint', 'success', { finished: 9 })])
    expect(platform.asked.map(({ path }) => path)).toEqual([
      '/api/v4/projects/3/jobs/1/artifacts/telemetry/a%20b.otlp.json',
      '/api/v4/projects/3/jobs/1/artifacts/more.otlp.jsonl',
    ])
    const found = await sentSpans()
    const jobSpan = found[0]?.parentSpanId
    expect(found.map(({ spanId, parentSpanId }) => [spanId, parentSpanId])).toEqual([
      [idOf('1'), jobSpan],
      [idOf('2'), idOf('1')],
      [idOf('3'), jobSpan],
      [idOf('4'), idOf('5')],
      [idOf('5'), jobSpan],
    ])
    expect(new Set(found.map(({ traceId }) => traceId)).size).toBe(1)
    const [first, second, third] = found
    expect(first).toMatchObject({
      ...{ name: 'span 1', kind: 3, status: { code: 2, message: 'no [REDACTED]' } },
      ...{ startTimeUnixNano: `${t0 + 5_000}123000`, endTimeUnixNano: `${t0 + 6_000}123000` },
    })
    expect(Object.fromEntries(first?.attributes.map(({ key, value }) => [key, value]) ?? [])).toEqual({
      'cicd.pipeline.task.run.id': { stringValue: '1' },
      owner: { stringValue: '[REDACTED]' },
      api_token: { stringValue: '[REDACTED]' },
      big: { intValue: '9007199254740993' },
      whole: { doubleValue: 2 },
      list: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: '[REDACTED]' }] } },
      map: { stringValue: '{"values":[]}' },
    })
    expect(second?.events).toMatchObject([{ name: 'now', timeUnixNano: `${t0 + 5_500}123000` }])
    expect(third?.links.map(({ traceId }) => traceId)).toEqual([first?.traceId, 'b'.repeat(32)])
    await reader.drain()
    expect(await sentSpans()).toEqual([])
  })

  it("counts a job's invalid or excess own spans without affecting the others", async () => {
    files = {
      'telemetry/a b.otlp.json': answer(
        200,
        request(
          ...[span('1'), span('1'), span('2', { spanId: 'xyz' }), span('3', { name: '' })],
          ...[span('4', { endTimeUnixNano: nanos(4) }), span('5', { startTimeUnixNano: nanos(-7_200) })],
          ...[span('6', { startTimeUnixNano: -1 }), span('7', { traceId: 'not hex', kind: 'SERVER', events: 7 })],
          ...Array.from({ length: 1_100 }, (_, n) => span(String(n + 1_000))),
        ),
      ),
      'more.otlp.jsonl': answer(200, `{"resourceLogs":[]}\n{"half":\n${request(span('9'))}\n`),
    }
    await finish([withArtifacts(1)])
    // The spans after an invalid line are read too.
    expect(counters.spans).toMatchObject({ kept: 1_000, repeated: 1, invalid: 3, misplaced: 2, beyond: 103 })
    expect([...counters.spanFiles]).toEqual([
      ['none', 1],
      ['foreign', 1],
    ])
    expect(faults).toHaveLength(1)
    expect(await sentSpans()).toHaveLength(1_000)
  })

  it('rejects own spans of a job that imitate spans of this or another pipeline', async () => {
    const of = { key: { instance: world.client.instance, pipelineId: 7 }, attempt: 1 }
    const trace = { scheme: 'instance', profile: 'generic', rootPipelineId: 7 } as const
    const taken = [1, 2].map(id => jobSpanId({ ...of, trace }, { id, kind: 'job' }))
    const inside = (['instance', 'platform'] as const).flatMap(scheme => {
      const under = { ...of, trace: { ...trace, scheme } }
      return [1, 2].flatMap(id => [
        jobSpanId(under, { id, kind: 'job' }),
        sectionSpanId(under, { id, kind: 'job' }, 200),
        testSpanId(under, { id, kind: 'job' }, 1_000),
      ])
    })
    const forged = [...new Set([pipelineSpanId({ ...of, trace }), ...taken, ...inside])]
    const claims = [
      'cicd.pipeline.run.id',
      'cicd.pipeline.task.run.id',
      'vcs.ref.head.name',
      'platform.cicd.failure.domain',
      'pipeline.id',
      'job.id',
    ]
    const attributes = [...claims, 'cicdx'].map(key => ({ key, value: { stringValue: '8' } }))
    files = {
      'telemetry/a b.otlp.json': answer(
        200,
        request(
          ...forged.map(spanId => span('0', { spanId })),
          span('1', { name: 'pipeline: shop', attributes, links: [{ traceId: 'b'.repeat(32), spanId: taken[0] }] }),
        ),
      ),
    }
    await finish([withArtifacts(1), job(2, 'lint', 'success', { finished: 9 })])
    expect(counters.spans).toMatchObject({ kept: 1, repeated: 13 })
    const [own] = await sentSpans()
    expect(scopes).toEqual(['pipespan.job.own'])
    expect(own?.attributes).toEqual([
      { key: 'cicd.pipeline.task.run.id', value: { stringValue: '1' } },
      { key: 'cicdx', value: { stringValue: '8' } },
    ])
    expect(own).toMatchObject({ droppedAttributesCount: claims.length })
  })

  it('limits the reading of own spans that are crafted to cost time and memory', async () => {
    const list = (item: string, times: number): string => Array<string>(times).fill(item).join(',')
    const spanWith = (id: string, more: string): string => `${JSON.stringify(span(id)).slice(0, -1)},${more}}`
    const file = (own: string): string => `{"resourceSpans":[{"scopeSpans":[{"spans":[${own}]}]}]}`
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const values = list('{"stringValue":"x"}', 50_000)
    files = {
      'telemetry/a b.otlp.json': answer(200, file(list('{}', 300_000))),
      'more.otlp.jsonl': packed(
        [
          spanWith('1', `"attributes":[${list('{}', 300_000)}]`),
          spanWith('2', `"events":[${list(`{"timeUnixNano":"${nanos(5)}","name":"x"}`, 20_000)}]`),
          spanWith('3', `"attributes":[{"key":"list","value":{"arrayValue":{"values":[${values}]}}}]`),
          spanWith('4', `"attributes":[{"key":"deep","value":{"kvlistValue":${deep}}}]`),
          spanWith('5', `"attributes":[{"key":"${'k'.repeat(300)}","value":{"intValue":1}}]`),
        ]
          .map(file)
          .join('\n'),
      ),
    }
    await finish([withArtifacts(1)])
    expect(counters.spans).toMatchObject({ kept: 0, invalid: 5_000, beyond: 295_000 + 5 })
    delete files['telemetry/a b.otlp.json']
    await finish([withArtifacts(2)], 8)
    expect(counters.spans).toMatchObject({ kept: 5 })
    expect(faults).toEqual([])
    const [attributes, events, values64, deepValue, longKey] = await sentSpans()
    expect(deepValue?.attributes).toHaveLength(1)
    expect(attributes).toMatchObject({ droppedAttributesCount: 299_936, attributes: { length: 1 } })
    expect(events).toMatchObject({ droppedEventsCount: 19_968, events: { length: 32 } })
    expect(values64?.attributes[1]).toMatchObject({ value: { arrayValue: { values: { length: 64 } } } })
    expect(longKey?.attributes).toHaveLength(1)
  })

  it('exports no own spans of a job if the file is missing, invalid, too large or in another format', async () => {
    files = { 'more.otlp.jsonl': answer(200, 'no JSON at all') }
    await finish([withArtifacts(1)])
    files = {
      'telemetry/a b.otlp.json': answer(200, JSON.stringify({ resourceMetrics: [] })),
      'more.otlp.jsonl': answer(200, `{"resourceSpans":[]}${' '.repeat(5_000_000)}`),
    }
    await finish([withArtifacts(2)], 8)
    expect(faults.map(one => one.split(':')[0])).toEqual(['not_gzip', 'foreign', 'too_large'])
    expect(reader.counters).toMatchObject({ empty: 2, failed: 0, refused: 0 })
    expect(await sentSpans()).toEqual([])
  })
})

interface OtlpSpan extends Readonly<Record<'traceId' | 'spanId' | 'parentSpanId' | 'name', string>> {
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
  readonly events: readonly object[]
  readonly links: readonly { readonly traceId: string }[]
}
interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly scope?: { readonly name: string }; readonly spans: readonly OtlpSpan[] }[]
  }[]
}
