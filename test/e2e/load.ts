// The load of the larger tests: webhooks of many pipeline families, each sent twice, in random order.
import { generate } from '../support/generate.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { allScenarios, type ScenarioName } from '../../src/simulator/platform/scenarios.ts'
export { isFull } from '../full.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'
import type { PipelineTruth } from '../support/truth.ts'

export interface Load {
  readonly deliveries: readonly Delivery[]
  readonly truths: readonly PipelineTruth[]
}

export interface LoadOptions {
  readonly seed: number
  /** The minimum number of pipelines. The load may contain more. */
  readonly pipelines: number
  readonly webhooks: number
  readonly scenarios?: readonly [ScenarioName, ...ScenarioName[]] | undefined
}

export function makeLoad({ seed, pipelines, webhooks, scenarios = allScenarios }: LoadOptions): Load {
  const deliveries: Delivery[] = []
  const truths: PipelineTruth[] = []
  for (const family of generate({ seed, scenarios, pipelines: Infinity })) {
    deliveries.push(...family.deliveries)
    truths.push(...family.pipelines)
    if (truths.length >= pipelines && deliveries.length >= webhooks) break
  }
  return { deliveries, truths }
}

/** Returns every delivery twice: once unchanged, and once as a resend with the same key or as the same event from a second hook, with another key. */
export function twice(deliveries: readonly Delivery[], seed: number): Delivery[] {
  const random = new Random(seed)
  const copies = deliveries.map(one => (random.chance(0.5) ? one : { ...one, key: random.uuid() }))
  return random.shuffle([...deliveries, ...copies])
}

/** Prints the figures that a test measured. Only the long form of a test calls it. */
export function report(figures: Readonly<Record<string, number | string | boolean | undefined>>): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`)
}
