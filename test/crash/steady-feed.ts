// A steady stream of pipelines, each reported by only one delivery. Every acknowledged pipeline must arrive, whatever happens to the daemon in the
// meantime. A delivery without a 2xx response is sent again, like with the platform's resend button.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { isFull } from '../full.ts'
import { webhookToken } from '../e2e/daemon.ts'

const senders = 4
/** Pause of each sender between deliveries, ms. */
const pause = isFull ? 1 : 80

export class SteadyFeed {
  readonly acknowledged = new Set<number>()
  /** Number of responses other than 2xx, by status. Status 0 stands for no response. */
  readonly refused = new Map<number, number>()
  readonly #url: string
  #next = 1
  #isOn = true
  readonly #done: Promise<unknown>

  constructor(url: string) {
    this.#url = url
    this.#done = Promise.all(Array.from({ length: senders }, async () => this.#send()))
  }

  async #send(): Promise<void> {
    while (this.#isOn) {
      const id = this.#next++
      while (!(await this.#post(id))) await sleep(20)
      await sleep(pause)
    }
  }

  async #post(id: number): Promise<boolean> {
    const status = await fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-service-token': webhookToken,
        'x-service-event': 'Pipeline Hook',
        'idempotency-key': `once-${id}`,
      },
      body: pipelineEvent({ id }),
    }).then(
      async answer => answer.text().then(() => answer.status),
      () => 0,
    )
    if (status >= 200 && status < 300) this.acknowledged.add(id)
    else this.refused.set(status, (this.refused.get(status) ?? 0) + 1)
    return this.acknowledged.has(id)
  }

  /** Resolves once this many more deliveries have been acknowledged. */
  async more(count: number): Promise<void> {
    const enough = this.acknowledged.size + count
    while (this.acknowledged.size < enough) await sleep(2)
  }

  /** Resolves once all started deliveries have been acknowledged. */
  async stop(): Promise<void> {
    this.#isOn = false
    await this.#done
  }

  /** Waits until everything that was acknowledged has arrived. */
  async arrivesAt(receiver: OtlpReceiver, timeout: number): Promise<void> {
    const missing = (): number[] => {
      const there = new Set(receiver.spans.map(({ attributes }) => Number(attributes['cicd.pipeline.run.id'])))
      return [...this.acknowledged].filter(id => !there.has(id))
    }
    await expect.poll(missing, { timeout, interval: 200 }).toEqual([])
  }
}
