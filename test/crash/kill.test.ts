// The daemon killed with SIGKILL at random moments of a load, and started again: what it had acknowledged arrives, and
// nothing comes twice but what was on its way to the backend at that very moment.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { OtlpReceiver } from '../../src/demo/otlp-receiver.ts'
import { Random } from '../../src/demo/platform/random.ts'
import { WebhookSender } from '../../src/demo/platform/sender.ts'
import { freePorts } from '../../src/demo/daemon-process.ts'
import { Daemon, webhookToken } from '../e2e/daemon.ts'
import { complete, differences } from '../e2e/truth.ts'
import { isFull, makeLoad, report, twice } from '../e2e/load.ts'
import type { Delivery } from '../../src/demo/platform/delivery.ts'
import type { ReceivedRequest } from '../../src/demo/received-request.ts'
import type { ReceivedSpan } from '../../src/demo/otlp-traces.ts'

const size = isFull ? { pipelines: 2_000, webhooks: 40_000, kills: 40 } : { pipelines: 100, webhooks: 1_800, kills: 5 }
const patience = isFull ? 600_000 : 60_000
const seed = isFull ? Date.now() % 1_000_000 : 5
/** How many requests the daemon has under way at a time: so many outcomes can one kill leave unknown. */
const inFlight = 4
/** Generous, ms: from the arrival of a request until its settlement is durable; from a kill until what it left has been read. */
const settling = { before: 5_000, after: 2_000 }

it(
  'delivers everything that it acknowledged, however often it is killed, and repeats only what a kill left unknown',
  async () => {
    const random = new Random(seed)
    const { deliveries, truths } = makeLoad({ seed: 30, ...size })
    const receiver = await OtlpReceiver.start()
    onTestFinished(async () => receiver.close())
    receiver.misbehave({ fault: { kind: 'slow' }, delay: 30 })
    const [port = 0] = await freePorts(1)
    const daemon = await Daemon.start({
      PIPESPAN_LISTEN: `127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    })

    // What got no answer is sent again with its key, as the platform's own resend button does.
    const queue = twice(deliveries, 31)
    const sender = new WebhookSender({
      url: daemon.webhooks,
      token: webhookToken,
      concurrency: 16,
      onSent: (delivery, outcome) => {
        if (outcome.kind === 'failed') queue.push(delivery)
        else expect(outcome.status).toBeLessThan(300)
      },
    })
    let up = Promise.resolve()
    const work = async (): Promise<void> => {
      for (let next: Delivery | undefined; (next = queue.pop()) !== undefined;) {
        await up
        await sender.send(next)
      }
    }
    const load = Promise.all(Array.from({ length: 16 }, work))

    const kills: number[] = []
    const killAndRestart = async (): Promise<void> => {
      kills.push(Date.now())
      await daemon.kill()
      // Some lives are too short to come up at all.
      if (random.chance(0.3)) await daemon.stillborn(random.between(0, 500))
      await daemon.restart()
    }
    for (let count = 0; count < size.kills; count += 1) {
      await sleep(random.between(20, 700))
      await (up = killAndRestart())
    }
    await load
    await (up = killAndRestart())
    await receiver.until(complete(truths), patience)
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    await sender.close()

    const { once, repeated, unexplained } = arrivals(receiver.requests, kills)
    expect(differences(truths, once)).toEqual([])
    expect(unexplained).toEqual([])
    expect(repeated).toBeLessThanOrEqual(inFlight * kills.length)
    if (isFull)
      report({ seed, kills: kills.length, sent: sender.counts.sent, unanswered: sender.counts.failed, repeated })
  },
  patience,
)

/** Each span once; how many requests were repeated, in whole or in part; and which spans came again without a kill near. */
function arrivals(
  requests: readonly ReceivedRequest[],
  kills: readonly number[],
): { once: ReceivedSpan[]; repeated: number; unexplained: string[] } {
  const last = new Map<string, { span: ReceivedSpan; request: ReceivedRequest }>()
  const repeated = new Set<ReceivedRequest>()
  const unexplained: string[] = []
  for (const request of requests.filter(({ kept }) => kept)) {
    for (const span of request.spans) {
      const before = last.get(span.spanId)
      last.set(span.spanId, { span, request })
      if (before === undefined) continue
      expect(span).toEqual(before.span)
      repeated.add(before.request)
      const { at } = before.request
      const isOfKill = kills.some(
        kill => at > kill - settling.before && at < kill + settling.after && kill < request.at,
      )
      if (!isOfKill) unexplained.push(`${span.name} ${span.spanId} came again, and no kill was near`)
    }
  }
  return { once: [...last.values()].map(({ span }) => span), repeated: repeated.size, unexplained }
}
