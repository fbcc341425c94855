// Tests at scale that order and duplicates do not matter: the shipped daemon receives a load that is shuffled and sent twice.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Daemon, webhookToken } from './daemon.ts'
import { ResendingSender } from './resending-sender.ts'
import { complete, differences } from './truth.ts'
import { isFull, makeLoad, report, twice } from './load.ts'

const size = isFull ? { pipelines: 5_000, webhooks: 100_000 } : { pipelines: 60, webhooks: 1_000 }
const timeoutMs = 900_000

it(
  'exports one span per job run and one pipeline span per attempt when webhooks are shuffled and duplicated',
  async () => {
    const { deliveries, truths } = makeLoad({ seed: 20, ...size })
    const receiver = closeAfterTest(await OtlpReceiver.start())
    // The settle delay is so short that most snapshots are taken before all webhooks of their pipelines have arrived, which is the hardest case.
    const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '200ms' })
    const sender = new ResendingSender({ url: daemon.webhooks, token: webhookToken, concurrency: 32 })
    const began = performance.now()
    await sender.sendAll(twice(deliveries, 21))
    const sent = performance.now()
    await sender.close()
    await receiver.until(complete(truths))
    const arrived = performance.now()
    const { peak } = daemon.memory()
    // On shutdown the daemon takes and sends all due snapshots, so no incorrect span can arrive after the comparison.
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    expect(differences(truths, receiver.spans)).toEqual([])
    if (!isFull) return
    report({
      webhooks: sender.sent,
      pipelines: truths.length,
      spans: receiver.spans.length,
      webhooksPerSecond: Math.round((1_000 * sender.sent) / (sent - began)),
      pipelinesPerSecond: Math.round((1_000 * truths.length) / (arrived - began)),
      lastSpanAfterLastWebhookMs: Math.round(arrived - sent),
      peakMemoryMB: Math.round(peak / 1e6),
    })
  },
  timeoutMs,
)
