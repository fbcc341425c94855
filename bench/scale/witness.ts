// Records the spans that arrive at the backend, with only the fields that are compared with the simulated pipelines, and how long each pipeline end
// took to arrive.
import { cut } from '../../test/e2e/truth.ts'
import { OtlpReceiver } from '../../test/support/otlp-receiver.ts'
import type { ReceivedSpan } from '../../test/support/otlp-decode.ts'

const compared = ['pipeline.id', 'pipeline.status', 'job.id', 'job.status', 'platform.cicd.pipeline.run.attempt']

export class Witness implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = []
  readonly #receiver: OtlpReceiver
  /** When the webhook about a pipeline's end was sent, Unix time in ms, by pipeline and attempt. */
  readonly #ended = new Map<string, number>()
  /** Times from the webhook about a pipeline's end to the arrival of its span, ms. */
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

  /** Records that a pipeline's end is being reported now. */
  ended(pipelineId: number, attempt: number): void {
    this.#ended.set(`${pipelineId} ${attempt}`, Date.now())
  }

  /** Returns the given percentile (0 to 1) of the delays, ms. */
  percentile(share: number): number {
    const sorted = this.delays.toSorted((a, b) => a - b)
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver.close()
  }

  #take(span: ReceivedSpan): void {
    const attributes = Object.fromEntries(Object.entries(span.attributes).filter(([name]) => compared.includes(name)))
    // Times are compared in whole seconds, because times in webhooks, unlike times in the API, have no milliseconds.
    const [start, end] = [cut(span.start), cut(span.end)]
    this.spans.push({ ...span, start, end, attributes, resource: { attributes: {}, schemaUrl: '' } })
    if (span.kind !== 'server') return
    const attempt = Number(attributes['platform.cicd.pipeline.run.attempt'] ?? 1)
    const ended = this.#ended.get(`${Number(attributes['pipeline.id'])} ${attempt}`)
    if (ended !== undefined) this.delays.push(Date.now() - ended)
  }
}
