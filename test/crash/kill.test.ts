// The daemon is killed with SIGKILL at random times under load and restarted. Everything that it acknowledged arrives, and nothing arrives twice,
// except requests to the backend that were in flight at a kill.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { WebhookSender } from '../../src/simulator/platform/sender.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { Daemon, webhookToken } from '../e2e/daemon.ts'
import { complete, differences } from '../e2e/truth.ts'
import { arrivals, numberProcess } from './arrivals.ts'
import { isFull, makeLoad, report, twice } from '../e2e/load.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'

const size = isFull ? { pipelines: 2_000, webhooks: 40_000, kills: 40 } : { pipelines: 15, webhooks: 200, kills: 1 }
const timeoutMs = 900_000
const seed = isFull ? Date.now() % 1_000_000 : 5

it(
  'delivers everything that it acknowledged, however often it is killed, and repeats only requests whose outcome is unknown',
  async () => {
    const random = new Random(seed)
    const { deliveries, truths } = makeLoad({ seed: 30, ...size })
    const receiver = closeAfterTest(await OtlpReceiver.start())
    receiver.misbehave({ fault: { kind: 'slow' }, delay: 30 })
    const [port = 0] = await freePorts(1)
    let processNumber = 1
    const daemon = await Daemon.start({
      ...numberProcess(processNumber),
      PIPESPAN_LISTEN: `127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    })

    // A delivery that was not acknowledged, perhaps because the store could not be written in time, is sent again with the same key, like with the
    // platform's resend button.
    const queue = twice(deliveries, 31)
    const sender = new WebhookSender({
      url: daemon.webhooks,
      token: webhookToken,
      concurrency: 16,
      onSent: (delivery, outcome) => {
        if (outcome.kind === 'failed' || outcome.status === 503) queue.push(delivery)
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

    const killAndRestart = async (): Promise<void> => {
      await daemon.kill()
      // Some processes are killed before the daemon becomes ready.
      if (random.chance(0.3)) await daemon.startAndKill(random.between(0, 500), numberProcess((processNumber += 1)))
      await daemon.restart(numberProcess((processNumber += 1)))
    }
    for (let count = 0; count < size.kills; count += 1) {
      await sleep(random.between(20, 700))
      await (up = killAndRestart())
    }
    await load
    await (up = killAndRestart())
    await receiver.until(complete(truths))
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    await sender.close()

    const { once, repeated, unexplained } = arrivals(receiver.requests)
    expect(differences(truths, once)).toEqual([])
    expect(unexplained).toEqual([])
    if (isFull)
      report({ seed, kills: processNumber - 1, sent: sender.counts.sent, unanswered: sender.counts.failed, repeated })
  },
  timeoutMs,
)
