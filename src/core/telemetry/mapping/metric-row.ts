// What a row of the tables of metrics is: a metric's head, its attributes, and how it is measured. Points have few attributes, with few values, and never
// a run's id.
import { ATTR_CICD_PIPELINE_NAME } from './semconv.ts'
import { branchClassOf } from '../../../model/pipeline.ts'
import { notBlank, textRow, type AttributeRow, type RowVariant } from './row.ts'
import type { Chunk, JobSnapshot } from '../../../model/chunk.ts'
import type { EventChunk } from '../../../model/event.ts'
import type { RunState } from './statuses.ts'

/** A metric without its points. */
export interface MetricHead {
  /** Vendor names begin with `platform.`, which stands for the profile's namespace. */
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'histogram' | 'updowncounter'
  readonly unit: string
  readonly number: 'int' | 'double'
  readonly description: string
  /** For the reference. */
  readonly when: string
}

/** A gauge of the inventory. Collectors declare them; the gauge of a configured query has only a name. */
export interface GaugeHead extends Omit<MetricHead, 'type' | 'when'> {
  /** Undefined: a gauge. */
  readonly type?: 'histogram' | 'updowncounter' | undefined
}

export interface MetricRow extends MetricHead {
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly attributes: readonly AttributeRow<MetricSubject>[]
  readonly measured: (chunk: Chunk) => readonly Measured[]
  /**
   * `jobs`: counted from the jobs of all chunks, including supplements. Undefined: from the chunk that carries the pipeline, or of a feature's rows from
   * chunks of the insides of jobs.
   */
  readonly of?: 'jobs'
  /** Undefined: with all settings. */
  readonly only?: RowVariant
  /** A lower limit of series for each metric of a project. */
  readonly maxSeries?: number
  /** Of a gauge: the value with the greatest order is the latest. By default that of the attempt that ended last. */
  readonly order?: (chunk: Chunk) => number
  /** A gauge of states: the value is the place of the state in this list, or another number for none of them. */
  readonly states?: { readonly attribute: string; readonly values: readonly string[] }
  /** An attribute whose values are limited for each project, as users choose them. */
  readonly limited?: { readonly attribute: string; readonly max: number }
}

/** The subject of a point of figures. */
export interface FiguresSubject<F> {
  readonly figures: F
  readonly chunk: Pick<EventChunk, 'key' | 'project'>
  /** Folds a ref of a pipeline with this source, as metrics distinguish refs. */
  readonly foldRef: (ref: string, source: 'push' | 'merge_request_event') => string
}

/** A metric of what features count. */
export interface FiguresRow<F> extends MetricHead {
  readonly type: MetricRow['type']
  readonly attributes: readonly AttributeRow<FiguresSubject<F>>[]
  /** The bounds of a histogram, if they differ from those of pipelines, seconds. */
  readonly bounds?: readonly number[]
  /** The values of its point; none: it has no point. */
  readonly values: (figures: F) => readonly number[]
}

/** The metrics of events of one kind, by their `figures`. */
export interface FiguresTable {
  readonly kind: string
  readonly rows: readonly FiguresRow<never>[]
}

/** Placeholder for the name in a metrics report: such a row stands for many metrics, whose points have their own labels. */
export const ownName = '{name}'

/** Placeholder for the unit of the price table. */
export const costUnit = 'cost'

export const gauge = { type: 'gauge', number: 'double', unit: 's' } as const
export const counter = { type: 'counter', number: 'int' } as const
export const histogram = { type: 'histogram', number: 'double', unit: 's' } as const

/** What distinguishes the points of one metric of a chunk. */
interface PointSubject {
  readonly stage?: string | undefined
  /** The state of a run that is measured. */
  readonly state?: RunState | undefined
  /** One of several jobs with equal attributes. */
  readonly job?: JobSnapshot | undefined
  /** The type of artifacts. */
  readonly artifact?: string | undefined
  /** The name of a section, folded for metrics. */
  readonly section?: string | undefined
  /** The result of test cases. */
  readonly testResult?: string | undefined
  readonly report?: ReportPoint | undefined
}

/** The subject of a point's attributes. */
export interface MetricSubject extends PointSubject {
  readonly chunk: Chunk
  /** The ref, folded for metrics. */
  readonly ref: string
}

/** What distinguishes the points of a job's reports. */
export interface ReportPoint {
  /** Name and labels in a metrics report. */
  readonly name?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** What the total is of, or the type of the report. */
  readonly kind?: string | undefined
  readonly severity?: string | undefined
}

/** The values of one point. */
export interface Measured extends PointSubject {
  /** One for a gauge, increments for a counter, observations for a histogram. */
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
