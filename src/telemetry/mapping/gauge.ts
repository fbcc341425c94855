// What a backend gets of a gauge of what the platform has. Its collector declares it; a query of the user's own has none but its name.
import type { MetricHead } from './metrics.ts'

export interface GaugeHead {
  readonly name: string
  readonly unit: string
  readonly number: 'int' | 'double'
  readonly description: string
}

export function headOfGauge(metric: string, gauges: ReadonlyMap<string, GaugeHead>): MetricHead {
  const head = gauges.get(metric) ?? {
    unit: '1',
    number: 'double' as const,
    description: 'Answer of a configured query.',
  }
  return { ...head, name: metric, type: 'gauge', when: '' }
}
