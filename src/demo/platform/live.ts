// The simulated platform in real time, compressed: new pipelines keep coming, and every change of one is sent as a webhook.
import { systemClock } from '../../lib/clock.ts'
import { deliveryOf, deploymentOf } from './delivery.ts'
import { Lifecycle } from './lifecycle.ts'
import { Random } from './random.ts'
import { allScenarios, scenarios, type ScenarioName } from './scenarios.ts'
import { WebhookSender, type SendCounts, type SendOptions } from './sender.ts'
import { PlatformState } from './state.ts'
import { Timeline } from './timeline.ts'
import { truthOf, type PipelineTruth } from './truth.ts'
import { defaultInstance } from './world.ts'

export interface LiveOptions extends SendOptions {
  /** The platform's seconds in a real one. Default 30. */
  readonly speed?: number | undefined
  /** The platform's seconds between one new pipeline and the next. Default 40. */
  readonly every?: number | undefined
  /** Taken in turn. Default: all. */
  readonly scenarios?: readonly [ScenarioName, ...ScenarioName[]] | undefined
  /** Starts so many pipelines (triggered ones come on top), then only finishes them. Default: without end. */
  readonly pipelines?: number | undefined
  /**
   * What the platform's clock shows at the start, Unix ms. Default: a day ago, since it runs faster than the real one and
   * ought not to show times to come.
   */
  readonly start?: number | undefined
  /** Where everything is stored, for whoever else serves it. */
  readonly state?: PlatformState | undefined
  /** See `PayloadOptions.newest`. Default true. */
  readonly newest?: boolean | undefined
  /** Whether deployments are reported by events of their own, too. Default false. */
  readonly events?: boolean | undefined
  /** Pipelines that are remembered; older ones that are over are forgotten. Default 2,000. */
  readonly remembered?: number | undefined
}

const day = 24 * 3600 * 1000

export class LivePlatform {
  readonly state: PlatformState
  /** To be switched off by tests. */
  readonly sender: WebhookSender
  readonly #timeline: Timeline
  readonly #speed: number
  readonly #startedAt = performance.now()
  readonly #start: number
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  /** Starts at once. */
  constructor(options: LiveOptions) {
    const random = new Random(options.seed ?? 1)
    this.state = options.state ?? new PlatformState()
    const payload = { instance: options.instance ?? defaultInstance, newest: options.newest ?? true }
    this.sender = new WebhookSender(options)
    this.#speed = options.speed ?? 30
    this.#start = options.start ?? Date.now() - day
    this.#timeline = new Timeline(this.#start)
    const lifecycle = new Lifecycle(this.state, this.#timeline, random, news => {
      void this.sender.send(deliveryOf(news, payload, random))
      const deployment = options.events === true ? deploymentOf(news, payload, random) : undefined
      if (deployment !== undefined) void this.sender.send(deployment)
    })
    this.#arrivals(lifecycle, random, options)
    this.#running = this.#run()
  }

  get counts(): SendCounts {
    return this.sender.counts
  }

  /** Unix ms on the platform's clock. */
  get now(): number {
    return this.#start + (performance.now() - this.#startedAt) * this.#speed
  }

  truth(): PipelineTruth[] {
    return [...this.state.pipelines.values()].map(truthOf)
  }

  /** Resolves when nothing is going to happen any more and all is sent; never without a limit of `pipelines`. */
  async finished(): Promise<void> {
    await this.#running
    await this.sender.close()
  }

  /** Stops time; what is being sent is sent. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.finished()
  }

  #arrivals(lifecycle: Lifecycle, random: Random, options: LiveOptions): void {
    const names: readonly ScenarioName[] = options.scenarios ?? allScenarios
    const { every = 40, pipelines = Infinity, remembered = 2_000 } = options
    // Pipelines are the same without them.
    const deeds = new Random((options.seed ?? 1) + 1)
    const arrive = (count: number): void => {
      if (count >= pipelines) return
      const name = names[count % names.length]
      if (name !== undefined) lifecycle.create(scenarios[name](random))
      this.state.forget(remembered)
      if (count % 3 === 1) this.state.audit.happen(deeds, this.#timeline.now)
      this.#timeline.after(random.between(0.7, 1.3) * every, () => arrive(count + 1))
    }
    this.#timeline.after(0, () => arrive(0))
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      this.#timeline.runUntil(this.now)
      const { next } = this.#timeline
      if (next === undefined) return
      await systemClock.sleep(Math.max(0, (next - this.now) / this.#speed), signal)
    }
  }
}
