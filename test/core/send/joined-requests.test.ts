// Delta metrics in the requests that are sent: pipelines that ended at the same time share their points.
import { expect, it } from 'vitest'
import { Backend } from './backend.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { decodeMetrics } from '../../support/otlp-decode.ts'
import { destination, endpoint, maxWaitMs, openBench, range } from './bench.ts'
import { encodeMetrics } from '../../../src/core/telemetry/encode.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'

it('counts all pipelines of a millisecond in one point, and each once when the request is divided', async () => {
  const bench = closeAfterTest(openBench())
  const backend = closeAfterTest(await Backend.start())
  const settings = telemetrySettings({ profiles })
  bench.encode(chunk => encodeMetrics([chunk], settings))
  await bench.enqueue(range(1, 8), [{ destination: 'default', signal: 'metrics' }])
  const accepted: Buffer[] = []
  backend.behave = ({ body }, index) => {
    if (index === 0) return { status: 413 }
    accepted.push(body)
    return { status: 200 }
  }
  const exporter = bench.exporter([destination('', { signals: { metrics: endpoint(`${backend.url}/v1/metrics`) } })])
  exporter.start()
  await exporter.flush(maxWaitMs)
  await backend.until(() => accepted.length === 2)
  const counted = accepted.map(body => {
    const received = decodeMetrics(body)
    for (const { points } of received) {
      const keys = points.map(({ attributes, nanos }) => JSON.stringify([attributes, String(nanos)]))
      expect(new Set(keys).size).toBe(keys.length)
    }
    return received.flatMap(one => (one.kind === 'sum' && one.name === 'pipeline.status_total' ? [...one.points] : []))
  })
  expect(counted.map(points => points.map(({ value, exemplars }) => [value, exemplars.length]))).toEqual([
    [[4, 4]],
    [[4, 4]],
  ])
})
