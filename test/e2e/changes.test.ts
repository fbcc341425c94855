// Changes on the shipped daemon: reported by events of two hooks and by their pipelines, repeated and overtaking each other, to a daemon that is
// killed before it has counted them all. Each time is counted once.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon, webhookToken } from './daemon.ts'
import { LivePlatform } from '../../src/simulator/platform/live.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { isAcknowledged, resend } from './resending-sender.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'

interface ChangeHook {
  readonly object_attributes: { iid: number; action: string; created_at: string; updated_at: string }
}

it('counts the time to the merge, the approval and the first pipeline of every change once, despite a kill', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const daemon = await Daemon.start({
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, SERVICE_OBSERVABILITY_EXPORT: 'metrics,logs' },
    ...{ PIPESPAN_SETTLE: '100ms', PIPESPAN_ENRICH_DEADLINE: '500ms', PIPESPAN_METRICS_INTERVAL: '200ms' },
  })
  const changes = new Map<string, ChangeHook['object_attributes']>()
  const missed: Delivery[] = []
  const platform = new LivePlatform({
    ...{ url: daemon.webhooks, token: webhookToken, events: true, pipelines: 6, every: 20, speed: 4_000 },
    ...{ hooks: 2, duplicates: 0.3, delay: 100, scenarios: ['mergeRequest'] },
    onSent: (delivery, outcome) => {
      const { kind, key, body } = delivery
      if (kind === 'change') changes.set(key, (JSON.parse(body) as ChangeHook).object_attributes)
      if (!isAcknowledged(outcome)) missed.push(delivery)
    },
  })
  await platform.finished()
  await resend(missed, { url: daemon.webhooks, token: webhookToken })
  await daemon.kill()
  await daemon.restart()

  const of = (action: string) =>
    new Map([...changes.values()].flatMap(one => (one.action === action ? [[one.iid, one]] : [])))
  const [opened, approved, merged] = [of('open'), of('approved'), of('merge')]
  expect(Math.min(opened.size, approved.size, merged.size)).toBeGreaterThan(0)
  const seconds = [...merged.values()].map(one => (Date.parse(one.updated_at) - Date.parse(one.created_at)) / 1_000)
  const latest = (name: string) => {
    const found = receiver.metrics.filter(one => one.name === `platform.vcs.change.${name}`).at(-1)
    return found?.kind === 'histogram' ? found.points.map(({ count, sum }) => [Number(count), sum]) : undefined
  }
  const truth = [merged.size, approved.size, opened.size]
  const counts = () =>
    ['time_to_merge', 'time_to_approval', 'time_to_first_pipeline'].map(name => latest(name)?.[0]?.[0] ?? 0)
  await receiver.until(() => counts().every((count, at) => count >= truth[at]!))
  expect(counts()).toEqual(truth)
  expect(latest('time_to_merge')).toEqual([[merged.size, seconds.reduce((a, b) => a + b, 0)]])
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  expect(counts()).toEqual(truth)
})
