// Computes what a chunk adds to its project's totals.
import type { AnyChunk } from '../../../model/event.ts'
import { bucketed, type Amount, type ProjectIncrements } from '../../../model/totals.ts'
import type { TelemetrySettings } from '../settings.ts'
import { sumOf } from './data.ts'
import { boundsOf, exemplarOf, limitedOf, samplesOf, type Sample, type Samples } from './samples.ts'

/** Undefined if it adds nothing. */
export function measure(chunk: AnyChunk, settings: TelemetrySettings): ProjectIncrements | undefined {
  const measured = samplesOf(chunk, settings)
  if (chunk.project === undefined || measured === undefined || measured.samples.length === 0) return undefined
  return {
    key: { instance: chunk.key.instance, projectId: chunk.project.id },
    project: chunk.project,
    profile: chunk.trace.profile,
    maxSeries: settings.maxSeries,
    increments: measured.samples.map(sample => ({
      metric: sample.metric,
      attributes: sample.series,
      amount: amountOf(sample, measured, boundsOf(sample.row, settings)),
      ...(sample.row.maxSeries === undefined ? {} : { maxSeries: sample.row.maxSeries }),
      ...(sample.row.limited === undefined ? {} : { limited: limitedOf(sample) }),
      ...(sample.folded ? { folded: true as const } : {}),
    })),
  }
}

function amountOf(sample: Sample, samples: Samples, bounds: readonly number[]): Amount {
  const { row, values } = sample
  const exemplar = exemplarOf(sample, samples)
  switch (row.type) {
    case 'counter':
      return { kind: 'sum', by: sumOf(values), exemplar }
    case 'gauge':
      return { kind: 'last', value: values[0] ?? 0, at: sample.order ?? samples.at }
    case 'histogram':
      return { kind: 'histogram', bounds, counts: bucketed(values, bounds), sum: sumOf(values), exemplar }
  }
}
