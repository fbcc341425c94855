// What a backend gets of a gauge of what the platform has. Its collector declares it; a query of the user's own has none but its name.
import type { MetricHead } from './metrics.ts'

export interface GaugeHead {
  readonly name: string
  /** A gauge where nothing is said. */
  readonly type?: 'histogram' | undefined
  readonly unit: string
  readonly number: 'int' | 'double'
  readonly description: string
}

export function headOfGauge(metric: string, gauges: ReadonlyMap<string, GaugeHead>): MetricHead {
  const head: Omit<GaugeHead, 'name'> = gauges.get(metric) ?? {
    unit: '1',
    number: 'double',
    description: 'Answer of a configured query.',
  }
  return { ...head, name: metric, type: head.type ?? 'gauge', when: '' }
}
