// The metrics of attempts: their names, types, units and attributes, and the values that an attempt adds.
import { ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions'
import {
  ATTR_CICD_PIPELINE_NAME,
  ATTR_CICD_PIPELINE_RESULT,
  ATTR_CICD_PIPELINE_RUN_STATE,
  ATTR_CICD_PIPELINE_TASK_TYPE,
  ATTR_VCS_REF_HEAD_TYPE,
} from './semconv.ts'
import {
  counter,
  gauge,
  histogram,
  pipelineName,
  refClass,
  type Measured,
  type MetricAttribute as Row,
  type MetricHead,
  type MetricRow,
  type MetricSubject,
} from './metric-row.ts'
import { durationsOf, type Chunk } from '../../../model/chunk.ts'
import { errorTypeOf, results, stateOf } from './statuses.ts'
import { jobMetrics } from './job-metrics.ts'
import { notBlank, textRow, type AttributeRow } from './row.ts'
import { pipelineOutcome, feedbackTime, refTypeOf } from './pipeline.ts'
import { pipelineTimes } from '../span-time.ts'
import { taskStage, taskTypeOf } from './job.ts'
import type { ProjectFacts } from '../../../model/observation.ts'

const status: Row = textRow('pipeline.status', 'always', ({ chunk }) => chunk.pipeline.facts.status)
const result = textRow<MetricSubject>(
  ATTR_CICD_PIPELINE_RESULT,
  'the pipeline ended',
  ({ chunk }) => pipelineOutcome(chunk).result,
)
const trigger: Row = textRow('platform.cicd.pipeline.trigger.type', 'known', ({ chunk }) => chunk.pipeline.facts.source)
const refType: Row = textRow(ATTR_VCS_REF_HEAD_TYPE, 'known', ({ chunk }) => refTypeOf(chunk.pipeline.facts.tag))

const latestStates = { attribute: ATTR_CICD_PIPELINE_RESULT, values: results } as const

const latestAttributes: readonly Row[] = [
  refClass,
  // No value is returned here, because the metric has one point for each result.
  textRow(latestStates.attribute, 'always', () => undefined),
]

const legacyAttributes: readonly Row[] = [status, textRow('pipeline.ref', 'always', ({ ref }) => ref, 'folded')]

const failed = textRow<MetricSubject>(ATTR_ERROR_TYPE, 'result `failure`, `error` or `timeout`', ({ chunk }) =>
  errorTypeOf(pipelineOutcome(chunk)),
)

const conventionAttributes: readonly Row[] = [
  pipelineName,
  textRow(ATTR_CICD_PIPELINE_RUN_STATE, 'the status is known', ({ chunk }) => stateOf(chunk.pipeline.facts.status)),
  result,
  trigger,
  refType,
]

const durationAttributes: readonly Row[] = [...conventionAttributes, failed]

/** Omits the attribute unless the measured state is `executing`, because the result and the error are not known in earlier states. */
function whenExecuted(row: ReturnType<typeof textRow<MetricSubject>>): Row {
  return { ...row, value: subject => (subject.state === 'executing' ? row.value(subject) : undefined) }
}

const strictDurationAttributes: readonly Row[] = [
  pipelineName,
  textRow(ATTR_CICD_PIPELINE_RUN_STATE, 'always', ({ state }) => state, '`pending` or `executing`'),
  whenExecuted(result),
  trigger,
  refType,
  whenExecuted(failed),
]

const feedbackAttributes: readonly Row[] = [pipelineName, refType]

const legacyStageAttributes: readonly Row[] = [textRow('job.stage', 'always', ({ stage }) => stage), status]

const conventionStageAttributes: readonly Row[] = [
  { ...textRow<MetricSubject>(ATTR_CICD_PIPELINE_TASK_TYPE, 'always', ({ stage }) => stage), only: 'contract' },
  {
    ...textRow<MetricSubject>(ATTR_CICD_PIPELINE_TASK_TYPE, 'the name of the stage names a type', ({ stage }) =>
      taskTypeOf(stage),
    ),
    only: 'strict',
  },
  { ...textRow<MetricSubject>(taskStage, 'always', ({ stage }) => stage), only: 'strict' },
  result,
  trigger,
  refType,
]

const errorAttributes: readonly Row[] = [pipelineName, failed]

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
  ...jobMetrics,
]

interface ActiveSubject {
  readonly name?: string | undefined
  readonly project: ProjectFacts
  readonly status: string
}

const activeAttributes: readonly AttributeRow<ActiveSubject>[] = [
  textRow(ATTR_CICD_PIPELINE_NAME, 'known', ({ name: own, project }) => notBlank(own) ?? project.path),
  textRow(ATTR_CICD_PIPELINE_RUN_STATE, 'the status is known', ({ status: own }) => stateOf(own)),
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

/** Returns the duration in seconds. For a later attempt this is the duration of its span, because the platform's figure accumulates over attempts. */
function duration(chunk: Chunk): Measured[] {
  if (chunk.attempt === 1) return positive(chunk.pipeline.facts.duration)
  const times = pipelineTimes(chunk)
  return times === undefined ? [] : positive((times.end - times.start) / 1000)
}

/**
 * Returns how many seconds the pipeline was queued. It is known only for the first attempt: the platform does not report how long a retry was queued.
 */
function queued({ attempt, pipeline }: Chunk): Measured[] {
  return attempt === 1 ? positive(pipeline.facts.queuedDuration) : []
}

/** Returns the time spent in each run state that the platform reports. */
function states(chunk: Chunk): Measured[] {
  return [
    ...queued(chunk).map(({ values }): Measured => ({ state: 'pending', values })),
    ...duration(chunk).map(({ values }): Measured => ({ state: 'executing', values })),
  ]
}

function one(): Measured[] {
  return [{ values: [1] }]
}

/** Orders the pipelines of a ref by id, as the platform does, so that retrying an older pipeline does not make it the newest. */
function newest({ key }: Chunk): number {
  return key.pipelineId
}

/** Returns the latest result of a ref. Child pipelines are excluded: a parent's result includes its child's if it is configured to. */
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
