// The heads of the inventory's gauges. Collectors declare them; the gauge of a configured query has only a name.
import type { MetricHead } from './metrics.ts'

export interface GaugeHead {
  readonly name: string
  /** Undefined: a gauge. */
  readonly type?: 'histogram' | 'updowncounter' | undefined
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
