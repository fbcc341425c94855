// The metrics of attempts: name, type, unit, attributes, and what an attempt adds.
import { durationsOf, type Chunk } from '../../../model/chunk.ts'
import type { EventChunk } from '../../../model/event.ts'
import { pipelineOutcome, feedbackTime } from './pipeline.ts'
import { errorTypeOf, results } from './statuses.ts'
import { pipelineTimes } from '../span-time.ts'
import {
  activeAttributes,
  conventionAttributes,
  conventionStageAttributes,
  durationAttributes,
  errorAttributes,
  feedbackAttributes,
  latestAttributes,
  latestStates,
  legacyAttributes,
  legacyStageAttributes,
  strictDurationAttributes,
  type Measured,
  type MetricSubject,
} from './metric-attributes.ts'
import {
  artifactAttributes,
  artifacts,
  compute,
  computeAttributes,
  costs,
  maxTaskNames,
  queueAttributes,
  queues,
  systemErrorAttributes,
  systemErrors,
  taskRunAttributes,
  taskRuns,
} from './job-metrics.ts'
import type { AttributeRow, RowVariant } from './row.ts'

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
  /** Of a gauge: the value of the greatest one is the latest. By default that of the attempt that ended last. */
  readonly order?: (chunk: Chunk) => number
  /** A gauge of states: the value is the place of the state in this list, or another number for none of them. */
  readonly states?: { readonly attribute: string; readonly values: readonly string[] }
  /** An attribute whose values are limited for each project, as users choose them. */
  readonly limited?: { readonly attribute: string; readonly max: number }
}

/** What a point of figures is about. */
export interface FiguresSubject<F> {
  readonly figures: F
  readonly chunk: Pick<EventChunk, 'key' | 'project'>
  /** A ref of a pipeline with this source, as metrics tell refs apart. */
  readonly foldRef: (ref: string, source: 'push' | 'merge_request_event') => string
}

/** A metric of what features count. */
export interface FiguresRow<F> extends MetricHead {
  readonly type: MetricRow['type']
  readonly attributes: readonly AttributeRow<FiguresSubject<F>>[]
  /** Of a histogram with other bounds than those of pipelines, seconds. */
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

/** Exported for the refs that `PIPESPAN_JOB_METRICS` names. */
export const taskRunMetric = 'platform.cicd.pipeline.task.run.duration'

export const gauge = { type: 'gauge', number: 'double', unit: 's' } as const
export const counter = { type: 'counter', number: 'int' } as const
export const histogram = { type: 'histogram', number: 'double', unit: 's' } as const
const hasDuration = 'has a duration'
const wasQueued = 'was queued; attempt 1 only'
const hasJobs = 'has jobs that ran; a point for each stage'

// prettier-ignore
export const attemptMetrics: readonly MetricRow[] = [
  { name: 'pipeline.duration_seconds', ...gauge, attributes: legacyAttributes, when: hasDuration, measured: duration,
    description: 'Duration of the latest pipeline.' },
  { name: 'cicd.pipeline.run.duration', only: 'contract', ...histogram, attributes: durationAttributes, when: hasDuration, measured: duration,
    description: 'Duration of pipeline runs.' },
  { name: 'cicd.pipeline.run.duration', only: 'strict', ...histogram, attributes: strictDurationAttributes, when: 'has a duration, or was queued', measured: states,
    description: 'Duration of pipeline runs.' },
  { name: 'pipeline.status_total', ...counter, unit: '1', attributes: legacyAttributes, when: 'always', measured: one,
    description: 'Pipelines that ended, by status.' },
  { name: 'cicd.pipeline.run.count', ...counter, unit: '{run}', attributes: conventionAttributes, when: 'always', measured: one,
    description: 'Pipeline runs that ended, by result.' },
  { name: 'pipeline.jobs_total', ...gauge, number: 'int', unit: '1', attributes: legacyAttributes, when: 'always; bridges count', measured: jobs,
    description: 'Jobs and bridges in the latest pipeline.' },
  { name: 'cicd.pipeline.task.total', ...gauge, number: 'int', unit: '{task}', attributes: conventionAttributes, when: 'always; bridges count', measured: jobs,
    description: 'Tasks in the latest pipeline run.' },
  { name: 'job.duration_seconds', ...histogram, attributes: legacyStageAttributes, when: hasJobs, measured: stages,
    description: 'Duration of jobs, by stage.' },
  { name: 'cicd.pipeline.task.duration', ...histogram, attributes: conventionStageAttributes, when: hasJobs, measured: stages,
    description: 'Duration of tasks, by type.' },
  { name: 'platform.cicd.pipeline.run.latest', ...gauge, number: 'int', unit: '1', order: newest, states: latestStates, attributes: latestAttributes, when: 'a pipeline ended or is blocked; no child pipelines', measured: latest,
    description: 'Result of the newest pipeline of each class of refs: 1 for its result, 0 for all others.' },
  { name: 'pipeline.queue_duration_seconds', ...gauge, attributes: legacyAttributes, when: wasQueued, measured: queued,
    description: 'Time that the latest pipeline waited before it ran.' },
  { name: 'platform.cicd.pipeline.run.queued_duration', ...gauge, attributes: conventionAttributes, when: wasQueued, measured: queued,
    description: 'Time that the latest pipeline run waited before it ran.' },
  { name: 'cicd.pipeline.run.errors', ...counter, unit: '{error}', attributes: errorAttributes, when: 'result `failure`, `error` or `timeout`', measured: errors,
    description: 'Pipeline runs that ended in an error, by its type.' },
  { name: 'platform.cicd.pipeline.feedback_time', ...histogram, attributes: feedbackAttributes, when: 'source `push` or `merge_request_event`, attempt 1', measured: feedback,
    description: 'Time from a commit to the end of its pipeline.' },
  { name: 'platform.cicd.compute.time', ...counter, of: 'jobs', number: 'double', unit: 's', attributes: computeAttributes, when: 'jobs that ran; no bridges', measured: compute,
    description: 'Runner time of jobs, by purpose: useful, failed, retried or superseded.' },
  { name: 'platform.cicd.compute.cost', ...counter, of: 'jobs', number: 'double', unit: costUnit, attributes: computeAttributes, when: 'jobs that a rule of the price table matches', measured: costs,
    description: 'Cost of the runner time of jobs, by the price table.' },
  { name: 'platform.cicd.pipeline.task.run.queued_duration', ...histogram, of: 'jobs', attributes: queueAttributes, when: 'jobs that ran; no bridges', measured: queues,
    description: 'Time that jobs waited for a runner, by type and tags of the runner.' },
  { name: taskRunMetric, ...histogram, of: 'jobs', limited: maxTaskNames, attributes: taskRunAttributes, when: 'jobs that ran, of the default branch unless `PIPESPAN_JOB_METRICS=all`; no bridges', measured: taskRuns,
    description: 'Duration of jobs, by name; parallel jobs share theirs.' },
  { name: 'cicd.system.errors', ...counter, of: 'jobs', unit: '{error}', attributes: systemErrorAttributes, when: 'jobs that failed because of the CI system', measured: systemErrors,
    description: 'Failures of jobs by the CI system itself, by its component.' },
  { name: 'platform.cicd.artifacts.size', ...counter, of: 'jobs', unit: 'By', attributes: artifactAttributes, when: 'known from the API before the export of the job', measured: artifacts,
    description: 'Size of job artifacts, by type; `trace` is the log.' },
]

export const activeRunsMetric: MetricHead & { readonly attributes: typeof activeAttributes } = {
  name: 'cicd.pipeline.run.active',
  type: 'updowncounter',
  number: 'int',
  unit: '{run}',
  attributes: activeAttributes,
  when: 'while runs are known to be active, and 0 for a day after the last one',
  description: 'Active pipeline runs, by state.',
}

/** Seconds. For a later attempt, the duration of its span, as the platform's duration adds up over attempts. */
function duration(chunk: Chunk): Measured[] {
  if (chunk.attempt === 1) return positive(chunk.pipeline.facts.duration)
  const times = pipelineTimes(chunk)
  return times === undefined ? [] : positive((times.end - times.start) / 1000)
}

/** Seconds. Only for the first attempt: the platform does not report how long a retry was queued. */
function queued({ attempt, pipeline }: Chunk): Measured[] {
  return attempt === 1 ? positive(pipeline.facts.queuedDuration) : []
}

/** The duration of each state that the platform reports. */
function states(chunk: Chunk): Measured[] {
  return [
    ...queued(chunk).map(({ values }): Measured => ({ state: 'pending', values })),
    ...duration(chunk).map(({ values }): Measured => ({ state: 'executing', values })),
  ]
}

function one(): Measured[] {
  return [{ values: [1] }]
}

/** Pipelines of a ref are ordered as on the platform: a retry of an older one does not make it the newest. */
function newest({ key }: Chunk): number {
  return key.pipelineId
}

/** A child's result is part of its parent's, if the parent asks for it. */
function latest(chunk: Chunk): Measured[] {
  if (chunk.pipeline.facts.source === 'parent_pipeline') return []
  const { result } = pipelineOutcome(chunk)
  return [{ values: [results.findIndex(one => one === result)] }]
}

function jobs({ pipeline }: Chunk): Measured[] {
  return [{ values: [pipeline.jobCount] }]
}

function stages(chunk: Chunk): Measured[] {
  return durationsOf(chunk).map(({ stage, seconds }) => ({ stage, values: seconds }))
}

function errors(chunk: Chunk): Measured[] {
  return errorTypeOf(pipelineOutcome(chunk)) === undefined ? [] : one()
}

function feedback(chunk: Chunk): Measured[] {
  const ms = feedbackTime(chunk)
  return ms === undefined ? [] : [{ values: [ms / 1_000] }]
}

function positive(seconds: number | undefined): Measured[] {
  return seconds !== undefined && Number.isFinite(seconds) && seconds > 0 ? [{ values: [seconds] }] : []
}
