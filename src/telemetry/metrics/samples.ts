// What one attempt measures: every point of every metric, before it is a delta point or part of a total.
import { carriesPipeline, type Chunk } from '../../model/chunk.ts'
import type { Millis } from '../../model/instant.ts'
import { attributesOf, keyUnder, type AttributeStyle } from '../attributes.ts'
import { plainAttributes } from '../otlp/attribute.ts'
import type { AttributeRow } from '../mapping/row.ts'
import { styleOf, type TelemetrySettings } from '../settings.ts'
import { pipelineTimes } from '../span-time.ts'
import type { PointAttributes } from './data.ts'
import { attemptMetrics, type MetricRow } from '../mapping/metrics.ts'

export interface Sample {
  readonly row: MetricRow
  /** The metric's name as it is exported. */
  readonly metric: string
  readonly attributes: PointAttributes
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

/** Undefined for a chunk that carries no pipeline, and for an attempt of which no instant is known. */
export function samplesOf(chunk: Chunk, settings: TelemetrySettings): Samples | undefined {
  const times = carriesPipeline(chunk) ? pipelineTimes(chunk) : undefined
  if (times === undefined) return undefined
  const style = styleOf(chunk, settings)
  const ref = settings.foldRef(chunk)
  const isFolded = ref !== (chunk.pipeline.facts.ref ?? '')
  const samples = attemptMetrics.flatMap(row => {
    const folded = isFolded && row.attributes.some(({ keys }) => keys[0] === 'pipeline.ref')
    const points = row.measured(chunk).map(({ stage, values }) => {
      const attributes = pointAttributes(row.attributes, { chunk, ref, stage }, style)
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

export function pointAttributes<S>(
  rows: readonly AttributeRow<S>[],
  subject: S,
  style: AttributeStyle,
): PointAttributes {
  return plainAttributes(attributesOf(rows, subject, style)) as PointAttributes
}

/** Sorted JSON of attributes: the identity of a series. */
export function sorted(attributes: PointAttributes): string {
  return JSON.stringify(Object.fromEntries(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))))
}
