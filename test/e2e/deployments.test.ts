// Tests deployments on the shipped daemon. Two hooks send deployment events in addition to the job events, duplicated and in a different order. Each
// record has the trace and span of its job.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon, webhookToken } from './daemon.ts'
import { LivePlatform } from '../../src/simulator/platform/live.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { resend } from './resending-sender.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'

it('exports every event of a deployment once, with the trace and span of the deploying job', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const daemon = await Daemon.start({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    SERVICE_OBSERVABILITY_EXPORT: 'traces,logs',
    PIPESPAN_SETTLE: '100ms',
    // The deadline is so long that even on a slow machine the snapshots of all pipelines are taken before it.
    PIPESPAN_ENRICH_DEADLINE: '10m',
  })
  const sent: Delivery[] = []
  const platform = new LivePlatform({
    ...{ url: daemon.webhooks, token: webhookToken, events: true, pipelines: 8, every: 20, speed: 2_000 },
    scenarios: ['family', 'retried'],
    onSent: delivery => void sent.push(delivery),
  })
  await platform.finished()
  // All events are sent again through a second hook, in a different order.
  const bySecondHook = sent.map(one => ({ ...one, key: `${one.key} of another hook` }))
  await resend(new Random(3).shuffle([...sent, ...bySecondHook]), { url: daemon.webhooks, token: webhookToken })
  const deployed = [...platform.state.pipelines.values()]
    .flatMap(({ jobs }) => [...jobs])
    .filter(({ plan, status }) => plan.environment !== undefined && ['success', 'failed'].includes(status))
  expect(deployed.length).toBeGreaterThan(2)

  const records = () => receiver.logs.filter(({ eventName }) => eventName === 'platform.deployment')
  const ended = () => records().filter(({ attributes }) => attributes['deployment.status'] !== undefined)
  // Spans and log records are sent in separate requests, so either may arrive first.
  const isOfSpan = ({ spanId }: { readonly spanId?: string | undefined }) =>
    receiver.spans.some(span => span.spanId === spanId)
  await receiver.until(() => ended().length >= deployed.length && records().every(isOfSpan))
  const ids = ended().map(({ attributes }) => attributes['deployment.id'])
  expect(ids.toSorted()).toEqual(deployed.map(({ id }) => String(id + 500_000)).toSorted())
  expect(
    new Set(
      records().map(({ attributes: of }) => JSON.stringify([of['deployment.id'], of['platform.deployment.status']])),
    ).size,
  ).toBe(records().length)
  const spans = new Map(receiver.spans.map(span => [span.spanId, span]))
  for (const { traceId, spanId, attributes } of records()) {
    const span = spans.get(spanId ?? '')
    expect(span?.traceId).toBe(traceId)
    expect(span?.attributes).toMatchObject({
      'cicd.pipeline.task.run.id': attributes['cicd.pipeline.task.run.id'],
      'deployment.environment.name': attributes['deployment.environment.name'],
      'deployment.name': attributes['deployment.name'],
    })
  }
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
})
