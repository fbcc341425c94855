// A sender for daemons that do not die: what is not acknowledged, as by a store that could not write in time on a busy machine, is sent
// again with its key, as by the platform's resend button.
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

  /** How often anything was sent. */
  get sent(): number {
    return this.#sender.counts.sent
  }

  /** Resolves when all of them are acknowledged; rejects when one is refused for another reason than that the store cannot take it now. */
  async sendAll(deliveries: Iterable<Delivery>): Promise<void> {
    await this.#sender.sendAll(deliveries)
    expect([200, 202, 503]).toEqual(expect.arrayContaining([...this.#statuses]))
    if (this.#refused.length > 0) await this.sendAll(this.#refused.splice(0))
  }

  async close(): Promise<void> {
    await this.#sender.close()
  }
}

/** What another sender sent, and was not acknowledged. */
export async function resend(missed: Iterable<Delivery>, options: SendOptions): Promise<void> {
  const sender = new ResendingSender(options)
  await sender.sendAll(missed)
  await sender.close()
}
