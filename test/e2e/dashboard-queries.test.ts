// The queries of the shipped dashboards, answered by a real Prometheus that scrapes a daemon at work.
import { expect, it, onTestFinished } from 'vitest'
import { dashboards, expressionsOf, promqlOf } from '../deploy/grafana-dashboards.ts'
import { hasPrometheus, startPrometheus } from '../support/prometheus.ts'
import { openHouse } from '../pages/house.ts'

/** Rows of the dashboard of pipelines that have data wherever pipelines ran. */
const filled = ['Overview', 'Duration and results', 'Jobs']

it.skipIf(!hasPrometheus)('all are valid, and those about pipelines and jobs have answers', async () => {
  const house = await openHouse({
    SERVICE_OBSERVABILITY_EXPORT: 'traces,metrics',
    PIPESPAN_JOB_METRICS: 'all',
  })
  onTestFinished(async () => house.close())
  await house.live(['release', 'mergeRequest'])
  const prometheus = await startPrometheus(house.url)
  await expect.poll(async () => prometheus.query('count(pipeline_status_total)')).toBeGreaterThan(0)
  await house.live(['release', 'mergeRequest'], { seed: 7 })
  await expect.poll(async () => prometheus.query('sum(changes(pipeline_status_total[5m]))')).toBeGreaterThan(0)

  for (const [, dashboard] of dashboards) {
    for (const promql of expressionsOf(dashboard)) expect(await prometheus.count(promql)).toBeGreaterThanOrEqual(0)
  }
  const [, pipelines] = dashboards.find(([name]) => name === 'pipelines.json')!
  let row = ''
  let checked = 0
  for (const { type, title, targets = [] } of pipelines.panels) {
    if (type === 'row') row = title
    if (!filled.includes(row)) continue
    for (const { expr = '' } of targets) {
      checked += 1
      // Nothing fails for sure, and nothing runs any more.
      if (!/errors|failing|under way/i.test(title))
        expect(await prometheus.count(promqlOf(expr)), title).toBeGreaterThan(0)
    }
  }
  expect(checked).toBeGreaterThan(8)
})
if (!hasPrometheus) process.stderr.write('Prometheus is not installed: the queries of dashboards are not run here.\n')
