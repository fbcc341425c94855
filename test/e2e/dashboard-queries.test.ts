// Runs the queries of the shipped dashboards and of the documentation on a real Prometheus that scrapes a busy daemon.
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { dashboards, expressionsOf, promqlOf } from '../deploy/grafana-dashboards.ts'
import { generate } from '../support/generate.ts'
import { hasPrometheus, startPrometheus } from '../support/prometheus.ts'
import { openHouse } from '../console/house.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'

/** The rows of the pipeline dashboard that must show data, because some pipelines have ended and one is running. */
const filled = ['Overview', 'Duration and results', 'Jobs', 'Runners']

it.skipIf(!hasPrometheus)(
  'ships only valid dashboard queries, of which those about pipelines, jobs and runners return data',
  async () => {
    const api = closeAfterTest(await RestApi.start({ state: new PlatformState(), now: () => Date.now() }))
    const house = closeAfterTest(
      await openHouse({
        SERVICE_OBSERVABILITY_EXPORT: 'traces,metrics',
        PIPESPAN_JOB_METRICS: 'all',
        PIPESPAN_METRICS_INTERVAL: '200ms',
        PIPESPAN_PLATFORM_URL: api.url,
        PIPESPAN_PLATFORM_TOKEN: 'pat-1',
        PIPESPAN_INVENTORY_RUNNERS: 'brightwater',
      }),
    )
    await house.live(['release', 'mergeRequest'])
    const prometheus = await startPrometheus(house.url)
    await expect.poll(async () => prometheus.query('count(pipeline_status_total)')).toBeGreaterThan(0)
    await house.live(['release', 'mergeRequest'], { seed: 7 })
    await expect.poll(async () => prometheus.query('sum(changes(pipeline_status_total[5m]))')).toBeGreaterThan(0)
    await house.deliver(unfinished())
    for (const name of ['platform_cicd_pipeline_task_run_oldest_wait', 'cicd_worker_count'])
      await expect.poll(async () => prometheus.count(name), { message: name }).toBeGreaterThan(0)

    for (const [, dashboard] of dashboards) {
      for (const promql of expressionsOf(dashboard)) expect(await prometheus.count(promql)).toBeGreaterThanOrEqual(0)
    }
    for (const promql of documented()) {
      const count = await prometheus.count(promql)
      // Queries that end in `== 1` or `> 600` have no result here, because nothing is broken and nothing has waited for ten minutes.
      if (!/(== 1|> 600)$/.test(promql)) expect(count, promql).toBeGreaterThan(0)
    }
    const [, pipelines] = dashboards.find(([name]) => name === 'pipelines.json')!
    let row = ''
    let checked = 0
    for (const { type, title, targets = [] } of pipelines.panels) {
      if (type === 'row') row = title
      if (!filled.includes(row)) continue
      for (const { expr = '' } of targets) {
        checked += 1
        // Queries about errors and failures may have no result, because there may be none.
        if (!/errors|failing/i.test(title)) expect(await prometheus.count(promqlOf(expr)), title).toBeGreaterThan(0)
      }
    }
    expect(checked).toBeGreaterThan(11)
  },
)

/** Returns the deliveries of a running pipeline, up to the point where its last job waits for a runner. */
function unfinished(): readonly Delivery[] {
  const firstIds = { pipeline: 900_000, job: 9_000_000 }
  const start = Date.now() - 60_000
  const [family] = generate({ seed: 5, start, scenarios: ['release'], pipelines: 1, firstIds })
  const { deliveries } = family!
  const waits = deliveries.findLastIndex(({ kind, body }) => kind === 'job' && body.includes('"pending"'))
  return deliveries.slice(0, waits + 1)
}

/** Returns the queries in docs/numbers.md. */
function documented(): string[] {
  const text = readFileSync(new URL('../../docs/numbers.md', import.meta.url), 'utf8')
  return [...text.matchAll(/```promql\n(.*?)```/gs)].flatMap(([, block = '']) => block.trim().split('\n\n'))
}

if (!hasPrometheus)
  process.stderr.write('Prometheus is not installed, so the queries of dashboards and documentation are not tested.\n')
