// Tests the two formats of `/metrics`: which client gets which format, and how names chosen by people are escaped.
import Fastify from 'fastify'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { scope } from '../../../src/core/telemetry/resource.ts'
import { sdkMetrics } from '../../../src/core/telemetry/metrics/families.ts'
import { totalsData } from '../../../src/core/telemetry/metrics/cumulative.ts'
import { wholeMetrics } from '../../../src/daemon/listeners/exposition.ts'
import { metricsPageOf } from './metrics-pages.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { Exemplar, SeriesTotal } from '../../../src/model/totals.ts'

const settings = telemetrySettings({ histogramBounds: [1, 5] })
const exemplar: Exemplar = { at: 1_772_442_001_987, value: 3, traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8) }
const series: readonly SeriesTotal[] = [
  {
    metric: 'pipeline.status_total',
    attributes: '{"pipeline.ref":"a \\"b\\"","pipeline.status":"success"}',
    amount: { kind: 'sum', by: 7, exemplar },
    startedAt: 1,
  },
  {
    metric: 'cicd.pipeline.run.duration',
    attributes: '{"cicd.pipeline.name":"shop"}',
    amount: { kind: 'histogram', bounds: [1, 5], counts: [1, 2, 4], sum: 40, exemplar },
    startedAt: 1,
  },
]

async function scrape(accept?: string): Promise<{ type: unknown; body: string }> {
  const owner = { instance: 'https://git.example.com', project: { id: 3, path: 'acme/shop' } }
  const metrics = sdkMetrics([{ owner, metrics: totalsData(series, 10, settings) }])
  const app = closeAfterTest(Fastify())
  await app.register(metricsPageOf({ ofPipelines: async () => Promise.resolve(wholeMetrics([{ scope, metrics }])) }))
  const headers = accept === undefined ? {} : { accept }
  const answer = await app.inject({ url: '/metrics', headers })
  return { type: answer.headers['content-type'], body: answer.body }
}

const project =
  'platform_url="https://git.example.com",project_id="3",project_path="acme/shop",vcs_owner_name="acme",vcs_repository_name="shop"'
const openmetrics = 'application/openmetrics-text'

describe('OpenMetrics', () => {
  it('writes exemplars on counters and on the histogram bucket of their value, and ends with EOF', async () => {
    const { type, body } = await scrape(openmetrics)
    expect(type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    const trace = `# {trace_id="${exemplar.traceId}",span_id="${exemplar.spanId}"} 3 1772442001.987`
    const run = `cicd_pipeline_name="shop",${project}`
    expect(body.split('\n').filter(line => !line.startsWith('# HELP'))).toEqual([
      '# TYPE pipeline_status counter',
      String.raw`pipeline_status_total{pipeline_ref="a \"b\"",pipeline_status="success",` + `${project}} 7 ${trace}`,
      '# TYPE cicd_pipeline_run_duration histogram',
      `cicd_pipeline_run_duration_count{${run}} 7`,
      `cicd_pipeline_run_duration_sum{${run}} 40`,
      `cicd_pipeline_run_duration_bucket{${run},le="1"} 1`,
      `cicd_pipeline_run_duration_bucket{${run},le="5"} 3 ${trace}`,
      `cicd_pipeline_run_duration_bucket{${run},le="+Inf"} 7`,
      '# EOF',
      '',
    ])
  })
})

describe('the text format', () => {
  it('contains the same samples as OpenMetrics, but without exemplars, and with the counter suffix in the family name', async () => {
    const [plain, open] = [(await scrape()).body, (await scrape(openmetrics)).body]
    expect(plain).toContain('# TYPE pipeline_status_total counter\n')
    const samples = (text: string): string[] =>
      text.split('\n').flatMap(line => (line.startsWith('#') || line === '' ? [] : [line.replace(/ # .*/, '')]))
    expect(samples(plain)).toEqual(samples(open))
    expect(plain).not.toContain('trace_id')
    expect(plain).not.toContain('# EOF')
  })
})

describe('the format of the metrics page', () => {
  it.each([
    [undefined, 'text/plain'],
    ['*/*', 'text/plain'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/plain'],
    ['text/plain;version=0.0.4', 'text/plain'],
    ['application/openmetrics-text;q=0.2,text/plain;q=0.5', 'text/plain'],
    ['application/openmetrics-text; version=1.0.0; charset=utf-8', openmetrics],
    ['application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1', openmetrics],
  ])('responds to a client that accepts %s in the format %s', async (accept, type) => {
    expect((await scrape(accept)).type).toContain(type)
  })
})

class OnDemand extends MetricReader {
  protected async onForceFlush(): Promise<void> {
    await Promise.resolve()
  }
  protected async onShutdown(): Promise<void> {
    await Promise.resolve()
  }
}

async function shown(names: readonly string[]): Promise<string> {
  const reader = new OnDemand()
  const provider = new MeterProvider({ readers: [reader] })
  const app = closeAfterTest(Fastify())
  const gauge = provider.getMeter('test').createGauge('jobs', { description: 'Jobs.\r\u001b[2J' })
  for (const name of names) gauge.record(1, { name })
  await app.register(metricsPageOf({ own: async () => (await reader.collect()).resourceMetrics.scopeMetrics }))
  return (await app.inject('/metrics')).body
}

it('escapes control characters in names and descriptions, and keeps distinct names distinct', async () => {
  const body = await shown([
    'a\rb',
    'a\u001b[31mb',
    'a\u0000b',
    'a\u0001b',
    'a\u007fb',
    'a\u009bb',
    'a\tb',
    'a\nb',
    'ä "b" \\',
  ])
  expect(body).not.toMatch(/[^\P{Cc}\n]/u)
  expect(body.split('\n').filter(line => line.startsWith('jobs{'))).toEqual([
    String.raw`jobs{name="a\\u000db"} 1`,
    String.raw`jobs{name="a\\u001b[31mb"} 1`,
    String.raw`jobs{name="a\\u0000b"} 1`,
    String.raw`jobs{name="a\\u0001b"} 1`,
    String.raw`jobs{name="a\\u007fb"} 1`,
    String.raw`jobs{name="a\\u009bb"} 1`,
    String.raw`jobs{name="a\\u0009b"} 1`,
    String.raw`jobs{name="a\nb"} 1`,
    String.raw`jobs{name="ä \"b\" \\"} 1`,
  ])
  expect(body).toContain(String.raw`# HELP jobs Jobs.\\u000d\\u001b[2J`)
})
