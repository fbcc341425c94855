// Defines the rows of the metric tables: the head of a metric, its attributes, and how it is measured. Points have few attributes with few values,
// and never the id of a run.
import { ATTR_CICD_PIPELINE_NAME } from './semconv.ts'
import { branchClassOf } from '../../../model/pipeline.ts'
import { notBlank, textRow, type AttributeRow, type RowVariant } from './row.ts'
import type { Chunk, JobSnapshot } from '../../../model/chunk.ts'
import type { EventChunk } from '../../../model/event.ts'
import type { RunState } from './statuses.ts'

/** The head of a metric: its description without points. */
export interface MetricHead {
  /** The name of the metric. Vendor names begin with `platform.`, which stands for the profile's namespace. */
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'histogram' | 'updowncounter'
  readonly unit: string
  readonly number: 'int' | 'double'
  readonly description: string
  /** A text for the generated reference: when the metric is exported. */
  readonly when: string
}

/** A gauge of the inventory. Collectors declare the heads of their gauges. The gauge of a configured query has only a name. */
export interface GaugeHead extends Omit<MetricHead, 'type' | 'when'> {
  /** The type of the metric, if it is not a gauge. */
  readonly type?: 'histogram' | 'updowncounter' | undefined
}

export interface MetricRow extends MetricHead {
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly attributes: readonly AttributeRow<MetricSubject>[]
  readonly measured: (chunk: Chunk) => readonly Measured[]
  /**
   * `jobs`: the metric is counted from the jobs of all chunks, including supplements. Undefined: it is counted from the chunk that carries the
   * pipeline, or, for rows of features, from chunks with the insides of jobs.
   */
  readonly of?: 'jobs'
  /** The setting with which the row is exported. If undefined, the row is exported with all settings. */
  readonly only?: RowVariant
  /** A lower limit for the number of series of this metric in each project. */
  readonly maxSeries?: number
  /**
   * Orders the values of a gauge: the value with the greatest order is the latest one. By default the attempt that ended last has the latest value.
   */
  readonly order?: (chunk: Chunk) => number
  /**
   * The states of a gauge that exports states. The value of the gauge is the index of the state in this list, or another number if the state is not
   * in it.
   */
  readonly states?: { readonly attribute: string; readonly values: readonly string[] }
  /** An attribute whose number of values is limited for each project, because users choose the values. */
  readonly limited?: { readonly attribute: string; readonly max: number }
}

/** The subject of a metric point with figures of a feature. */
export interface FiguresSubject<F> {
  readonly figures: F
  readonly chunk: Pick<EventChunk, 'key' | 'project'>
  /** Folds the ref of a pipeline with this source, in the same way as other metrics fold refs. */
  readonly foldRef: (ref: string, source: 'push' | 'merge_request_event') => string
}

/** A metric of the figures that features count. */
export interface FiguresRow<F> extends MetricHead {
  readonly type: MetricRow['type']
  readonly attributes: readonly AttributeRow<FiguresSubject<F>>[]
  /** The bucket bounds of a histogram in seconds, if they differ from the bounds for pipelines. */
  readonly bounds?: readonly number[]
  /** Returns the values of the metric's point. Without values there is no point. */
  readonly values: (figures: F) => readonly number[]
}

/** The metrics of events of one kind, computed from the `figures` of the events. */
export interface FiguresTable {
  readonly kind: string
  readonly rows: readonly FiguresRow<never>[]
}

/** Placeholder for the metric name in a metrics report. A row with this name stands for many metrics, whose points have their own labels. */
export const ownName = '{name}'

/** Placeholder for the currency unit of the price table. */
export const costUnit = 'cost'

export const gauge = { type: 'gauge', number: 'double', unit: 's' } as const
export const counter = { type: 'counter', number: 'int' } as const
export const histogram = { type: 'histogram', number: 'double', unit: 's' } as const

/** The properties that distinguish the points of one metric in a chunk. */
interface PointSubject {
  readonly stage?: string | undefined
  /** The state of the measured run. */
  readonly state?: RunState | undefined
  /** The job that is measured, or one of several jobs with equal attributes. */
  readonly job?: JobSnapshot | undefined
  /** The type of the measured artifacts. */
  readonly artifact?: string | undefined
  /** The name of a log section, folded for metrics. */
  readonly section?: string | undefined
  /** The result of the counted test cases. */
  readonly testResult?: string | undefined
  readonly report?: ReportPoint | undefined
}

/** The subject from which the attributes of a point are read. */
export interface MetricSubject extends PointSubject {
  readonly chunk: Chunk
  /** The ref of the pipeline, folded for metrics. */
  readonly ref: string
}

/** The properties that distinguish the metric points of a job's reports. */
export interface ReportPoint {
  /** The name and labels of a metric in a metrics report. */
  readonly name?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The type of the report, or the subject of the total. */
  readonly kind?: string | undefined
  readonly severity?: string | undefined
}

/** The values of one metric point. */
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
