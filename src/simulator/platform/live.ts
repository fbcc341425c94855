// Runs the simulated platform live, faster than real time: new pipelines are started continuously, and every change is sent as a webhook.
import { systemClock } from '../../lib/clock.ts'
import { createChanges, createIncidents } from './events.ts'
import { deliveryOf, deploymentOf, type Delivery } from './delivery.ts'
import { Lifecycle } from './lifecycle.ts'
import { Random } from './random.ts'
import { allScenarios, scenarios, type ScenarioName } from './scenarios.ts'
import { WebhookSender, type SendCounts, type SendOptions } from './sender.ts'
import { PlatformState } from './state.ts'
import { Timeline } from './timeline.ts'
import { defaultInstance } from './world.ts'

export interface LiveOptions extends SendOptions {
  /** How many seconds pass on the platform per real second. The default is 30. */
  readonly speed?: number | undefined
  /** The time between two new pipelines, in seconds of the platform's clock. The default is 40. */
  readonly every?: number | undefined
  /** The scenarios, which are started one after another and then again from the first. By default all scenarios are used. */
  readonly scenarios?: readonly [ScenarioName, ...ScenarioName[]] | undefined
  /** The number of pipelines to start, not counting the pipelines that they trigger. By default there is no limit. */
  readonly pipelines?: number | undefined
  /** The start time of the platform's clock (see `LiveClock`), in Unix ms. The default is one day ago. */
  readonly start?: number | undefined
  /** The state of the platform, to be shared with a `RestApi`. */
  readonly state?: PlatformState | undefined
  /** Whether to send fields that only the newest platforms send (see `PayloadOptions.newest`). The default is true. */
  readonly newest?: boolean | undefined
  /** Whether webhooks are also sent for deployments, merge requests and incidents. The default is false. */
  readonly events?: boolean | undefined
  /** How many pipelines are kept. Older pipelines are dropped once they have finished. The default is 2,000. */
  readonly remembered?: number | undefined
}

const day = 24 * 3600 * 1000

/** The options that decide which pipelines are started, and when. */
type Play = Pick<
  LiveOptions,
  'seed' | 'instance' | 'newest' | 'events' | 'scenarios' | 'every' | 'pipelines' | 'remembered'
>

/** Returns how long these pipelines take on the platform's clock, from the first start to the last end, in ms. */
export function lengthOf(play: Play & { readonly pipelines: number }): number {
  const timeline = new Timeline(0)
  plan(play, new PlatformState(), timeline, () => undefined)
  timeline.runAll()
  return timeline.now
}

/** Schedules the pipelines. `send` is called with every webhook when it is due. */
function plan(play: Play, state: PlatformState, timeline: Timeline, send: (delivery: Delivery) => void): void {
  const random = new Random(play.seed ?? 1)
  const payload = { instance: play.instance ?? defaultInstance, newest: play.newest ?? true }
  const lifecycle = new Lifecycle(state, timeline, random, news => {
    send(deliveryOf(news, payload, random))
    const deployment = play.events === true ? deploymentOf(news, payload, random) : undefined
    if (deployment !== undefined) send(deployment)
    if (play.events === true) {
      changed(news)
      broken(news)
    }
  })
  const broken = createIncidents(state.incidents, payload.instance, timeline, new Random((play.seed ?? 1) + 3), send)
  const changed = createChanges(payload.instance, timeline, new Random((play.seed ?? 1) + 2), send)
  const names: readonly ScenarioName[] = play.scenarios ?? allScenarios
  const { every = 40, pipelines = Infinity, remembered = 2_000 } = play
  // Audit events use a separate random number generator, so that the pipelines are the same with and without audit events.
  const deeds = new Random((play.seed ?? 1) + 1)
  const arrive = (count: number): void => {
    if (count >= pipelines) return
    const name = names[count % names.length]
    if (name !== undefined) lifecycle.create(scenarios[name](random))
    state.forget(remembered)
    if (count % 3 === 1) state.audit.happen(deeds, timeline.now)
    timeline.after(random.between(0.7, 1.3) * every, () => arrive(count + 1))
  }
  timeline.after(0, () => arrive(0))
}

export class LivePlatform {
  readonly state: PlatformState
  readonly #sender: WebhookSender
  readonly #timeline: Timeline
  readonly #clock: LiveClock
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  /** Starts the simulation immediately. */
  constructor(options: LiveOptions) {
    const { state = new PlatformState(), start = Date.now() - day, speed = 30 } = options
    this.state = state
    this.#sender = new WebhookSender(options)
    this.#timeline = new Timeline(start)
    this.#clock = new LiveClock(start, speed)
    plan(options, state, this.#timeline, delivery => void this.#sender.send(delivery))
    this.#running = this.#run()
  }

  get counts(): Readonly<SendCounts> {
    return this.#sender.counts
  }

  /** The time on the platform's clock, in Unix ms. */
  get now(): number {
    return this.#clock.now
  }

  /** Resolves when all pipelines have ended and all webhooks were sent. If the number of pipelines is not limited, it never resolves. */
  async finished(): Promise<void> {
    await this.#running
    await this.#sender.close()
  }

  /** Stops the clock, and waits for webhooks in flight. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.finished()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      this.#timeline.runUntil(this.now)
      const { next } = this.#timeline
      if (next === undefined) return
      await systemClock.sleep(this.#clock.until(next), signal)
    }
  }
}

/** A clock that starts in the past and runs faster than the real clock until it has caught up, so that no time is ever in the future. */
export class LiveClock {
  readonly #start: number
  readonly #speed: number
  readonly #began = Date.now()
  readonly #beganAt = performance.now()

  /**
   * `start`: the first time on the clock in Unix ms, which must not be later than the real time. `speed`: how many seconds pass on this clock per
   * real second, at least 1.
   */
  constructor(start: number, speed: number) {
    this.#start = Math.min(start, this.#began)
    this.#speed = speed
  }

  /** The time of the clock in Unix ms. */
  get now(): number {
    const passed = performance.now() - this.#beganAt
    return Math.min(this.#start + passed * this.#speed, this.#began + passed)
  }

  /** Returns how many real ms remain until the clock reaches `at`, or 0 if that time has passed. */
  until(at: number): number {
    const passed = performance.now() - this.#beganAt
    const needed = Math.max((at - this.#start) / this.#speed, at - this.#began)
    return Math.max(0, needed - passed)
  }
}
