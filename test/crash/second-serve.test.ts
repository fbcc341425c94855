// While a daemon runs under load, a second `serve` is started on its store again and again, by the path of the file or by a link to it. Each refuses
// to start. Everything that the first daemon acknowledges before, during and after these attempts arrives, even if it is killed at the end.
import { readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { WebhookSender } from '../../src/simulator/platform/sender.ts'
import { Daemon, run, webhookToken } from '../e2e/daemon.ts'
import { complete, differences } from '../e2e/truth.ts'
import { arrivals, numberProcess } from './arrivals.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { isFull, makeLoad, report, twice } from '../e2e/load.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'
import type { ReceivedSpan } from '../support/otlp-decode.ts'

const size = isFull ? { pipelines: 1_000, webhooks: 20_000, rounds: 40 } : { pipelines: 10, webhooks: 150, rounds: 1 }
const timeoutMs = 900_000
const seed = isFull ? Date.now() % 1_000_000 : 7

/** The lowest ID of the pipelines that only one delivery reports. It is far from all other IDs. */
const firstSingle = 900_000_000

function singleDelivery(id: number): Delivery {
  return { kind: 'pipeline', at: 0, pipelineId: id, jobId: undefined, key: `once-${id}`, body: pipelineEvent({ id }) }
}

const pipelineOf = ({ attributes }: ReceivedSpan): number => Number(attributes['cicd.pipeline.run.id'])
const isSingle = (span: ReceivedSpan): boolean => pipelineOf(span) >= firstSingle

it(
  'rejects a second `pipespan serve` on the same store, and leaves the first one undisturbed',
  async () => {
    const random = new Random(seed)
    const { deliveries, truths } = makeLoad({ seed: 40, ...size })
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const [port = 0] = await freePorts(1)
    const env = { ...numberProcess(1), PIPESPAN_LISTEN: `127.0.0.1:${port}`, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }
    const daemon = await Daemon.start(env)
    const queue = twice(deliveries, 41)
    const acknowledged = new Set<number>()
    const sender = closeAfterTest(
      new WebhookSender({
        url: daemon.webhooks,
        token: webhookToken,
        concurrency: 8,
        onSent: (delivery, outcome) => {
          if (outcome.kind === 'failed' || outcome.status === 503) {
            queue.push(delivery)
            return
          }
          expect(outcome.status).toBeLessThan(300)
          acknowledged.add(delivery.pipelineId)
        },
      }),
    )
    const link = path.join(temporaryFolder(), 'link.db')
    symlinkSync(daemon.storeFile, link)

    let refused = 0
    const refuse = async (): Promise<void> => {
      const file = refused % 2 === 0 ? daemon.storeFile : link
      const second = await run(['serve'], { ...daemon.env, ...numberProcess(2), PIPESPAN_STORE_URL: `sqlite:${file}` })
      expect(second).toMatchObject({ code: 1, signal: null })
      expect(second.stderr).toMatch(
        new RegExp(`Another pipespan process uses .*process ${daemon.process.child.pid} on `),
      )
      refused += 1
    }
    const share = Math.ceil(queue.length / size.rounds)
    while (queue.length > 0) {
      // Some second daemons start while the first one is busy, the others after it has accepted all deliveries.
      const sent = sender.sendAll(queue.splice(0, share))
      if (random.chance(0.5)) await sent
      await refuse()
      await sent
    }
    await refuse()
    expect(daemon.process.child.exitCode).toBeNull()
    // Deliveries that are acknowledged from now on must survive a kill before their export.
    const last = Array.from({ length: isFull ? 300 : 100 }, (_, at) => singleDelivery(firstSingle + at))
    const sent = sender.sendAll(last)
    const newest = (): number[] => [...acknowledged].filter(id => id >= firstSingle)
    while (newest().length < last.length / 2) await sleep(1)
    await daemon.kill()
    await sent
    const promised = newest()
    expect(readdirSync(path.dirname(link)).filter(name => name.startsWith('link'))).toEqual(['link.db'])

    await daemon.restart(numberProcess(3))
    while (queue.length > 0) await sender.sendAll(queue.splice(0))
    await receiver.until(complete(truths))
    const arrived = (): Set<number> => new Set(receiver.spans.map(pipelineOf))
    await expect.poll(() => promised.filter(id => !arrived().has(id)), { timeout: timeoutMs / 2 }).toEqual([])
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    const { once, unexplained } = arrivals(receiver.requests)
    const singleTraces = new Set(once.filter(isSingle).map(({ traceId }) => traceId))
    expect(
      differences(
        truths,
        once.filter(({ traceId }) => !singleTraces.has(traceId)),
      ),
    ).toEqual([])
    expect(unexplained).toEqual([])
    if (isFull) report({ seed, refused, sent: sender.counts.sent })
  },
  timeoutMs,
)
