// Tests metrics and logs end to end, with a backend that rejects metrics, a real Prometheus, and the daemon's own telemetry. `totals.test.ts` tests
// totals across restarts and replicas.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'
import type { Misbehaviour } from '../support/misbehaviour.ts'
import { OtlpReceiver, startReceiver, newest } from '../support/otlp-receiver.ts'
import { moduleWith, noteModules, type LoadedModules } from './loaded-modules.ts'
import { hasPrometheus, startPrometheus } from '../support/prometheus.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'

const everything = { SERVICE_OBSERVABILITY_EXPORT: 'traces,metrics,logs', PIPESPAN_METRICS_INTERVAL: '200ms' }
async function post(daemon: Daemon, from: number, to: number): Promise<void> {
  for (let id = from; id <= to; id += 1) expect((await daemon.post(pipelineEvent({ id }))).status).toBe(202)
}

describe('metrics of one daemon', () => {
  let folder: string
  let receiver: OtlpReceiver
  let daemon: Daemon
  let loaded: LoadedModules
  /** `posted`: how many acme/shop pipelines the tests have posted, with ids from 1. `accepted`: how many deliveries were accepted in all. */
  let [posted, accepted] = [0, 0]
  const postMore = async (count: number): Promise<void> => {
    await post(daemon, posted + 1, posted + count)
    posted += count
    accepted += count
  }

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'pipespan-e2e-'))
    receiver = await OtlpReceiver.start()
    const file = path.join(folder, 'pipespan.yaml')
    const rules = [
      '  - { name: gpu, match: { tags: [gpu] }, per_minute: 0.5, factor: 2 }',
      '  - { name: rest, per_minute: 0.1 }',
    ]
    writeFileSync(file, ['costs:', '  unit: EUR', '  rules:', ...rules, ''].join('\n'))
    loaded = noteModules(folder)
    const env = { ...everything, PIPESPAN_CONFIG: file, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }
    daemon = await Daemon.startForAll(env, loaded.nodeArgs)
  })
  afterAll(async () => {
    await daemon.dispose()
    await receiver.close()
    rmSync(folder, { recursive: true })
  })

  it('exports traces, metrics and logs of one pipeline, with times, costs, the critical path, and exemplars that link to the trace', async () => {
    const body = JSON.parse(readFileSync('test/fixtures/webhooks/pipeline-merge-request.json', 'utf8')) as object
    const ran = (id: number, from: number, to: number, tags: readonly string[]) => ({
      ...{ id, name: `job ${id}`, stage: 'test', status: 'success', duration: to - from, queued_duration: 2 },
      started_at: `2025-03-11 10:12:${from} UTC`,
      finished_at: `2025-03-11 10:12:${to} UTC`,
      runner: { id: 1, runner_type: 'instance_type', tags },
    })
    const builds = [ran(1, 10, 40, ['gpu']), ran(2, 10, 25, ['linux']), ran(3, 42, 57, ['linux'])]
    const timestamp = '2025-03-11T10:11:02Z'
    expect((await daemon.post(JSON.stringify({ ...body, builds, commit: { timestamp } }))).status).toBe(202)
    accepted += 1
    const cost = () => receiver.metrics.filter(({ name }) => name === 'platform.cicd.compute.cost')
    await receiver.until(spans => spans.length === 4 && receiver.logs.length === 4 && cost().length > 0)
    const idsOf = (all: readonly { traceId?: string | undefined; spanId?: string | undefined }[]) =>
      all.map(({ traceId, spanId }) => `${traceId} ${spanId}`).sort()
    expect(idsOf(receiver.logs)).toEqual(idsOf(receiver.spans))
    expect(receiver.logs.every(({ flags }) => flags === 1)).toBe(true)
    expect(newest(receiver, 'cicd.pipeline.run.count')).toBe(1)

    const spanOf = (name: string) => receiver.spans.find(span => span.name === name)!
    const pipeline = receiver.spans.find(({ parentSpanId }) => parentSpanId === undefined)!
    // The pipeline's cost is the sum of its jobs' costs: half a minute at 0.5 a minute with factor 2, and twice a quarter of a minute at 0.1 a
    // minute.
    expect(pipeline.attributes).toMatchObject({
      'platform.cicd.pipeline.run.feedback_time': 119_000,
      'platform.cicd.pipeline.run.compute_time': 60_000,
      'platform.cicd.pipeline.run.cost': 0.5 + 0.025 + 0.025,
      'platform.cicd.pipeline.user.kind': 'human',
    })
    expect(spanOf('job: job 1').attributes).toMatchObject({
      'platform.cicd.pipeline.task.run.critical': true,
      'platform.cicd.pipeline.task.run.slack': 0,
      'platform.cicd.pipeline.task.run.cost': 0.5,
    })
    expect(spanOf('job: job 2').attributes).toMatchObject({
      'platform.cicd.pipeline.task.run.critical': false,
      'platform.cicd.pipeline.task.run.slack': 15_000,
    })
    expect(cost()[0]!.unit).toBe('EUR')
    const leads = cost()[0]!.points.map(point => 'exemplars' in point && point.exemplars[0])
    expect(leads).toMatchObject([
      { traceId: pipeline.traceId, spanId: pipeline.spanId },
      { traceId: pipeline.traceId, spanId: pipeline.spanId },
    ])
    expect(newest(receiver, 'platform.cicd.compute.time')).toBe(60)
  })

  it('shows the metrics of projects and of the daemon on loopback without an admin token, each metric family once', async () => {
    await postMore(3)
    let text = ''
    const scraped = async (): Promise<string> => (text = await (await fetch(`${daemon.adminUrl}/metrics`)).text())
    const count = new RegExp(
      `^pipeline_status_total\\{.*project_id="\\d+",project_path="acme/shop",vcs_owner_name="acme",vcs_repository_name="shop"\\} ${posted}$`,
      'm',
    )
    await expect.poll(scraped).toMatch(count)
    const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    expect(new Set(types).size).toBe(types.length)
    // The daemon's own metrics do not all change at the same time, so the test collects them over several scrapes.
    for (const own of [
      new RegExp(`^pipespan_webhook_deliveries_total\\{outcome="accepted"\\} ${accepted}$`, 'm'),
      /^pipespan_store_operation_duration_count\{operation="runs.takeIn"\} [1-9]/m,
      /^pipespan_export_queue_size\{destination="default",signal="traces"\} 0$/m,
    ]) {
      await expect.poll(scraped).toMatch(own)
    }
  })

  it.skipIf(!hasPrometheus)(
    'provides correct figures to the queries of a real Prometheus that scrapes the daemon',
    async () => {
      const prometheus = await startPrometheus(daemon.adminUrl)
      const total = 'sum(pipeline_status_total{project_path="acme/shop"})'
      // At least one pipeline must be counted completely before the first sample.
      if (posted === 0) await postMore(1)
      const first = posted
      await prometheus.until(total, first)
      await postMore(32)
      await prometheus.until(total, posted)
      await prometheus.until('up', 1)
      // The query computes a counter's increase between two of its samples. It does not extrapolate to the ends of the window, as rate() does.
      await prometheus.until(
        'sum(max_over_time(pipeline_status_total[5m]) - min_over_time(pipeline_status_total[5m]))',
        32,
      )
      // rate() extrapolates to the ends of its window, so the increase is at least 32: the less frequent the scrapes, the greater it is.
      const increase = async (): Promise<number> =>
        (await prometheus.query('sum(rate(pipeline_status_total[5m])) * 300')) ?? 0
      await expect.poll(increase).toBeGreaterThanOrEqual(32)
      await prometheus.until('sum(pipespan_webhook_deliveries_total{outcome="accepted"})', accepted)

      const project = 'acme/shop'
      const series = `cicd_pipeline_run_duration_bucket{project_path="${project}"}`
      const [traceId = ''] = await prometheus.exemplars(series)
      const search = await fetch(`${daemon.adminUrl}/api/pipelines?text=${traceId}`)
      const { pipelines: shown } = (await search.json()) as { pipelines: { project: string }[] }
      expect(shown.map(({ project }) => project)).toEqual([project])

      const text = await (await fetch(`${daemon.adminUrl}/metrics`)).text()
      const lint = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
      const complaints = `${lint.stdout}${lint.stderr}`.split('\n').filter(line => line !== '')
      // These two documented metrics are gauges although their names end in `total`, so promtool warns about them.
      const known = ['pipeline_jobs_total', 'cicd_pipeline_task_total'].map(
        name => `${name} non-counter metrics should not have "_total" suffix`,
      )
      expect(complaints.toSorted()).toEqual(known.toSorted())
    },
  )
  if (!hasPrometheus)
    process.stderr.write('Prometheus is not installed, so the test of scraping /metrics is skipped.\n')

  it('still sends traces and logs to a backend that rejects cumulative metrics', async () => {
    receiver.misbehave(refusingMetrics)
    await postMore(30)
    const all = accepted
    await receiver.until(spans => pipelines(spans) === all && pipelines(receiver.logs) === all)
    await daemon.process.logged(({ reason }) => reason === 'HTTP 400: no such metric type')
    receiver.behave()
    await receiver.until(() => newest(receiver, 'pipeline.status_total') === all)
  })

  it('sends no telemetry about itself by default, and does not load the SDK', async () => {
    expect(loaded.names()).toEqual(expect.arrayContaining(['main.js']))
    expect(loaded.names()).not.toContain(moduleWith(sdk))
  })
})

/** A string that occurs only in the module for the daemon's own telemetry. */
const sdk = 'var NodeSDK = class'

const refusingMetrics: Misbehaviour = {
  when: ({ signal }) => signal === 'metrics',
  fault: { kind: 'status', status: 400, message: 'no such metric type' },
}
const pipelines = (all: readonly { attributes: Readonly<Record<string, unknown>> }[]): number =>
  new Set(all.map(({ attributes }) => attributes['pipeline.id']).filter(id => id !== undefined)).size

describe('delta metrics', () => {
  it('counts each pipeline once in delta metrics, and still sends traces and logs if the backend rejects them', async () => {
    const receiver = await startReceiver()
    const daemon = await Daemon.start({
      ...everything,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
    })
    await post(daemon, 1, 20)
    const counts = () => receiver.metrics.filter(({ name }) => name === 'pipeline.status_total')
    const counted = (): number =>
      counts().reduce(
        (sum, { points }) =>
          sum + points.reduce((part, point) => part + ('value' in point ? Number(point.value) : 0), 0),
        0,
      )
    await receiver.until(() => counted() === 20)
    receiver.misbehave(refusingMetrics)
    await post(daemon, 21, 30)
    await receiver.until(spans => pipelines(spans) === 30 && pipelines(receiver.logs) === 30)
    await daemon.process.logged('an export was refused; it is now a dead letter')
    // A stopping daemon sends everything that is still pending.
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    expect(counted()).toBe(20)
    expect(new Set(counts().map(metric => metric.kind === 'sum' && metric.temporality))).toEqual(new Set(['delta']))
    const { stdout } = await daemon.command('dead-letters', 'list', '--json')
    expect(stdout).toContain('no such metric type')
  })
})

describe("the daemon's telemetry about itself", () => {
  it('sends its own telemetry to a separate endpoint as the service pipespan, with separate headers, and never together with pipelines', async () => {
    const [pipelines, own] = [await startReceiver(), await startReceiver()]
    const loaded = noteModules(temporaryFolder())
    const env = {
      ...everything,
      OTEL_EXPORTER_OTLP_ENDPOINT: pipelines.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=for-pipelines-alone',
      OTEL_SERVICE_NAME: 'shop',
      OTEL_METRIC_EXPORT_INTERVAL: '300',
      OTEL_METRIC_EXPORT_TIMEOUT: '300',
      PIPESPAN_SELF_TELEMETRY: 'true',
      PIPESPAN_SELF_OTLP_ENDPOINT: own.url,
    }
    const daemon = await Daemon.start(env, loaded.nodeArgs)
    await post(daemon, 1, 3)
    await own.until(() => newest(own, 'pipespan.webhook.deliveries') >= 3)
    await pipelines.until(spans => spans.length > 0)
    expect(loaded.names()).toContain(moduleWith(sdk))
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    const serviceNames = (receiver: OtlpReceiver) =>
      new Set([...receiver.metrics, ...receiver.spans].map(({ resource }) => resource.attributes['service.name']))
    expect(serviceNames(own)).toEqual(new Set(['pipespan']))
    expect(serviceNames(pipelines)).toEqual(new Set(['shop']))
    expect(own.metrics.every(({ name }) => name.startsWith('pipespan.'))).toBe(true)
    expect(pipelines.metrics.some(({ name }) => name.startsWith('pipespan.'))).toBe(false)
    expect(own.requests.every(({ headers }) => headers['x-api-key'] === undefined)).toBe(true)
    expect(pipelines.requests.every(({ headers }) => headers['x-api-key'] === 'for-pipelines-alone')).toBe(true)
  })
})
