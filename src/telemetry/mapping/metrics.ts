// Every metric of the contract: name, type, unit, attributes, and what an attempt adds to it.
import { durationsOf, type Chunk } from '../../model/chunk.ts'
import { pipelineOutcome } from './pipeline.ts'
import { errorTypeOf } from './statuses.ts'
import { pipelineTimes } from '../span-time.ts'
import {
  activeAttributes,
  conventionAttributes,
  conventionStageAttributes,
  errorAttributes,
  legacyAttributes,
  legacyStageAttributes,
  type MetricSubject,
} from './metric-attributes.ts'
import type { AttributeRow } from './row.ts'

/** What a backend gets of a metric beside its points. */
export interface MetricHead {
  /** Vendor names are written under `platform.`; a profile's namespace takes its place. */
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'histogram' | 'updowncounter'
  readonly unit: string
  readonly number: 'int' | 'double'
  readonly description: string
  /** For the reference. */
  readonly when: string
}

/** The value or values of one point. */
export interface Measured {
  readonly stage?: string | undefined
  /** One for a gauge or a counter; each observation for a histogram. */
  readonly values: readonly number[]
}

export interface MetricRow extends MetricHead {
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly attributes: readonly AttributeRow<MetricSubject>[]
  readonly measured: (chunk: Chunk) => readonly Measured[]
}

const gauge = { type: 'gauge', number: 'double', unit: 's' } as const
const counter = { type: 'counter', number: 'int' } as const
const histogram = { type: 'histogram', number: 'double', unit: 's' } as const
const hasDuration = 'has a duration'
const wasQueued = 'was queued; attempt 1 only'
const hasJobs = 'has jobs that ran; a point for each stage'

/** Prettier would give each row eight lines; a table reads better with two. */
// prettier-ignore
export const attemptMetrics: readonly MetricRow[] = [
  { name: 'pipeline.duration_seconds', ...gauge, attributes: legacyAttributes, when: hasDuration, measured: duration,
    description: 'Duration of the latest pipeline.' },
  { name: 'cicd.pipeline.run.duration', ...histogram, attributes: conventionAttributes, when: hasDuration, measured: duration,
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
  { name: 'pipeline.queue_duration_seconds', ...gauge, attributes: legacyAttributes, when: wasQueued, measured: queued,
    description: 'Time that the latest pipeline waited before it ran.' },
  { name: 'platform.cicd.pipeline.run.queued_duration', ...gauge, attributes: conventionAttributes, when: wasQueued, measured: queued,
    description: 'Time that the latest pipeline run waited before it ran.' },
  { name: 'cicd.pipeline.run.errors', ...counter, unit: '{error}', attributes: errorAttributes, when: 'result `failure`, `error` or `timeout`', measured: errors,
    description: 'Pipeline runs that ended in an error, by its type.' },
]

export const activeRunsMetric: MetricHead & { readonly attributes: typeof activeAttributes } = {
  name: 'cicd.pipeline.run.active',
  type: 'updowncounter',
  number: 'int',
  unit: '{run}',
  attributes: activeAttributes,
  when: 'while runs are known to be active, and 0 for a day after the last one',
  description: 'Pipeline runs under way, by state.',
}

/** Seconds. A later attempt's is its own span's: the platform's duration adds up over attempts. */
function duration(chunk: Chunk): Measured[] {
  if (chunk.attempt === 1) return positive(chunk.pipeline.facts.duration)
  const times = pipelineTimes(chunk)
  return times === undefined ? [] : positive((times.end - times.start) / 1000)
}

/** Seconds. The platform reports how long the pipeline's beginning was queued: a retry has no queue of its own. */
function queued({ attempt, pipeline }: Chunk): Measured[] {
  return attempt === 1 ? positive(pipeline.facts.queuedDuration) : []
}

function one(): Measured[] {
  return [{ values: [1] }]
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

function positive(seconds: number | undefined): Measured[] {
  return seconds !== undefined && Number.isFinite(seconds) && seconds > 0 ? [{ values: [seconds] }] : []
}
