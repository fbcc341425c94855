// What an attempt adds to its project's totals.
import type { Chunk } from '../../model/chunk.ts'
import type { Amount, ProjectIncrements } from '../../model/totals.ts'
import type { TelemetrySettings } from '../settings.ts'
import { bucketed } from './buckets.ts'
import { samplesOf, type Sample } from './samples.ts'

/** Undefined for parts that add nothing. */
export function measure(part: Chunk, settings: TelemetrySettings): ProjectIncrements | undefined {
  const told = samplesOf(part, settings)
  if (told === undefined) return undefined
  return {
    key: { instance: part.key.instance, projectId: part.project.id },
    project: part.project,
    profile: part.trace.profile,
    maxSeries: settings.maxSeries,
    increments: told.samples.map(sample => ({
      metric: sample.metric,
      attributes: sample.series,
      amount: amountOf(sample, told.at, settings.histogramBounds),
      ...(sample.folded ? { folded: true as const } : {}),
    })),
  }
}

function amountOf({ row, values }: Sample, at: number, bounds: readonly number[]): Amount {
  switch (row.type) {
    case 'counter':
      return { kind: 'sum', by: total(values) }
    case 'gauge':
      return { kind: 'last', value: values[0] ?? 0, at }
    case 'histogram':
      return { kind: 'histogram', bounds, counts: bucketed(values, bounds), sum: total(values) }
  }
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
