// The newest point of each metric that a receiver got.
import type { OtlpReceiver } from '../support/otlp-receiver.ts'

/** The newest value of a metric, over all its series: counts of histograms, values of others. */
export function newest(receiver: OtlpReceiver, name: string): number {
  const series = new Map<string, { nanos: bigint; value: number }>()
  for (const metric of receiver.metrics) {
    if (metric.name !== name) continue
    for (const point of metric.points) {
      const key = JSON.stringify([metric.resource.attributes['service.instance.id'], point.attributes])
      const value = Number('value' in point ? point.value : point.count)
      const known = series.get(key)
      if (known === undefined || point.nanos >= known.nanos) series.set(key, { nanos: point.nanos, value })
    }
  }
  return [...series.values()].reduce((sum, { value }) => sum + value, 0)
}
