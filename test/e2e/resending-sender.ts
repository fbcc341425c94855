// Sends deliveries to a daemon that is not killed. A delivery that is not acknowledged, for example because the store could not write in time on a
// busy machine, is sent again with the same key, like with the platform's resend button.
import { expect } from 'vitest'
import { WebhookSender, type SendOptions, type SendOutcome } from '../../src/simulator/platform/sender.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'

export function isAcknowledged(outcome: SendOutcome): boolean {
  return outcome.kind === 'answered' && outcome.status < 300
}

export class ResendingSender {
  readonly #sender: WebhookSender
  readonly #refused: Delivery[] = []
  readonly #statuses = new Set<number>()

  constructor(options: SendOptions) {
    this.#sender = new WebhookSender({
      ...options,
      onSent: (delivery, outcome) => {
        if (outcome.kind === 'answered') this.#statuses.add(outcome.status)
        if (!isAcknowledged(outcome)) this.#refused.push(delivery)
      },
    })
  }

  /** Returns the number of requests sent, including resends. */
  get sent(): number {
    return this.#sender.counts.sent
  }

  /** Resolves when all deliveries are acknowledged. Rejects if the daemon responds with another error than 503. */
  async sendAll(deliveries: Iterable<Delivery>): Promise<void> {
    await this.#sender.sendAll(deliveries)
    expect([200, 202, 503]).toEqual(expect.arrayContaining([...this.#statuses]))
    if (this.#refused.length > 0) await this.sendAll(this.#refused.splice(0))
  }

  async close(): Promise<void> {
    await this.#sender.close()
  }
}

/** Sends another sender's deliveries that were not acknowledged. */
export async function resend(missed: Iterable<Delivery>, options: SendOptions): Promise<void> {
  const sender = new ResendingSender(options)
  await sender.sendAll(missed)
  await sender.close()
}
