// What one attempt measures: every point of every metric, before it is a delta point or part of a total.
import type { Attributes } from '@opentelemetry/api'
import { carriesPipeline, type Chunk } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'
import { attributesOf, keyUnder } from '../attributes.ts'
import { styleOf, type TelemetrySettings } from '../settings.ts'
import { pipelineTimes } from '../traces.ts'
import { attemptMetrics, type MetricRow } from '../mapping/metrics.ts'

export interface Sample {
  readonly row: MetricRow
  /** The metric's name as it leaves. */
  readonly metric: string
  readonly attributes: Attributes
  /** The same attributes as sorted JSON. */
  readonly series: string
  readonly values: readonly number[]
  /** Its ref was folded. */
  readonly folded: boolean
}

export interface Samples {
  /** When the attempt ended. */
  readonly at: Millis
  readonly samples: readonly Sample[]
}

/** Undefined for parts that carry no pipeline, and for an attempt of which no instant is known. */
export function samplesOf(part: Chunk, settings: TelemetrySettings): Samples | undefined {
  const times = carriesPipeline(part) ? pipelineTimes(part) : undefined
  if (times === undefined) return undefined
  const style = styleOf(part, settings)
  const ref = settings.foldRef(part)
  const isFolded = ref !== (part.pipeline.facts.ref ?? '')
  const samples = attemptMetrics.flatMap(row => {
    const folded = isFolded && row.attributes.some(({ keys }) => keys[0] === 'pipeline.ref')
    const points = row.measured(part).map(({ stage, values }) => {
      const attributes = attributesOf(row.attributes, { part, ref, stage }, style)
      return {
        row,
        metric: keyUnder(style.namespace, row.name),
        attributes,
        series: sorted(attributes),
        values,
        folded,
      }
    })
    return joined(points)
  })
  return { at: times.end, samples }
}

/** Points that the operator's dropping of attributes has made equal become one: only histograms have several. */
function joined(points: readonly Sample[]): Sample[] {
  return [...Map.groupBy(points, ({ series }) => series).values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ ...first, values: [first, ...others].flatMap(({ values }) => values) }],
  )
}

/** Sorted JSON of attributes: the identity of a series. */
export function sorted(attributes: Attributes): string {
  return JSON.stringify(Object.fromEntries(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))))
}
