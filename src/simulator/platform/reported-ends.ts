// Which ends of pipelines were reported by webhooks. Other ends that arrive at the receiver were found by polling.
import type { Delivery } from './delivery.ts'
import type { SendOutcome } from './sender.ts'

export class ReportedEnds {
  readonly #last = new Map<number, string>()

  /** Call it after every send. */
  record({ kind, pipelineId, body }: Delivery, outcome: SendOutcome): void {
    if (kind !== 'pipeline' || outcome.kind !== 'answered' || outcome.status >= 300) return
    const { object_attributes: reported } = JSON.parse(body) as { object_attributes: { status: string } }
    this.#last.set(pipelineId, reported.status)
  }

  /** True when a webhook has reported that the pipeline is in this status. */
  has(pipelineId: number, status: string): boolean {
    return this.#last.get(pipelineId) === status
  }
}
