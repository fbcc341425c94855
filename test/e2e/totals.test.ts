// Tests that cumulative totals remain exact across restarts, a kill and several replicas.
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'
import { isFull } from './load.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { newest, OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent, postUntilTaken } from '../bounds/pipelines.ts'

describe('cumulative totals', () => {
  const count = isFull ? 1_000 : 40
  it(`are exact after ${count} pipelines that were reported twice, restarts, a kill, and two replicas`, async () => {
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const env = {
      SERVICE_OBSERVABILITY_EXPORT: 'traces,metrics,logs',
      PIPESPAN_METRICS_INTERVAL: '500ms',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      PIPESPAN_STORE_URL: await newDatabase(),
    }
    const replicas = [await Daemon.start(env), await Daemon.start(env)] as const
    let turn = 0
    const anyone = {
      post: async (body: string, headers: Record<string, string>) => replicas[turn++ % 2]!.post(body, headers),
    }
    const bodies = Array.from({ length: count }, (_, index) => pipelineEvent({ id: index + 1 }))
    const quarter = (index: number) => bodies.slice((index * count) / 4, ((index + 1) * count) / 4)
    await postUntilTaken(anyone, [...quarter(0), ...quarter(0)], 16)
    await replicas[0].stop()
    await replicas[0].restart()
    await postUntilTaken(anyone, [...quarter(1), ...quarter(0)], 16)
    await replicas[1].kill()
    await replicas[1].restart()
    await postUntilTaken(anyone, [...quarter(2), ...quarter(1)], 16)
    if (isFull) {
      await replicas[0].stop()
      await replicas[0].restart()
    }
    await postUntilTaken(anyone, [...quarter(3), ...quarter(2), ...quarter(3)], 16)
    await receiver.until(() => newest(receiver, 'pipeline.status_total') >= count)
    for (const replica of replicas) await replica.stop()
    expect(newest(receiver, 'pipeline.status_total')).toBe(count)
    expect(newest(receiver, 'cicd.pipeline.run.count')).toBe(count)
    // Each pipeline has two jobs. Their spans may still be pending until the leases of the killed process expire.
    expect(newest(receiver, 'job.duration_seconds')).toBe(2 * count)
    expect(newest(receiver, 'cicd.pipeline.run.active')).toBe(0)
  })
})
