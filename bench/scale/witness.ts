// What arrived at the backend: of each span only what is compared with the truth, and how long each end of a pipeline took to arrive.
import { cut } from '../../test/e2e/truth.ts'
import { OtlpReceiver } from '../../test/support/otlp-receiver.ts'
import type { ReceivedSpan } from '../../test/support/otlp-decode.ts'

const compared = ['pipeline.id', 'pipeline.status', 'job.id', 'job.status', 'platform.cicd.pipeline.run.attempt']

export class Witness implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = []
  readonly #receiver: OtlpReceiver
  /** When the webhook of an end was sent (Unix ms), by pipeline and attempt. */
  readonly #ended = new Map<string, number>()
  /** From that webhook to the arrival of the span, ms. */
  readonly delays: number[] = []

  private constructor(receiver: OtlpReceiver) {
    this.#receiver = receiver
    receiver.on('received', ({ spans }) => {
      for (const span of spans) this.#take(span)
    })
  }

  static async start(): Promise<Witness> {
    return new Witness(await OtlpReceiver.start({ keep: false }))
  }

  get port(): number {
    return this.#receiver.port
  }

  /** An end of a pipeline is being reported now. */
  ended(pipelineId: number, attempt: number): void {
    this.#ended.set(`${pipelineId} ${attempt}`, Date.now())
  }

  /** The delay, ms, that so large a share of the ends did not exceed. */
  percentile(share: number): number {
    const sorted = this.delays.toSorted((a, b) => a - b)
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver.close()
  }

  #take(span: ReceivedSpan): void {
    const attributes = Object.fromEntries(Object.entries(span.attributes).filter(([name]) => compared.includes(name)))
    // The API's times have milliseconds, those of webhooks have not: they are compared by the second.
    const [start, end] = [cut(span.start), cut(span.end)]
    this.spans.push({ ...span, start, end, attributes, resource: { attributes: {}, schemaUrl: '' } })
    if (span.kind !== 'server') return
    const attempt = Number(attributes['platform.cicd.pipeline.run.attempt'] ?? 1)
    const ended = this.#ended.get(`${Number(attributes['pipeline.id'])} ${attempt}`)
    if (ended !== undefined) this.delays.push(Date.now() - ended)
  }
}
