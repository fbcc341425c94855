// Generates the webhooks of complete pipelines at once, without waiting, for tests and benchmarks. The same seed gives the same deliveries.
import { deliveryOf, type Delivery } from '../../src/simulator/platform/delivery.ts'
import { Lifecycle } from '../../src/simulator/platform/lifecycle.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { scenarios, type ScenarioName } from '../../src/simulator/platform/scenarios.ts'
import { PlatformState, type FirstIds } from '../../src/simulator/platform/state.ts'
import { Timeline } from '../../src/simulator/platform/timeline.ts'
import { truthOf, type PipelineTruth } from './truth.ts'
import { defaultInstance } from '../../src/simulator/platform/world.ts'

export interface GenerateOptions {
  readonly seed: number
  /** The scenarios for the pipelines, which are used one after another and then again from the first. */
  readonly scenarios: readonly [ScenarioName, ...ScenarioName[]]
  /** The number of pipelines that are started, not counting those that they trigger. */
  readonly pipelines: number
  /** The start time of the first pipeline, Unix ms. */
  readonly start?: number | undefined
  /** The number of seconds between the end of one pipeline and the start of the next. Default: 5. */
  readonly pause?: number | undefined
  readonly firstIds?: FirstIds | undefined
  readonly instance?: string | undefined
  /** Whether the payloads are those of the newest platform version (see `PayloadOptions.newest`). Default: true. */
  readonly newest?: boolean | undefined
}

/** A pipeline with all the pipelines that it triggered. */
export interface GeneratedFamily {
  /** The deliveries of the family, in the order in which the platform sends them. */
  readonly deliveries: readonly Delivery[]
  /** The pipelines of the family. The root comes first. */
  readonly pipelines: readonly PipelineTruth[]
}

const defaultStart = Date.UTC(2025, 2, 3, 9, 0, 0)

/** Generates one family at a time, so that a load of any size needs little memory. */
export function* generate(options: GenerateOptions): Generator<GeneratedFamily, void, undefined> {
  const random = new Random(options.seed)
  const state = new PlatformState(options.firstIds)
  const timeline = new Timeline(options.start ?? defaultStart)
  const payload = { instance: options.instance ?? defaultInstance, newest: options.newest ?? true }
  let deliveries: Delivery[] = []
  const lifecycle = new Lifecycle(state, timeline, random, news => deliveries.push(deliveryOf(news, payload, random)))
  for (let count = 0; count < options.pipelines; count += 1) {
    const name = options.scenarios[count % options.scenarios.length] ?? options.scenarios[0]
    lifecycle.create(scenarios[name](random))
    timeline.runAll()
    yield { deliveries, pipelines: [...state.pipelines.values()].map(truthOf) }
    deliveries = []
    state.pipelines.clear()
    timeline.runUntil(timeline.now + (options.pause ?? 5) * 1000)
  }
}

/** Generates all deliveries of one pipeline and its family. */
export function generatePipeline(
  seed: number,
  scenario: ScenarioName,
  options: Omit<GenerateOptions, 'seed' | 'scenarios' | 'pipelines'> = {},
): GeneratedFamily {
  const [family] = generate({ ...options, seed, scenarios: [scenario], pipelines: 1 })
  return family ?? { deliveries: [], pipelines: [] }
}
