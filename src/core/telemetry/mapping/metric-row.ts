// Defines the rows of the metric tables: a metric's name, unit and description, its attributes, and how it is measured. Points have few attributes
// with few values, and never a run id.
import { ATTR_CICD_PIPELINE_NAME } from './semconv.ts'
import { branchClassOf } from '../../../model/pipeline.ts'
import { notBlank, textRow, type AttributeRow, type RowVariant } from './row.ts'
import type { Chunk, JobSnapshot } from '../../../model/chunk.ts'
import type { EventChunk } from '../../../model/event.ts'
import type { RunState } from './statuses.ts'

/** The name, unit and description of a metric, without its points. */
export interface MetricHead {
  /** The name of the metric. Vendor names start with `platform.`, which stands for the profile's namespace. */
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'histogram' | 'updowncounter'
  readonly unit: string
  readonly number: 'int' | 'double'
  readonly description: string
  /** When the metric is exported, as text for the generated reference. */
  readonly when: string
}

/** An inventory gauge. Collectors declare the units and descriptions of their gauges. The gauge of a configured query has only a name. */
export interface GaugeHead extends Omit<MetricHead, 'type' | 'when'> {
  /** The type of the metric, if it is not a gauge. */
  readonly type?: 'histogram' | 'updowncounter' | undefined
}

export interface MetricRow extends MetricHead {
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly attributes: readonly AttributeRow<MetricSubject>[]
  readonly measured: (chunk: Chunk) => readonly Measured[]
  /**
   * `jobs`: the metric is computed from the jobs of all chunks, including supplements. Undefined: it is computed from the chunk that carries the
   * pipeline, or, for rows of features, from chunks with job internals (such as log sections).
   */
  readonly of?: 'jobs'
  /** The row is exported only with this setting. If undefined, it is always exported. */
  readonly only?: RowVariant
  /** The maximum number of series per project for this metric, if it is lower than the general limit. */
  readonly maxSeries?: number
  /** Orders a gauge's values: the value with the greatest order is the latest. By default, the attempt that ended last has the latest value. */
  readonly order?: (chunk: Chunk) => number
  /** The states of a state gauge. The gauge's value is the index of the state in this list, or another number if the state is not in it. */
  readonly states?: { readonly attribute: string; readonly values: readonly string[] }
  /** An attribute with a limited number of values per project, because users choose the values. */
  readonly limited?: { readonly attribute: string; readonly max: number }
}

export interface FiguresSubject<F> {
  readonly figures: F
  readonly chunk: Pick<EventChunk, 'key' | 'project'>
  /** Returns a ref as metrics report it, for a pipeline with this source: the real ref, or a common name for several refs. */
  readonly foldRef: (ref: string, source: 'push' | 'merge_request_event') => string
}

/** A metric that is computed from a feature's figures. */
export interface FiguresRow<F> extends MetricHead {
  readonly type: MetricRow['type']
  readonly attributes: readonly AttributeRow<FiguresSubject<F>>[]
  /** The histogram's bucket bounds in seconds, if they differ from the bounds for pipelines. */
  readonly bounds?: readonly number[]
  /** Returns the values of the metric's point. If there are none, there is no point. */
  readonly values: (figures: F) => readonly number[]
}

/** The metrics of one kind of event, computed from the `figures` of the events. */
export interface FiguresTable {
  readonly kind: string
  readonly rows: readonly FiguresRow<never>[]
}

/** Placeholder for a metric name from a metrics report. A row with this name stands for many metrics, whose points have labels of their own. */
export const ownName = '{name}'

/** Placeholder for the price table's currency unit. */
export const costUnit = 'cost'

export const gauge = { type: 'gauge', number: 'double', unit: 's' } as const
export const counter = { type: 'counter', number: 'int' } as const
export const histogram = { type: 'histogram', number: 'double', unit: 's' } as const

/** The properties that distinguish a metric's points within a chunk. */
interface PointSubject {
  readonly stage?: string | undefined
  readonly state?: RunState | undefined
  /** The measured job, or one of several jobs with the same attributes. */
  readonly job?: JobSnapshot | undefined
  /** The type of the measured artifacts. */
  readonly artifact?: string | undefined
  /** The name of a log section as metrics report it: its real name, or a common name for several sections. */
  readonly section?: string | undefined
  readonly testResult?: string | undefined
  readonly report?: ReportPoint | undefined
}

/** The subject that a point's attributes are read from. */
export interface MetricSubject extends PointSubject {
  readonly chunk: Chunk
  /** The pipeline's ref as metrics report it: the real ref, or a common name for several refs. */
  readonly ref: string
}

/** The properties that distinguish the metric points of a job's reports. */
export interface ReportPoint {
  /** The name and labels of a metric in a metrics report. */
  readonly name?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The report type of counted findings, or whether coverage was measured in `lines` or `branches`. */
  readonly kind?: string | undefined
  readonly severity?: string | undefined
}

export interface Measured extends PointSubject {
  /** A gauge has one value. A counter has increments, and a histogram has observations. */
  readonly values: readonly number[]
}

export type MetricAttribute = AttributeRow<MetricSubject>
type Row = MetricAttribute

export const pipelineName: Row = textRow(
  ATTR_CICD_PIPELINE_NAME,
  'known',
  ({ chunk }) => notBlank(chunk.pipeline.facts.name) ?? chunk.project.path,
  'else the path of the project',
)

export const refClass: Row = textRow(
  'platform.vcs.ref.class',
  'always',
  ({ chunk }) => branchClassOf(chunk.pipeline.facts, chunk.project),
  '`default` (branch), `merge_request`, `tag`, `other`',
)
