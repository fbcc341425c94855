// Creates the daemon's own instruments from their table. Recorded metrics are written when something happens; observed ones are read
// at collection, from counters that the rooms keep anyway.
import type { Attributes, Meter } from '@opentelemetry/api'
import { observedMetrics, recordedMetrics, type ObservedMetric, type RecordedMetric } from './table.ts'
import type { Observed, Point } from './observe-parts.ts'

type Recorded = keyof typeof recordedMetrics

export interface OwnMeters {
  /** Adds to a counter, or records in a histogram. */
  record(metric: Recorded, value: number, attributes?: Attributes): void
}

/** `observe` is called once for each collection. If it fails, the observed metrics are left out. `added`: those of features. */
export function createMeters(
  meter: Meter,
  observe: () => Promise<Observed>,
  added: readonly ObservedMetric[],
): OwnMeters {
  const all: readonly ObservedMetric[] = [...observedMetrics, ...added]
  const write = Object.fromEntries(
    Object.entries<RecordedMetric>(recordedMetrics).map(([key, { name, type, unit, description, bounds }]) => {
      if (type === 'counter') {
        const counter = meter.createCounter(name, { unit, description })
        return [key, (value: number, attributes?: Attributes) => counter.add(value, attributes)]
      }
      const advice = bounds === undefined ? {} : { advice: { explicitBucketBoundaries: [...bounds] } }
      const histogram = meter.createHistogram(name, { unit, description, ...advice })
      return [key, (value: number, attributes?: Attributes) => histogram.record(value, attributes)]
    }),
  ) as Record<Recorded, (value: number, attributes?: Attributes) => void>

  const instruments = all.map(({ name, type, unit, description }) =>
    type === 'counter'
      ? meter.createObservableCounter(name, { unit, description })
      : meter.createObservableGauge(name, { unit, description }),
  )
  meter.addBatchObservableCallback(async result => {
    const observed = await observe()
    all.forEach((metric, index) => {
      const instrument = instruments[index]
      if (instrument === undefined) return
      const points: readonly Point[] = metric.points(observed)
      for (const { value, attributes } of points) result.observe(instrument, value, attributes)
    })
  }, instruments)

  return { record: (metric, value, attributes) => write[metric](value, attributes) }
}
